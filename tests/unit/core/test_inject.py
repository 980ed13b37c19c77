"""inject: every field of one template, with its reason, and nothing left to do in a second pass."""

from __future__ import annotations

import json

import pytest

from tests.unit.core.engines import POLICY, SCRIPT, container, pod, profile, request
from tests.unit.core.passes import GRACE, HOOK, PAGE, PROBE, STOP, Pass
from webhook import names
from webhook.core.admission import decide
from webhook.core.decision import Allow, Finding, Level, Outcome, Patch, Reason
from webhook.core.probe import FILLED_IN

ARGS = "spec.containers[0].args"
POST_START = "spec.containers[0].lifecycle.postStart"
STARTS = {"httpGet": {"path": "/warm", "port": 8000, "scheme": "HTTP"}}


def test_a_plain_pod_gets_hook_grace_probe_and_status():
    """Four places change, each with its reason, and the status says it all."""
    found = Pass(pod())
    status = {
        "v": 1,
        "version": "1.0",
        "profile": "own@0123abcd",
        "container": "server",
        "hook": "exec",
        "budget": {"settle": 10, "drain": 95, "reserve": 15, "grace": 120},
        "changed": [HOOK, PROBE, GRACE],
        "kept": [],
        "reasons": ["hook_exec", "probe_added", "grace_raised"],
    }
    words = ["settle=10", "drain=95", "ports=8000", "guess=1", *PAGE, "idle=5"]
    probe = {
        "httpGet": {"path": "/ready", "port": 8000, "scheme": "HTTP"},
        "periodSeconds": 5,
        "timeoutSeconds": 5,
        "failureThreshold": 3,
    }
    hook = {"exec": {"command": ["sh", "-c", SCRIPT, "drainhook", *words]}}
    text = json.dumps(status, sort_keys=True, separators=(",", ":"))
    reasons = (Reason.HOOK_EXEC, Reason.PROBE_ADDED, Reason.GRACE_RAISED)
    assert found.decision == Patch(
        (
            {"op": "add", "path": "/spec/containers/0/lifecycle", "value": {"preStop": hook}},
            {"op": "add", "path": "/spec/containers/0/readinessProbe", "value": probe},
            {"op": "add", "path": "/spec/terminationGracePeriodSeconds", "value": 120},
            {"op": "add", "path": "/metadata/annotations", "value": {names.STATUS: text}},
        ),
        (Outcome("", reasons, status),),
        (),
    )
    assert found.again == Allow((Outcome("", reasons, status),), ())


def test_fields_that_we_do_not_know_stay():
    """Nothing of the user's is lost."""
    document = pod(container(**{"x-own": 1, "resources": {"limits": {"gpu": 1}}}), tolerations=[{"key": "gpu"}])
    assert Pass(document).object["spec"] == {
        **document["spec"],
        "containers": [
            {
                **document["spec"]["containers"][0],
                "lifecycle": Pass(document).at("lifecycle"),
                "readinessProbe": Pass(document).at("readinessProbe"),
            }
        ],
        "terminationGracePeriodSeconds": 120,
    }


