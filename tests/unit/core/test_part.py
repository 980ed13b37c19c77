"""part: whose hook stands in the container afterwards, the user's or ours."""

from __future__ import annotations

import json

import pytest

from tests.unit.core.engines import OWN, POLICY, SCRIPT, container, pod, profile
from tests.unit.core.passes import GRACE, HOOK, PAGE, PROBE, STOP, Pass
from webhook.core.decision import Allow, Finding, Level, Policy, Reason

NEW = Policy("1.0", (1, 30))


def hooked(handler, annotations=None, **fields):
    """Return a pod whose container has a preStop hook."""
    return pod(container(lifecycle={"preStop": handler}, **fields), annotations=annotations)


OURS = {"exec": {"command": ["sh", "-c", "OLD", "drainhook", "settle=1"]}}
OURS_WITH_THEIRS = {"exec": {"command": ["sh", "-c", "OLD", "drainhook", "settle=1", "--", "stop", "--now"]}}


@pytest.mark.parametrize(
    ("own", "policy", "hook", "name"),
    [
        (
            profile(tools=[], drain_endpoint={"path": "/drain?s={settle}&w={wait}"}),
            POLICY,
            {
                "httpGet": {
                    "path": "/drain?s=10&w=95",
                    "port": 9000,
                    "scheme": "HTTP",
                    "httpHeaders": [{"name": "X-Drainhook", "value": "1.0"}],
                }
            },
            "http",
        ),
        (profile(tools=[]), NEW, {"sleep": {"seconds": 105}}, "sleep"),
    ],
)
def test_other_rungs_have_other_handlers(own, policy, hook, name):
    """Both are recognised as ours in a second pass."""
    found = Pass(pod(container(args=["--port", "9000"])), own, policy)
    assert (found.at("lifecycle", "preStop"), found.status["hook"]) == (hook, name)
    assert isinstance(found.again, Allow)


@pytest.mark.parametrize(
    ("document", "grace"),
    [
        (hooked(STOP), 120),
        (hooked({"httpGet": {"port": 8000, "path": "/stop"}}), 120),
        (hooked({"tcpSocket": {"port": 8000}}), 120),
        (hooked({"wasm": {}}), 120),
        (hooked({"sleep": {"seconds": 60}}), 120),
        (hooked({"sleep": {"seconds": 300}}), 315),
        (hooked({"exec": {"command": ["sleep", "5m"]}}), 315),
        (hooked({"exec": {"command": ["sleep", "5m"]}}, {"grace-period-seconds": "130"}), 315),
        (hooked(STOP, {"hook": "none"}), 120),
        (hooked(STOP, {"existing-hook": "keep"}), 120),
    ],
)
def test_a_users_hook_is_kept(document, grace):
    """It is not touched, grace covers its known sleep plus the reserve, and the probe is still added."""
    found = Pass(document)
    assert found.at("lifecycle") == document["spec"]["containers"][0]["lifecycle"]
    assert found.object["spec"]["terminationGracePeriodSeconds"] == grace
    assert found.status["kept"] == [HOOK]
    assert (found.status["hook"], found.status["changed"]) == ("kept", [PROBE, GRACE])
    assert found.outcome.reasons == (Reason.HOOK_KEPT, Reason.PROBE_ADDED, Reason.GRACE_RAISED)
    assert isinstance(found.again, Allow)


def test_a_kept_hook_that_does_not_drain_is_warned_about():
    """Only where it stays alone."""
    weak = hooked({"sleep": {"seconds": 5}})
    chained = hooked({"sleep": {"seconds": 5}}, {"existing-hook": "chain"})
    assert [item.reason for item in Pass(weak).decision.findings] == [Reason.WEAK_HOOK]
    assert Pass(chained).decision.findings == ()


@pytest.mark.parametrize(
    ("handler", "more", "settle"),
    [
        (STOP, ["--", "stop", "--now"], 10),
        ({"httpGet": {"port": 8000, "path": "/stop"}}, ["chain=http://127.0.0.1:8000/stop"], 10),
        ({"sleep": {"seconds": 60}}, ["chained=sleep:60"], 60),
        ({"exec": {"command": ["sleep", "5"]}}, ["chained=sleep:5"], 10),
        ({"tcpSocket": {"port": 8000}}, ["chained=tcp"], 10),
    ],
)
def test_a_users_hook_is_chained(handler, more, settle):
    """It runs first within the same deadline, a sleep raises settle, and a second pass reads it back."""
    found = Pass(hooked(handler, {"existing-hook": "chain"}, ports=[{"containerPort": 8000}]))
    words = [f"settle={settle}", "drain=95", "ports=8000", *PAGE, "idle=5"]
    assert found.parameters == [*words, *more]
    assert found.object["spec"]["terminationGracePeriodSeconds"] == settle + 110
    assert found.outcome.reasons[:2] == (Reason.HOOK_EXEC, Reason.HOOK_CHAINED)
    assert isinstance(found.again, Allow)


