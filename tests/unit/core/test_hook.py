"""hook: the rung that can run, and the handler that it becomes."""

from __future__ import annotations

import pytest

from tests.unit.core.decisions import warning
from tests.unit.core.engines import IMAGE, OTHER_IMAGE, OWN, endpoint, profile, server
from webhook import names
from webhook.core.decision import Policy, Reason, Sidecar
from webhook.core.existing import Existing
from webhook.core.hook import (
    LONGEST,
    Rung,
    Site,
    Target,
    choose_rung,
    exec_hook,
    http_hook,
    parameters,
    sleep_hook,
)
from webhook.core.overrides import Overrides
from webhook.core.profile import Budget

AT = "spec.containers[0].lifecycle.preStop"
ASKED_AT = f"metadata.annotations[{names.HOOK}]"
BUDGET = Budget(settle=10, drain=95, reserve=15)
BARE = profile(tools=[])
DRAINS = profile(tools=[], drain_endpoint={"path": "/drain?settle={settle}&wait={wait}"})
ASKED = profile(drain_endpoint={"path": "/drain", "asked_only": True})
DECLARED = {"image": IMAGE, "ports": [{"containerPort": 8000}]}
OLD, NEW = (1, 29), (1, 30)
NO_SHELL = "the image holds no shell"
ASKED_FOR = (Sidecar("i"), "", False)
ALLOWED = (Sidecar("i", without_shell=True), "", False)
NO_SLEEP = "the sleep action needs Kubernetes 1.30, the cluster has 1.28 (unknown, assumed)"


def rung(own=OWN, kubernetes=None, fields=None, *, has_mesh=False, sidecar=(None, "", False), **overrides):
    """Choose the rung for one container; `sidecar` is its setting, why there can be none, whether one stands."""
    container, (setting, *known) = fields or DECLARED, sidecar
    site = Site(server(own, **container), endpoint(own, **container), has_mesh, AT, "metadata.annotations", *known)
    return choose_rung(own, Overrides(**overrides), site, Policy("1.0", kubernetes, sidecar=setting))


@pytest.mark.parametrize(
    ("own", "how", "name", "reasons"),
    [
        # exec where the image holds a shell
        (OWN, {}, "exec", [Reason.HOOK_EXEC]),
        (OWN, {"fields": {"image": OTHER_IMAGE}}, "exec", [Reason.IMAGE_UNKNOWN, Reason.HOOK_EXEC]),
        (OWN, {"tools": ("sh",)}, "exec", [Reason.IMAGE_TOOLS, Reason.HOOK_EXEC]),
        (BARE, {"tools": ("sh", "curl")}, "exec", [Reason.IMAGE_TOOLS, Reason.HOOK_EXEC]),
        (ASKED, {}, "exec", [Reason.HOOK_EXEC]),
        (OWN, {"kubernetes": NEW}, "exec", [Reason.HOOK_EXEC]),
        # else the engine's own drain endpoint
        (DRAINS, {}, "http", [Reason.HOOK_HTTP]),
        (DRAINS, {"kubernetes": NEW}, "http", [Reason.HOOK_HTTP]),
        # else the native sleep
        (BARE, {"kubernetes": NEW}, "sleep", [Reason.HOOK_SLEEP]),
        (BARE, {"kubernetes": (2, 0)}, "sleep", [Reason.HOOK_SLEEP]),
        (OWN, {"kubernetes": NEW, "tools": ("curl",)}, "sleep", [Reason.HOOK_SLEEP]),
        (OWN, {"kubernetes": NEW, "tools": ()}, "sleep", [Reason.HOOK_SLEEP]),
        # before it the sidecar, where the settings allow it
        (BARE, {"kubernetes": NEW, "sidecar": ALLOWED}, "sidecar", [Reason.HOOK_SIDECAR]),
        (BARE, {"kubernetes": NEW, "sidecar": (None, "", True)}, "sidecar", [Reason.HOOK_SIDECAR]),
        (BARE, {"kubernetes": NEW, "sidecar": ASKED_FOR}, "sleep", [Reason.HOOK_SLEEP]),
        (BARE, {"kubernetes": NEW, "sidecar": (Sidecar("i"), "", True)}, "sleep", [Reason.HOOK_SLEEP]),
        (DRAINS, {"sidecar": ALLOWED}, "http", [Reason.HOOK_HTTP]),
        (OWN, {"sidecar": ALLOWED}, "exec", [Reason.HOOK_EXEC]),
        # what is asked for, where it can run
        (OWN, {"hook": "sidecar", "sidecar": ASKED_FOR}, "sidecar", [Reason.HOOK_SIDECAR]),
        (BARE, {"hook": "sleep", "kubernetes": NEW, "sidecar": ALLOWED}, "sleep", [Reason.HOOK_SLEEP]),
        (OWN, {"hook": "none"}, "none", [Reason.HOOK_NONE]),
        (OWN, {"hook": "exec"}, "exec", [Reason.HOOK_EXEC]),
        (OWN, {"hook": "sleep", "kubernetes": NEW}, "sleep", [Reason.HOOK_SLEEP]),
        (profile(drain_endpoint={"path": "/d"}), {"hook": "http"}, "http", [Reason.HOOK_HTTP]),
    ],
)
def test_the_first_rung_that_can_run_is_chosen(own, how, name, reasons):
    """Exec, the drain endpoint, native sleep, in this order, unless another one is asked for."""
    assert rung(own, **how) == Rung(name, reasons, [])