@pytest.mark.parametrize(
    ("spec", "annotations", "grace", "budget", "reason"),
    [
        ({}, {}, 120, (10, 95, 15), Reason.GRACE_RAISED),
        ({"terminationGracePeriodSeconds": 0}, {}, 120, (10, 95, 15), Reason.GRACE_RAISED),
        ({"terminationGracePeriodSeconds": 119}, {}, 120, (10, 95, 15), Reason.GRACE_RAISED),
        ({"terminationGracePeriodSeconds": 120}, {}, 120, (10, 95, 15), Reason.GRACE_KEPT),
        ({"terminationGracePeriodSeconds": 600}, {}, 600, (10, 575, 15), Reason.GRACE_KEPT),
        ({}, {"drain-seconds": "200"}, 225, (10, 200, 15), Reason.GRACE_RAISED),
        ({}, {"drain-seconds": "1", "settle-seconds": "0", "reserve-seconds": "2"}, 30, (0, 28, 2), Reason.GRACE_KEPT),
        ({}, {"grace-period-seconds": "60"}, 60, (10, 35, 15), Reason.GRACE_RAISED),
        ({}, {"grace-period-seconds": "500"}, 500, (10, 475, 15), Reason.GRACE_RAISED),
        ({}, {"grace-period-seconds": "20"}, 120, (10, 95, 15), Reason.GRACE_RAISED),
        ({"terminationGracePeriodSeconds": 90}, {"grace-period-seconds": "60"}, 120, (10, 95, 15), Reason.GRACE_RAISED),
    ],
)
def test_grace_is_the_sum_and_never_shrinks(spec, annotations, grace, budget, reason):
    """What the spec has beyond the sum goes to the drain, and a total that is too short is ignored."""
    found = Pass(pod(annotations=annotations, **spec))
    settle, drain, reserve = budget
    assert found.status["budget"] == {"settle": settle, "drain": drain, "reserve": reserve, "grace": grace}
    assert found.parameters[:2] == [f"settle={settle}", f"drain={drain}"]
    assert found.object["spec"].get("terminationGracePeriodSeconds", 30) == grace
    assert found.outcome.reasons[-1] is reason
    assert isinstance(found.again, Allow)


def test_a_long_grace_period_is_warned_about():
    """Where it comes from does not matter."""
    found = Pass(pod(terminationGracePeriodSeconds=601))
    assert [(item.reason, item.path) for item in found.decision.findings] == [(Reason.LONG_GRACE, GRACE)]


@pytest.mark.parametrize(
    ("shutdown_class", "annotations", "grace", "reasons"),
    [
        ("A", {}, 30, (Reason.NO_RUNG, Reason.PROBE_ADDED, Reason.GRACE_NOT_RAISED)),
        ("D", {}, 30, (Reason.NO_RUNG, Reason.PROBE_ADDED, Reason.GRACE_NOT_RAISED)),
        ("B", {}, 120, (Reason.NO_RUNG, Reason.PROBE_ADDED, Reason.GRACE_RAISED)),
        ("C", {"hook": "none"}, 120, (Reason.HOOK_NONE, Reason.PROBE_ADDED, Reason.GRACE_RAISED)),
        ("A", {"hook": "none"}, 30, (Reason.HOOK_NONE, Reason.PROBE_ADDED, Reason.GRACE_NOT_RAISED)),
        ("A", {"grace-period-seconds": "300"}, 300, (Reason.NO_RUNG, Reason.PROBE_ADDED, Reason.GRACE_RAISED)),
    ],
)
def test_without_a_hook_grace_is_raised_only_for_an_engine_that_drains_itself(
    shutdown_class, annotations, grace, reasons
):
    """For the others it would only delay SIGKILL, unless the annotation sets it; the probe is still added."""
    found = Pass(pod(annotations=annotations), profile(shutdown_class=shutdown_class, tools=[]))
    assert found.outcome.reasons == reasons
    assert found.object["spec"].get("terminationGracePeriodSeconds", 30) == grace
    assert found.status["budget"]["grace"] == grace
    assert (found.at("lifecycle"), found.status["hook"]) == (None, "none")
    assert isinstance(found.again, Allow)


def test_without_a_hook_a_short_grace_period_is_all_reserve():
    """The status never promises more seconds than the pod has."""
    found = Pass(pod(annotations={"hook": "none"}, terminationGracePeriodSeconds=10))
    assert found.status["budget"] == {"settle": 0, "drain": 0, "reserve": 10, "grace": 10}


@pytest.mark.parametrize(
    ("own", "words", "settle_only"),
    [
        (profile(shutdown_class="B", metrics=None), ["settle=10", "drain=0"], True),
        (profile(shutdown_class="B", metrics={"path": "/m"}), ["settle=10", "drain=0"], True),
        (profile(shutdown_class="B"), ["settle=10", "drain=95"], False),
        (profile(shutdown_class="D", metrics=None), ["settle=10", "drain=95"], False),
    ],
)
def test_an_engine_that_drains_itself_unseen_gets_a_hook_of_settle_only(own, words, settle_only):
    """Class B without gauges spends its drain after SIGTERM; the grace period is the same."""
    found = Pass(pod(), own)
    assert (found.parameters[:2], Reason.SETTLE_ONLY in found.outcome.reasons) == (words, settle_only)
    assert found.object["spec"]["terminationGracePeriodSeconds"] == 120