@pytest.mark.parametrize(
    ("handler", "own", "policy", "why"),
    [
        ({"wasm": {}}, OWN, POLICY, "its kind of handler is not known"),
        ({"httpGet": {"port": "x"}}, OWN, POLICY, "its port cannot be resolved in this container"),
        ({"httpGet": {"port": 1, "httpHeaders": [{}]}}, OWN, POLICY, "it sends headers of its own"),
        (STOP, profile(tools=[]), NEW, "only the exec rung can run both"),
        (STOP, profile(tools=[]), POLICY, "only the exec rung can run both"),
    ],
)
def test_what_cannot_be_chained_is_kept_and_said(handler, own, policy, why):
    """The user's hook is never lost."""
    found = Pass(hooked(handler, {"existing-hook": "chain"}), own, policy)
    finding = Finding(Reason.CHAIN_REFUSED, Level.WARNING, HOOK, f"cannot be chained: {why}; it is kept")
    assert (found.at("lifecycle", "preStop"), found.decision.findings) == (handler, (finding,))
    assert isinstance(found.again, Allow)


def test_a_users_hook_is_replaced_where_the_annotation_asks():
    """A second pass still says that it replaced one."""
    found = Pass(hooked(STOP, {"existing-hook": "replace"}))
    assert found.parameters == ["settle=10", "drain=95", "ports=8000", "guess=1", *PAGE, "idle=5"]
    assert found.outcome.reasons == (
        Reason.HOOK_EXEC,
        Reason.HOOK_REPLACED,
        Reason.PROBE_ADDED,
        Reason.GRACE_RAISED,
    )
    assert found.again == Allow((found.outcome,), ())


def test_a_users_hook_is_not_replaced_by_nothing():
    """Where no rung can run it stays, and the reason is said."""
    found = Pass(hooked(STOP, {"existing-hook": "replace"}), profile(tools=[]))
    assert found.at("lifecycle", "preStop") == STOP
    assert [item.reason for item in found.decision.findings] == [Reason.NO_RUNG]
    assert isinstance(found.again, Allow)


def test_an_older_hook_of_ours_is_replaced():
    """Whatever script and parameters it has; what was chained into it stays chained."""
    old = {"exec": {"command": ["sh", "-c", "OLD", "drainhook", "settle=1", "--", "stop"]}}
    found = Pass(hooked(old))
    assert found.at("lifecycle", "preStop", "exec", "command")[2] == SCRIPT
    assert found.parameters[-2:] == ["--", "stop"]
    assert found.status["changed"] == [HOOK, PROBE, GRACE]
    assert isinstance(found.again, Allow)


@pytest.mark.parametrize(
    ("handler", "annotations", "where", "result", "name"),
    [
        (OURS, {"hook": "none"}, (OWN, POLICY), None, "none"),
        (OURS, {}, (profile(tools=[]), POLICY), None, "none"),
        (OURS, {}, (profile(tools=[]), NEW), {"sleep": {"seconds": 105}}, "sleep"),
        (OURS_WITH_THEIRS, {"hook": "none"}, (OWN, POLICY), STOP, "kept"),
        (OURS_WITH_THEIRS, {}, (profile(tools=[]), NEW), STOP, "kept"),
        (OURS_WITH_THEIRS, {"existing-hook": "replace", "hook": "none"}, (OWN, POLICY), STOP, "kept"),
        (
            OURS_WITH_THEIRS,
            {"existing-hook": "replace"},
            (profile(tools=[]), NEW),
            {"sleep": {"seconds": 105}},
            "sleep",
        ),
    ],
)
def test_a_hook_of_ours_goes_where_it_is_not_wanted_any_more(handler, annotations, where, result, name):
    """The user's own hook, which it ran first, gets its place back."""
    found = Pass(hooked(handler, annotations), *where)
    assert (found.at("lifecycle", "preStop"), found.status["hook"]) == (result, name)
    assert isinstance(found.again, Allow)


def test_a_reason_of_an_earlier_pass_is_not_repeated_without_a_hook():
    """A status that names a replaced hook does not make one."""
    status = json.dumps({"changed": [HOOK], "reasons": ["hook_replaced"]})
    found = Pass(hooked(OURS, {"hook": "none", "status": status}))
    assert found.outcome.reasons == (Reason.HOOK_NONE, Reason.PROBE_ADDED, Reason.GRACE_NOT_RAISED)


def test_without_a_hook_the_engines_own_drain_still_gets_its_time():
    """The grace period covers the reserve that the flag may use."""
    asked = {"hook": "none", "native-drain": "enabled"}
    found = Pass(pod(container(args=["m"]), annotations=asked, terminationGracePeriodSeconds=10))
    assert found.status["budget"] == {"settle": 0, "drain": 0, "reserve": 30, "grace": 30}
    assert isinstance(found.again, Allow)
