"""checks: warnings about what would still lose requests."""

from __future__ import annotations

import pytest

from tests.unit.core.decisions import warning
from tests.unit.core.engines import CATALOG, IMAGE, OWN, catalog, container, pod, profile
from webhook import names
from webhook.core.checks import View, check, has_mesh
from webhook.core.container import read
from webhook.core.decision import Reason
from webhook.core.endpoint import locate
from webhook.core.existing import Existing
from webhook.core.profile import Budget

BUDGET = Budget(settle=10, drain=95, reserve=15)
AT = "spec.containers[0]"
SECRET = {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}


def warnings(document, own=OWN, *, kept=None, path=""):
    """Check the first container of a pod."""
    found = read(document, own)[0]
    view = View(document, path, found, locate(found, own, None), kept, own, BUDGET, catalog(own))
    return check(view)


def test_a_plain_pod_has_nothing_to_warn_about():
    """The official image as it comes is in order."""
    assert warnings(pod()) == []


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"command": ["sh", "-c", "own serve m"]}, "command"),
        ({"image": IMAGE, "args": ["sh", "-c", "own serve"]}, "args"),
        ({"command": ["sh", "-c", "exec own serve | tee"]}, "command"),
    ],
)
def test_a_shell_that_stays_pid_1(fields, where):
    """It may keep SIGTERM from the engine; only the program is named, its arguments may hold a key."""
    message = "the shell stays PID 1 and may not pass SIGTERM on: write `exec own …`"
    assert warnings(pod(container(**fields))) == [warning(Reason.PID1_SHELL, f"{AT}.{where}", message)]


@pytest.mark.parametrize(
    "command",
    [
        ["own", "serve"],
        ["sh", "-c", "exec own serve"],
        ["bash", "-c", "exec sh -c 'exec own serve'"],
        ["sh", "-c", "# nothing"],
    ],
)
def test_a_program_that_replaces_the_shell_is_pid_1(command):
    """`exec` all the way down is in order."""
    assert warnings(pod(container(command=command))) == []


@pytest.mark.parametrize(
    ("metrics", "args", "fix"),
    [
        ({"disabled_by": {"flags": ["--quiet"], "env": ["Q"]}}, ["--quiet"], ": remove --quiet or Q"),
        ({"enabled": False, "enabled_by": {"flags": ["--on"], "env": ["ON"]}}, [], ": set --on or ON"),
        ({"enabled": False, "enabled_by": {"env": ["ON"]}, "disabled_by": {"env": ["Q"]}}, [], ": set ON, remove Q"),
        ({"enabled": False}, [], ""),
    ],
)
def test_gauges_that_are_off(metrics, args, fix):
    """What turns them on is said, as far as the profile knows it."""
    own = profile(metrics={"path": "/metrics", **metrics})
    message = f"the gauges of Own are off, so only connections tell whether it is idle{fix}"
    assert warnings(pod(container(args=args)), own) == [warning(Reason.METRICS_OFF, AT, message)]


@pytest.mark.parametrize(("cap", "count"), [("15", 0), ("16", 1), ("x", 0), ("-1", 0), ("²", 0), ("9" * 5000, 0)])
def test_a_cap_longer_than_the_reserve(cap, count):
    """The engine would be killed within its own limit; what is no number is no cap."""
    message = (
        "the engine's own limit of 16 s after SIGTERM is longer than the reserve of 15 s: "
        "set reserve-seconds to it, or leave the flag out"
    )
    expected = [warning(Reason.NATIVE_CAP, AT, message, 16)]
    assert warnings(pod(container(args=["--cap", cap]))) == expected[:count]


@pytest.mark.parametrize(
    ("kept", "count"),
    [(None, 0), (Existing("sleep", seconds=5), 1), (Existing("tcp"), 1), (Existing("exec", argv=("stop",)), 0)],
)
def test_a_kept_hook_that_does_not_drain(kept, count):
    """Chaining would run both."""
    message = "this hook does not wait for the engine's requests: existing-hook: chain runs both"
    expected = [warning(Reason.WEAK_HOOK, f"{AT}.lifecycle.preStop", message)]
    assert warnings(pod(), kept=kept) == expected[:count]


PORT_UNKNOWN = warning(
    Reason.PORT_UNKNOWN,
    AT,
    f"the port cannot be read at admission: say it with the annotation {names.PORT}",
)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"args": ["--port", "$(P)"]}, [PORT_UNKNOWN]),
        (
            {"args": ["--port", "1"], "ports": [{"containerPort": 2}, {"containerPort": 3}]},
            [warning(Reason.PORT_MISMATCH, f"{AT}.ports", "the server listens on 1, the container declares 2, 3", 1)],
        ),
        ({"args": ["--port", "1"], "ports": [{"containerPort": 1}]}, []),
        ({"args": ["--uds", "/run/s"], "ports": [{"containerPort": 2}]}, []),
    ],
)
def test_a_port_that_is_unknown_or_not_declared(fields, found):
    """A socket has none."""
    assert warnings(pod(container(**fields))) == found


@pytest.mark.parametrize("key", ["hostPID", "shareProcessNamespace"])
@pytest.mark.parametrize(("value", "count"), [(True, 1), (False, 0), ("true", 0), (None, 0)])
def test_a_shared_process_namespace(key, value, count):
    """PID 1 is somebody else then."""
    message = "PID 1 is not this container's: the hook does not write to its log"
    expected = [warning(Reason.HOST_PID, f"spec.template.spec.{key}", message, value=True)]
    assert warnings(pod(**{key: value}), path="spec.template.") == expected[:count]


