"""sidecar: which pods and servers take none, and why."""

from __future__ import annotations

import copy

import pytest

from tests.unit.core.engines import container, endpoint, pod, profile
from tests.unit.core.passes import Pass
from webhook import names
from webhook.core.decision import Allow, Policy, Reason, Sidecar
from webhook.core.sidecar import refusal

SETTING = Sidecar("drainhook:1")
POLICY = Policy("1.0", (1, 29), sidecar=SETTING)
OURS = {"name": "drainhook", "image": "old", "restartPolicy": "Always", "args": ["drain"]}
PORTS = [{"containerPort": 8000}]


def asked(*more, annotations=None, **spec):
    """Return a pod that asks for the sidecar, with a declared port."""
    wishes = {"hook": "sidecar"} if annotations is None else annotations
    return pod(container(ports=PORTS), *more, annotations=wishes, **spec)


def passed(document, policy=POLICY, **how):
    """Decide about a pod and check that a second pass changes nothing."""
    found = Pass(document, policy=policy, **how)
    assert isinstance(found.again, Allow)
    return found


def refused(found):
    """Return path and message of each refusal."""
    return [(item.path, item.message) for item in found.decision.findings if item.reason is Reason.SIDECAR_UNAVAILABLE]


WHY = [
    ({}, {"sidecar": None}, "no image is set for it: sidecarImage of the settings"),
    ({}, {"kubernetes": (1, 28)}, "a native sidecar needs Kubernetes 1.29, the cluster has 1.28"),
    ({}, {"kubernetes": None}, "a native sidecar needs Kubernetes 1.29, the cluster has 1.28 (unknown, assumed)"),
    ({"hostNetwork": True}, {}, "on the host's network its port would be the node's"),
    (
        {"initContainers": [{"name": "drainhook", "args": ["drain"]}]},
        {},
        "the pod has another container named drainhook",
    ),
    (
        {"initContainers": [{"name": "drainhook", "restartPolicy": "Always"}]},
        {},
        "the pod has another container named drainhook",
    ),
    ({"initContainers": [OURS, OURS | {"args": []}]}, {}, "the pod has another container named drainhook"),
    (
        {"volumes": [None, {"name": "drainhook-no-token", "emptyDir": {}}]},
        {},
        "the pod has another volume named drainhook-no-token",
    ),
    ({"initContainers": [{"name": "x", "ports": [{"containerPort": 9390}]}]}, {}, "port 9390 is taken in this pod"),
]


@pytest.mark.parametrize(("spec", "policy", "why"), WHY)
def test_why_a_pod_takes_none(spec, policy, why):
    """The finding names the reason, and the ladder goes on."""
    values = {"kubernetes": (1, 29), "sidecar": SETTING} | policy
    found = passed(asked(**copy.deepcopy(spec)), Policy("1.0", **values))
    assert refused(found) == [(f"metadata.annotations[{names.HOOK}]", f"{why}; auto is used instead")]
    assert found.status["hook"] == "exec"


TAKEN = "port 9390 is taken in this pod"


@pytest.mark.parametrize(
    ("located", "more", "why"),
    [
        (endpoint(args=["--uds", "/run/x"]), {}, "the server listens on a socket in its own file system"),
        (endpoint(ports=PORTS), {"servers": 2}, "it drains one server, the pod has 2"),
        (endpoint(ports=PORTS), {"has_mesh": True}, "a mesh captures the port"),
        (endpoint(args=["--port", "9390"]), {}, TAKEN),
        (endpoint(profile(grpc={"default": 9390}), ports=PORTS), {}, TAKEN),
        (endpoint(profile(metrics={"path": "/m", "port": {"default": 9390}}), ports=PORTS), {}, TAKEN),
        (endpoint(args=["--host", "127.0.0.1", "--port", "1"]), {}, ""),
        (endpoint(), {}, ""),
    ],
)
def test_why_a_server_takes_none(located, more, why):
    """A server that only its own pod reaches is no obstacle, nor is a port that is a guess."""
    assert refusal(pod(), located, POLICY, **({"servers": 1, "has_mesh": False} | more)) == why


def test_two_servers_get_another_hook():
    """And both the same one."""
    found = passed(asked(container("second", ports=[{"containerPort": 8001}])))
    assert [message for _, message in refused(found)] == ["it drains one server, the pod has 2; auto is used instead"]
    assert (found.status["hook"], "initContainers" in found.object["spec"]) == ("exec", False)


def test_where_no_shell_is_the_settings_may_allow_it():
    """Without being asked for; where it cannot run, that is said beside the rung that can."""
    policy = Policy("1.0", (1, 30), sidecar=Sidecar("drainhook:1", without_shell=True))
    bare = profile(tools=[])
    assert passed(asked(annotations={}), policy, own=bare).status["hook"] == "sidecar"
    found = passed(asked(annotations={}, hostNetwork=True), policy, own=bare)
    why = "no sidecar hook: on the host's network its port would be the node's"
    assert (found.status["hook"], refused(found)) == ("sleep", [("spec.containers[0].lifecycle.preStop", why)])