def test_a_users_probe_is_kept():
    """It is not touched, whatever it looks like."""
    probe = {"exec": {"command": ["true"]}}
    found = Pass(pod(container(readinessProbe=probe)))
    assert (found.at("readinessProbe"), found.status["kept"]) == (probe, [PROBE])
    assert Reason.PROBE_KEPT in found.outcome.reasons


def test_a_users_probe_like_ours_is_the_users():
    """Only the status of an earlier pass makes it ours."""
    probe = Pass(pod()).at("readinessProbe")
    assert Pass(pod(container(readinessProbe=probe))).status["kept"] == [PROBE]


def test_our_probe_is_recognised_after_the_api_server_filled_it_in():
    """The success threshold that it adds is no change of anybody's."""
    first = Pass(pod())
    first.at("readinessProbe").update(FILLED_IN)
    assert decide(request(first.object), first.known, POLICY) == Allow((first.outcome,), ())


def test_our_probe_changed_by_somebody_is_theirs():
    """It is kept, and no longer listed as changed."""
    first = Pass(pod())
    first.at("readinessProbe")["periodSeconds"] = 60
    again = Pass(first.object)
    assert (again.at("readinessProbe", "periodSeconds"), again.status["kept"]) == (60, [PROBE])


@pytest.mark.parametrize(
    ("fields", "annotations"),
    [
        ({}, {"readiness": "none"}),
        ({"args": ["--host", "127.0.0.1"]}, {}),
        ({"args": ["--port", "$P"]}, {}),
        ({"command": ["/start.sh"]}, {}),
    ],
)
def test_no_probe_where_it_could_keep_a_serving_pod_unready(fields, annotations):
    """The hook is added all the same."""
    found = Pass(pod(container(**fields), annotations=annotations))
    assert (found.at("readinessProbe"), found.status["changed"], found.status["kept"]) == (None, [HOOK, GRACE], [])


@pytest.mark.parametrize(
    ("lifecycle", "changed", "kept"),
    [
        (None, [HOOK, PROBE, POST_START, GRACE], []),
        ({"postStart": STOP}, [HOOK, PROBE, GRACE], [POST_START]),
        ({"postStart": STARTS}, [HOOK, PROBE, GRACE], [POST_START]),
    ],
)
def test_a_profiles_post_start_is_added_where_there_is_none(lifecycle, changed, kept):
    """The user's own stays, even one like the profile's."""
    own = profile(post_start={"httpGet": {"path": "/warm", "port": 8000}})
    found = Pass(pod(container(lifecycle=lifecycle)), own)
    assert (found.status["changed"], found.status["kept"]) == (changed, kept)
    assert found.at("lifecycle", "postStart") == (lifecycle or {"postStart": STARTS})["postStart"]
    assert isinstance(found.again, Allow)


def test_the_engines_own_drain_is_appended_once():
    """The reserve grows by what it may take, so that the sum stays one deadline."""
    found = Pass(pod(container(args=["m"]), annotations={"native-drain": "enabled"}))
    assert found.at("args") == ["m", "--cap", "15"]
    assert found.status["budget"] == {"settle": 10, "drain": 95, "reserve": 30, "grace": 135}
    assert (found.status["changed"], found.decision.findings) == ([HOOK, PROBE, ARGS, GRACE], ())
    assert isinstance(found.again, Allow)


def test_the_engines_own_drain_is_refused_with_a_finding():
    """Nothing is appended, and the reserve stays."""
    found = Pass(pod(annotations={"native-drain": "enabled"}))
    assert [item.reason for item in found.decision.findings] == [Reason.NATIVE_DRAIN_REFUSED]
    assert (found.at("args"), found.status["budget"]["reserve"]) == (None, 15)