@pytest.mark.parametrize(
    ("sidecar", "reason"),
    [
        ({"image": "x/mesh:1"}, Reason.MESH_SIDECAR),
        ({"image": "x/mesh:1", "lifecycle": {"preStop": {"exec": {}}}}, Reason.MESH_SIDECAR),
        ({"image": "x/proxy:1"}, Reason.FRONT_PROXY),
        ({"image": "x/proxy:1", "lifecycle": {"postStart": {"exec": {}}}}, Reason.FRONT_PROXY),
    ],
)
def test_a_sidecar_that_would_leave_first(sidecar, reason):
    """It is told how long to stay."""
    (found,) = warnings(pod(container(), container("side", **sidecar)))
    assert (found.reason, found.path, "105 s" in found.message) == (reason, "spec.containers[1]", True)


@pytest.mark.parametrize(
    "sidecar",
    [{"image": "x/proxy:1", "lifecycle": {"preStop": {"exec": {}}}}, {"image": "x/web-ui"}, {"image": None}],
)
def test_a_sidecar_that_stays_or_does_not_matter(sidecar):
    """A proxy with a hook of its own is in order."""
    assert warnings(pod(container(), container("side", **sidecar))) == []


@pytest.mark.parametrize(
    ("probe", "found"),
    [
        (None, []),
        ({"httpGet": {"path": "/live"}, "timeoutSeconds": 1}, []),
        ({"httpGet": {"path": "/ready"}, "timeoutSeconds": 2}, []),
        ({"terminationGracePeriodSeconds": 120}, []),
        ({"terminationGracePeriodSeconds": "5"}, []),
        (
            {"httpGet": {"path": "/ready"}},
            [("timeoutSeconds", "/ready takes at least 1 s to answer", 1)],
        ),
        (
            {"httpGet": {"path": "/ready"}, "terminationGracePeriodSeconds": 119, "timeoutSeconds": 5},
            [("terminationGracePeriodSeconds", "a liveness restart is cut after 119 s, the drain needs 120 s", 119)],
        ),
    ],
)
def test_a_liveness_probe_that_kills_the_drain(probe, found):
    """A grace period of its own below the budget, or a time-out below what a healthy answer takes."""
    expected = [warning(Reason.LIVENESS_KILLS_DRAIN, f"{AT}.livenessProbe.{key}", *rest) for key, *rest in found]
    assert warnings(pod(container(livenessProbe=probe))) == expected


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"args": ["--key", "s3cret"]}, "args"),
        ({"command": ["own", "serve", "--key=s3cret"]}, "command"),
        ({"command": ["sh", "-c", "export OWN_KEY=s3cret; exec own serve"]}, "command"),
        ({"command": ["env", "OWN_KEY=s3cret", "own"], "args": ["serve"]}, "args"),
        ({"env": [{"name": "A"}, {"name": "OWN_KEY", "value": "s3cret"}]}, "env[1].value"),
    ],
)
def test_a_key_in_plain_text(fields, path):
    """Its place is named, and the key is never repeated."""
    (found,) = warnings(pod(container(**fields)))
    assert (found.reason, found.path, found.value) == (Reason.SECRET_INLINE, f"{AT}.{path}", None)
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    "fields",
    [
        {"args": ["--key", "$(OWN_KEY)"], "env": [{"name": "OWN_KEY", **SECRET}]},
        {"command": ["sh", "-c", 'exec own serve --key "$OWN_KEY"'], "env": [{"name": "OWN_KEY", **SECRET}]},
        {"args": ["--key", ""]},
        {"command": ["sh", "-c", "OWN_KEY=$(cat key) exec own serve"], "env": [{"name": "OWN_KEY", **SECRET}]},
        {"command": ["sh", "-c", "export OWN_KEY=`cat key`; exec own serve"]},
        {"command": ["sh", "-c", "unset OWN_KEY; exec own serve"], "env": [{"name": "OWN_KEY", "value": ""}]},
        {"env": [{"name": "OWN_KEY", "value": ""}, {"name": "OWN_KEY", "value": "$(TOKEN)"}]},
        {"env": [{"name": "OTHER", "value": "s3cret"}]},
    ],
)
def test_a_key_from_a_secret_is_in_order(fields):
    """A reference is no key."""
    assert warnings(pod(container(**fields))) == []


@pytest.mark.parametrize(
    ("document", "found"),
    [
        (pod(container(), container("m", "x/mesh:1")), True),
        (pod(initContainers=[container("m", "x/mesh:1")]), True),
        (pod(labels={"sidecar.istio.io/inject": "true"}), True),
        ({"metadata": {"annotations": {"linkerd.io/inject": "Enabled"}}}, True),
        (pod(labels={"sidecar.istio.io/inject": "false"}), False),
        (pod(container(), container("p", "x/proxy:1")), False),
        (pod(container(image=None)), False),
        ({}, False),
    ],
)
def test_a_mesh_is_there_or_asked_for(document, found):
    """By image, native sidecars too, or by the marks that meshes inject by."""
    assert has_mesh(document, CATALOG) is found