@pytest.mark.parametrize(
    ("own", "how", "name", "finding"),
    [
        (
            BARE,
            {},
            "none",
            warning(Reason.NO_RUNG, AT, f"no hook can run here: {NO_SHELL}; {NO_SLEEP}"),
        ),
        (
            BARE,
            {"kubernetes": OLD},
            "none",
            warning(
                Reason.NO_RUNG,
                AT,
                f"no hook can run here: {NO_SHELL}; the sleep action needs Kubernetes 1.30, the cluster has 1.29",
            ),
        ),
        (
            OWN,
            {"hook": "sidecar", "sidecar": (None, "why not", False)},
            "exec",
            warning(Reason.SIDECAR_UNAVAILABLE, ASKED_AT, "why not; auto is used instead", "sidecar"),
        ),
        (
            BARE,
            {"kubernetes": NEW, "sidecar": (ALLOWED[0], "why not", False)},
            "sleep",
            warning(Reason.SIDECAR_UNAVAILABLE, AT, "no sidecar hook: why not"),
        ),
        (
            OWN,
            {"hook": "sleep"},
            "exec",
            warning(Reason.HOOK_UNAVAILABLE, ASKED_AT, f"{NO_SLEEP}; auto is used instead", "sleep"),
        ),
        (
            BARE,
            {"hook": "exec", "kubernetes": NEW},
            "sleep",
            warning(Reason.HOOK_UNAVAILABLE, ASKED_AT, f"{NO_SHELL}; auto is used instead", "exec"),
        ),
        (
            OWN,
            {"hook": "http"},
            "exec",
            warning(
                Reason.HOOK_UNAVAILABLE,
                ASKED_AT,
                "the profile own has no drain endpoint; auto is used instead",
                "http",
            ),
        ),
        (
            ASKED,
            {"hook": "http", "fields": {"image": IMAGE, "args": ["--host", "127.0.0.1", "--port", "1"]}},
            "exec",
            warning(
                Reason.HOOK_UNAVAILABLE,
                ASKED_AT,
                "the kubelet cannot reach the port, or the port is not known; auto is used instead",
                "http",
            ),
        ),
        (
            ASKED,
            {"hook": "http", "fields": {"image": IMAGE, "args": ["--port", "$P"]}},
            "exec",
            warning(
                Reason.HOOK_UNAVAILABLE,
                ASKED_AT,
                "the kubelet cannot reach the port, or the port is not known; auto is used instead",
                "http",
            ),
        ),
        (
            ASKED,
            {"hook": "http", "has_mesh": True},
            "exec",
            warning(Reason.HOOK_UNAVAILABLE, ASKED_AT, "a mesh captures the port; auto is used instead", "http"),
        ),
        (
            ASKED,
            {"hook": "http"},
            "http",
            warning(
                Reason.DRAIN_FROM_NODE,
                AT,
                "the kubelet calls from the node's address: allow it with the option drain_from of Drainable",
            ),
        ),
        (
            DRAINS,
            {"has_mesh": True, "kubernetes": NEW},
            "sleep",
            warning(Reason.MESH_CAPTURES_PORT, AT, "no httpGet hook: a mesh captures the port"),
        ),
    ],
)
def test_what_cannot_run_is_said(own, how, name, finding):
    """A rung that is refused leaves a finding with the reason, and the ladder goes on."""
    found = rung(own, **how)
    assert (found.name, found.findings) == (name, [finding])


