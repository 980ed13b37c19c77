"""probe: added only where it cannot keep a serving pod un-Ready."""

from __future__ import annotations

import pytest

from tests.unit.core.engines import IMAGE, OTHER_IMAGE, OWN, endpoint, server
from webhook.core.decision import Reason
from webhook.core.overrides import Overrides
from webhook.core.probe import probe_reason, readiness_probe

PORT = {"args": ["--port", "9000"]}
DECLARED = {"ports": [{"containerPort": 8000}]}
ELSEWHERE = {"ports": [{"containerPort": 9000}]}


def test_the_probe_is_the_profiles():
    """Path with prefix, port and scheme as found, and times that a busy engine meets."""
    located = endpoint(image=IMAGE, args=["--port", "9000", "--prefix", "/v1", "--tls-key", "k"])
    assert readiness_probe(OWN, located) == {
        "httpGet": {"path": "/v1/ready", "port": 9000, "scheme": "HTTPS"},
        "periodSeconds": 5,
        "timeoutSeconds": 5,
        "failureThreshold": 3,
    }


@pytest.mark.parametrize(
    ("fields", "readiness", "reason"),
    [
        # the container has one
        ({"readinessProbe": {"exec": {}}}, "auto", Reason.PROBE_KEPT),
        ({"readinessProbe": {"exec": {}}}, "none", Reason.PROBE_KEPT),
        # the annotation says none
        ({}, "none", Reason.PROBE_OFF),
        ({"args": ["--host", "127.0.0.1"]}, "none", Reason.PROBE_OFF),
        # localhost or a socket
        ({"args": ["--host", "127.0.0.1", "--port", "9000"]}, "auto", Reason.PROBE_LOCAL),
        ({"args": ["--uds", "/run/s"]}, "auto", Reason.PROBE_LOCAL),
        ({"command": ["x"], "args": ["--host", "localhost"]}, "auto", Reason.PROBE_LOCAL),
        # a command is given that is not the profile's
        ({"command": ["/start.sh"], **DECLARED}, "auto", Reason.PROBE_FOREIGN),
        ({"command": ["/start.sh"], "args": ["--port", "9000"]}, "auto", Reason.PROBE_FOREIGN),
        # something could hide
        ({"args": ["--config", "f", "--port", "9000"]}, "auto", Reason.PROBE_PORT_UNKNOWN),
        ({"args": ["--prefix", "$X"], **DECLARED}, "auto", Reason.PROBE_PORT_UNKNOWN),
        ({"envFrom": [{"secretRef": {}}]}, "auto", Reason.PROBE_PORT_UNKNOWN),
        # written down, or the declared default
        (PORT, "auto", Reason.PROBE_ADDED),
        ({**PORT, **DECLARED}, "auto", Reason.PROBE_ADDED),
        ({**DECLARED, "image": OTHER_IMAGE}, "auto", Reason.PROBE_ADDED),
        ({"command": ["own", "serve"], "image": OTHER_IMAGE, **PORT}, "auto", Reason.PROBE_ADDED),
        # nothing is declared, and the default is known
        ({}, "auto", Reason.PROBE_ADDED),
        ({"command": ["own", "serve"], "image": OTHER_IMAGE}, "auto", Reason.PROBE_ADDED),
        ({"readinessProbe": {}}, "auto", Reason.PROBE_ADDED),
        # anything else
        ({"image": OTHER_IMAGE}, "auto", Reason.PROBE_PORT_UNKNOWN),
        (ELSEWHERE, "auto", Reason.PROBE_PORT_UNKNOWN),
        ({"args": ["--port", "$P"], **DECLARED}, "auto", Reason.PROBE_PORT_UNKNOWN),
        ({"args": ["--port", "99999"]}, "auto", Reason.PROBE_PORT_UNKNOWN),
    ],
)
def test_a_probe_is_added_only_where_it_is_sure(fields, readiness, reason):
    """The first row that fits decides; the table stands in the docstring of the function."""
    container = {"image": IMAGE, **fields}
    found = probe_reason(server(**container), endpoint(**container), Overrides(readiness=readiness))
    assert found is reason