@pytest.mark.parametrize(
    ("fields", "spec", "annotations", "words"),
    [
        ({"args": ["--port", "9000"]}, {}, {}, ["ports=9000", "idle=5"]),
        ({"args": ["--port", "$P"]}, {}, {}, ["ports=8000", "guess=1", "idle=5"]),
        ({"ports": [{"containerPort": 9000}]}, {}, {}, ["ports=8000,9000", "guess=1", "idle=5"]),
        ({}, {}, {"port": "9000"}, ["ports=9000", "idle=5"]),
        ({"args": ["--uds", "/run/s"]}, {}, {}, ["ports=", "idle=5"]),
        ({"args": ["--port", "1"]}, {"hostPID": True}, {}, ["ports=1", "idle=5", "log=none"]),
        ({"args": ["--port", "1"]}, {"shareProcessNamespace": True}, {}, ["ports=1", "idle=5", "log=none"]),
        ({"args": ["--port", "1"]}, {"hostPID": False}, {}, ["ports=1", "idle=5"]),
        ({"args": ["--port", "1"], "terminationMessagePath": "/x"}, {}, {}, ["ports=1", "idle=5", "record=/x"]),
        ({"args": ["--port", "1"], "terminationMessagePath": "/dev/termination-log"}, {}, {}, ["ports=1", "idle=5"]),
        ({"args": ["--port", "1"], "terminationMessagePath": 5}, {}, {}, ["ports=1", "idle=5"]),
    ],
)
def test_the_script_is_told_where_to_look(fields, spec, annotations, words):
    """Ports and whether they are guessed, and where it may write."""
    found = Pass(pod(container(**fields), annotations=annotations, **spec), profile(metrics=None))
    assert found.parameters == ["settle=10", "drain=95", *words]


def test_the_script_calls_the_engines_own_drain():
    """With scheme, port and base path as found."""
    own = profile(drain_endpoint={"path": "/drain?w={wait}"})
    found = Pass(pod(container(args=["--port", "9000", "--prefix", "v1", "--tls-key", "k"])), own)
    assert "call=https://127.0.0.1:9000/v1/drain?w=95" in found.parameters


def test_a_port_annotation_that_names_nothing_is_a_finding():
    """The port is then found as if it did not stand there."""
    found = Pass(pod(annotations={"port": "http"}))
    message = "must be a port number or the name of a port of the server's container"
    at = f"metadata.annotations[{names.PORT}]"
    assert found.decision.findings == (Finding(Reason.BAD_OVERRIDE, Level.ERROR, at, message, "http"),)
    assert "ports=8000" in found.parameters


def test_two_servers_share_one_budget():
    """Both get the hook; the longest need of either counts, and what is said of the pod is said once."""
    first = container("a", lifecycle={"preStop": {"sleep": {"seconds": 200}}})
    found = Pass(pod(first, container("b"), container("m", "x/mesh:1")))
    assert found.status["container"] == "a,b"
    assert found.status["hook"] == "kept,exec"
    assert found.status["budget"] == {"settle": 10, "drain": 190, "reserve": 15, "grace": 215}
    assert found.outcome.reasons == (
        Reason.TWO_SERVERS,
        Reason.HOOK_EXEC,
        Reason.HOOK_KEPT,
        Reason.PROBE_ADDED,
        Reason.GRACE_RAISED,
    )
    assert sorted(item.reason for item in found.decision.findings) == [Reason.MESH_SIDECAR, Reason.WEAK_HOOK]
    assert isinstance(found.again, Allow)


def test_a_server_in_a_proxys_image_is_no_proxy():
    """Its command is the engine's, so nobody ends before it."""
    servers = [container(name, "x/proxy:1", command=["own", "serve", "--port", "1"]) for name in ("a", "b")]
    assert Pass(pod(*servers)).decision.findings == ()


def test_two_hundred_servers_make_no_finding_twice():
    """Each says the same of the pod."""
    sides = [container(f"m{at}", "x/mesh:1") for at in range(200)]
    found = Pass(pod(*[container(f"s{at}") for at in range(200)], *sides))
    assert (len(found.decision.findings), len(found.decision.operations)) == (200, 402)