@pytest.mark.parametrize("own", [ASKED, profile(tools=[], drain_endpoint={"path": "/drain", "asked_only": True})])
def test_an_endpoint_that_must_be_asked_for_is_no_rung_of_auto(own):
    """The kubelet's call comes from the node's address, which the server may not allow."""
    assert rung(own, NEW).name != "http"


@pytest.mark.parametrize(
    ("own", "target", "words"),
    [
        (
            OWN,
            Target((8000,), ("http://127.0.0.1:8000/metrics",)),
            [
                "settle=10",
                "drain=95",
                "ports=8000",
                "url=http://127.0.0.1:8000/metrics",
                "gauge=own_running",
                "gauge=own_waiting",
                "absent=unknown",
                "idle=5",
            ],
        ),
        (
            OWN,
            Target((8000, 9000), ("u1", "u2"), is_guess=True, log="none", record="/tmp/x y"),  # noqa: S108
            [
                "settle=10",
                "drain=95",
                "ports=8000,9000",
                "guess=1",
                "url=u1",
                "url=u2",
                "gauge=own_running",
                "gauge=own_waiting",
                "absent=unknown",
                "idle=5",
                "log=none",
                "record=/tmp/x y",
            ],
        ),
        (OWN, Target((), ()), ["settle=10", "drain=95", "ports=", "idle=5"]),
        (profile(metrics=None), Target((1,), ("u",)), ["settle=10", "drain=95", "ports=1", "idle=5"]),
        (
            profile(metrics={"path": "/m", "absent": "idle", "key_env": "OWN_KEY", "idle_seconds": 15}),
            Target((1,), ("u",)),
            ["settle=10", "drain=95", "ports=1", "url=u", "absent=idle", "key=OWN_KEY", "idle=15"],
        ),
        (
            DRAINS,
            Target((1,), (), base="http://127.0.0.1:1/v1"),
            ["settle=10", "drain=95", "ports=1", "idle=5", "call=http://127.0.0.1:1/v1/drain?settle=10&wait=95"],
        ),
        (DRAINS, Target((), ()), ["settle=10", "drain=95", "ports=", "idle=5"]),
    ],
)
def test_the_scripts_parameters(own, target, words):
    """Every one is a word of its own, in a stable order; what is not known is left out."""
    assert parameters(own, BUDGET, target) == words


def test_a_guessed_port_is_always_said():
    """Without it, the script would take a port where nothing listens for a dead engine and leave at once."""
    assert "guess=1" in parameters(OWN, BUDGET, Target((), (), is_guess=True))


def test_a_grace_period_of_centuries_does_not_overflow_a_shell():
    """Seconds are cut at a year; the API server takes 63 bits, and a shell would count backwards."""
    words = parameters(OWN, Budget(2**40, 2**63, 15), Target((), ()))
    assert words[:2] == [f"settle={LONGEST}", f"drain={LONGEST}"]


@pytest.mark.parametrize(
    ("chained", "more"),
    [
        (None, []),
        (Existing("exec", argv=("stop", "$(X)", "--")), ["--", "stop", "$(X)", "--"]),
        (Existing("http", url="http://127.0.0.1:1/x"), ["chain=http://127.0.0.1:1/x"]),
        (Existing("sleep", argv=("sleep", "5"), seconds=5), ["chained=sleep:5"]),
        (Existing("tcp"), ["chained=tcp"]),
        (Existing("unknown"), []),
    ],
)
def test_the_exec_handler_names_itself(chained, more):
    """`drainhook` is `$0`, parameters follow, and the user's own hook comes last."""
    command = ["sh", "-c", "SCRIPT", "drainhook", "settle=1", *more]
    assert exec_hook("SCRIPT", ["settle=1"], chained) == {"exec": {"command": command}}


def test_the_http_handler_carries_our_header():
    """Its path holds the budget, its header the version."""
    located = endpoint(image=IMAGE, args=["--port", "9000", "--prefix", "/v1", "--tls-key", "k"])
    assert http_hook(DRAINS, BUDGET, located, "1.0") == {
        "httpGet": {
            "path": "/v1/drain?settle=10&wait=95",
            "port": 9000,
            "scheme": "HTTPS",
            "httpHeaders": [{"name": "X-Drainhook", "value": "1.0"}],
        }
    }


def test_the_sleep_handler_waits_settle_plus_drain():
    """The reserve is the engine's."""
    assert sleep_hook(BUDGET) == {"sleep": {"seconds": 105}}
