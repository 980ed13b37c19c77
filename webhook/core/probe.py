"""The readiness probe: what it would be, and why none is added. A probe must never keep a serving pod un-Ready."""

from __future__ import annotations

from webhook.core.container import Server
from webhook.core.decision import Reason
from webhook.core.endpoint import Endpoint
from webhook.core.overrides import Overrides
from webhook.core.profile import Json, Profile

PERIOD_SECONDS = 5
TIMEOUT_SECONDS = 5  # SGLang's /health takes at least 1 s; Kubernetes' default of 1 s makes it flap
FAILURE_THRESHOLD = 3
FILLED_IN = {"successThreshold": 1}  # what the API server adds to our probe before the next webhook sees it


def readiness_probe(profile: Profile, endpoint: Endpoint) -> Json:
    """Return the profile's readiness probe for this server."""
    return {
        "httpGet": endpoint.http_get(profile.readiness.path),
        "periodSeconds": PERIOD_SECONDS,
        "timeoutSeconds": TIMEOUT_SECONDS,
        "failureThreshold": FAILURE_THRESHOLD,
    }


def probe_reason(server: Server, endpoint: Endpoint, overrides: Overrides) -> Reason:
    """Say what becomes of the probe; first row that fits.

    | state                                                          | reason               |
    |----------------------------------------------------------------|----------------------|
    | the container has one                                          | probe_kept           |
    | `readiness: none`                                              | probe_off            |
    | the server binds localhost or a socket                         | probe_local          |
    | a command is given that is not the profile's                   | probe_foreign        |
    | port, scheme or path could hide where nobody can read it       | probe_port_unknown   |
    | the port is written down, or it is the declared default        | probe_added          |
    | nothing is declared, and the official image's default is known | probe_added          |
    | anything else                                                  | probe_port_unknown   |
    """
    if server.container.get("readinessProbe"):
        return Reason.PROBE_KEPT
    if overrides.readiness == "none":
        return Reason.PROBE_OFF
    if endpoint.is_local:
        return Reason.PROBE_LOCAL
    if server.is_foreign:
        return Reason.PROBE_FOREIGN
    if not endpoint.is_sure:
        return Reason.PROBE_PORT_UNKNOWN
    if endpoint.is_known:
        return Reason.PROBE_ADDED
    is_sure = endpoint.source == "default" and not endpoint.declared and len(endpoint.ports) == 1
    return Reason.PROBE_ADDED if is_sure and server.is_matched else Reason.PROBE_PORT_UNKNOWN
