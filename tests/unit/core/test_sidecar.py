"""sidecar: the init container that it is, where it stands, and what becomes of one that stands already."""

from __future__ import annotations

import copy
import json

import pytest

from tests.unit.core.engines import OWN, container, deployment, pod, profile, request
from tests.unit.core.passes import GRACE, HOOK, PAGE, PROBE, STOP, Pass
from webhook import names
from webhook.core.admission import decide
from webhook.core.decision import Allow, Policy, Reason, Sidecar
from webhook.core.patch import look
from webhook.core.sidecar import standing

IMAGE = "registry.example/drainhook@sha256:0a"
SETTING = Sidecar(IMAGE, "IfNotPresent")
POLICY = Policy("1.0", (1, 29), sidecar=SETTING)
ASKED = {"hook": "sidecar"}
WORDS = ["settle=10", "drain=95", "ports=8000", *PAGE, "idle=5", "log=-"]
LISTEN = ["drain", "--listen=9390", "--"]
OURS = {"name": "drainhook", "image": "old", "restartPolicy": "Always", "args": ["drain"]}
VOLUME = {"name": "drainhook-no-token", "downwardAPI": {}}
MOUNT = {
    "name": "drainhook-no-token",
    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    "readOnly": True,
}
CALL = {
    "httpGet": {
        "path": "/drain",
        "port": 9390,
        "scheme": "HTTP",
        "httpHeaders": [{"name": "X-Drainhook", "value": "1.0"}],
    }
}
PORTS = [{"containerPort": 8000}]


def asked(*more, annotations=None, **spec):
    """Return a pod that asks for the sidecar, with a declared port."""
    return pod(container(ports=PORTS), *more, annotations=ASKED if annotations is None else annotations, **spec)


def passed(document, policy=POLICY, own=OWN):
    """Decide about a pod and check that a second pass changes nothing."""
    found = Pass(document, own, policy)
    assert (type(found.again), found.again.outcomes) == (Allow, found.decision.outcomes)
    assert found.again.findings == found.decision.findings
    return found


def inits(found):
    """Return the init containers after a pass."""
    return look(found.object, ("spec", "initContainers"))


def test_the_hook_calls_a_container_of_its_own():
    """Handler, init container, volume; everything that it adds stands in the status."""
    found = passed(asked())
    assert found.at("lifecycle", "preStop") == CALL
    assert inits(found) == [
        {
            "name": "drainhook",
            "image": IMAGE,
            "imagePullPolicy": "IfNotPresent",
            "args": [*LISTEN, *WORDS],
            "restartPolicy": "Always",
            "resources": {
                "requests": {"cpu": "200m", "memory": "64Mi"},
                "limits": {"cpu": "200m", "memory": "64Mi"},
            },
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": True,
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "volumeMounts": [MOUNT],
        }
    ]
    assert look(found.object, ("spec", "volumes")) == [VOLUME]
    assert found.status["changed"] == [HOOK, "spec.initContainers[0]", "spec.volumes[0]", PROBE, GRACE]
    assert (found.status["hook"], found.outcome.reasons[0]) == ("sidecar", Reason.HOOK_SIDECAR)
    assert found.decision.findings == ()


def test_a_workloads_template_gets_the_same():
    """In git by `drainhook patch` as at admission."""
    template = decide(request(deployment(asked())), Pass(asked(), policy=POLICY).known, POLICY)
    paths = [operation["path"] for operation in template.operations]
    assert "/spec/template/spec/initContainers" in paths
    assert template.outcomes[0].status == passed(asked()).status


def test_it_stands_behind_all_other_init_containers_and_volumes():
    """One that waits is not held up; the last one started is the first one ended."""
    waiting, proxy = {"name": "wait", "image": "w"}, {"name": "proxy", "image": "p", "restartPolicy": "Always"}
    found = passed(asked(initContainers=[proxy, waiting], volumes=[{"name": "models"}]))
    assert [item["name"] for item in inits(found)] == ["proxy", "wait", "drainhook"]
    assert inits(found)[:2] == [proxy, waiting]
    assert found.status["changed"][1:3] == ["spec.initContainers[2]", "spec.volumes[1]"]


@pytest.mark.parametrize("empty", [None, []])
def test_null_and_empty_lists_count_as_missing(empty):
    """The API server strips them; a manifest may hold them."""
    found = passed(asked(initContainers=copy.copy(empty), volumes=copy.copy(empty)))
    assert found.object["spec"] == passed(asked()).object["spec"]


def test_an_engine_that_drains_itself_without_gauges_gets_a_hook_of_settle_only():
    """As in the server's own container."""
    found = passed(asked(), own=profile(shutdown_class="B", metrics=None))
    assert inits(found)[0]["args"] == [*LISTEN, "settle=10", "drain=0", "ports=8000", "idle=5", "log=-"]
    assert Reason.SETTLE_ONLY in found.outcome.reasons


def test_a_guessed_port_is_said_as_in_the_servers_own_container():
    """The script then looks at every candidate."""
    found = passed(pod(annotations=ASKED))
    assert inits(found)[0]["args"][3:7] == ["settle=10", "drain=95", "ports=8000", "guess=1"]


def test_the_servers_own_drain_endpoint_is_never_called():
    """Whoever reaches the port could otherwise drain a serving pod."""
    drains = profile(drain_endpoint={"path": "/drain", "asked_only": True})
    assert inits(passed(asked(), own=drains))[0]["args"] == [*LISTEN, *WORDS]


def test_no_word_is_expanded_by_the_kubelet():
    """In args, `$(NAME)` would be read as a variable of the container."""
    key = profile(metrics={"path": "/$(HOME)", "running": ["own_running"]})
    found = passed(asked(), own=key)
    assert "url=http://127.0.0.1:8000/$$(HOME)" in inits(found)[0]["args"]


@pytest.mark.parametrize(("user", "expected"), [(0, 65532), (None, None), (1000, None)])
def test_root_of_the_pod_is_not_taken_over(user, expected):
    """Root and `runAsNonRoot` would keep it from starting; another number works, and the image has its own."""
    found = passed(asked(securityContext={"runAsUser": user}))
    assert look(inits(found)[0], ("securityContext", "runAsUser")) == expected


def test_a_pod_with_resources_of_its_own_gets_no_more():
    """Their sum over the containers may not be above them."""
    found = passed(asked(resources={"limits": {"memory": "1Gi"}}))
    assert "resources" not in inits(found)[0]


def test_a_file_for_the_servers_last_words_is_not_the_sidecars():
    """It writes its record to its own."""
    document = asked()
    document["spec"]["containers"][0]["terminationMessagePath"] = "/last-words"
    assert inits(passed(document))[0]["args"] == [*LISTEN, *WORDS]


def test_without_a_pull_policy_the_api_servers_default_holds():
    """It depends on the tag."""
    found = passed(asked(), Policy("1.0", (1, 29), sidecar=Sidecar(IMAGE)))
    assert "imagePullPolicy" not in inits(found)[0]


def test_a_users_hook_keeps_its_place_and_gets_no_sidecar():
    """Unless the annotation asks to replace it; only the exec rung can chain."""
    for wish, hook in (("keep", "kept"), ("chain", "kept"), ("replace", "sidecar")):
        document = pod(container(ports=PORTS, lifecycle={"preStop": STOP}), annotations=ASKED | {"existing-hook": wish})
        found = passed(document)
        assert found.status["hook"] == hook
        assert bool(inits(found)) == (hook == "sidecar")


def patched_by(version, **changes):
    """Return a pod that another version of drainhook has patched, with its sidecar changed since."""
    document = Pass(asked(), policy=Policy(version, (1, 29), sidecar=Sidecar("old", "Always"))).object
    document["spec"]["initContainers"][0] |= changes
    return document


def test_an_older_one_is_brought_up_to_date():
    """Field by field: what others added to it stays."""
    found = passed(patched_by("0.9", args=["drain", "settle=1"], env=[{"name": "A", "value": "b"}]))
    (item,) = inits(found)
    assert (item["image"], item["imagePullPolicy"], item["args"]) == (IMAGE, "IfNotPresent", [*LISTEN, *WORDS])
    assert item["env"] == [{"name": "A", "value": "b"}]
    assert found.at("lifecycle", "preStop") == CALL


def test_a_mirrored_image_is_left_where_this_version_made_the_sidecar():
    """Another webhook that moves images to a mirror would otherwise be undone at the second call."""
    found = passed(patched_by("1.0", image="mirror.example/drainhook", securityContext={"runAsNonRoot": True}))
    (item,) = inits(found)
    assert (item["image"], item["imagePullPolicy"]) == ("mirror.example/drainhook", "Always")
    assert item["securityContext"]["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize(
    ("mounts", "result"),
    [
        (None, [MOUNT]),
        ([{"name": "x", "mountPath": "/x"}, 5], [{"name": "x", "mountPath": "/x"}, 5, MOUNT]),
        ([MOUNT, {"name": "x", "mountPath": "/x"}], [MOUNT, {"name": "x", "mountPath": "/x"}]),
    ],
)
def test_the_token_stays_out_of_one_that_stands(mounts, result):
    """Other mounts stay."""
    assert inits(passed(patched_by("0.9", volumeMounts=mounts)))[0]["volumeMounts"] == result


def test_who_knows_neither_cluster_nor_image_keeps_what_stands():
    """`drainhook validate` on a pod that the webhook has patched, also where nobody asked for the sidecar."""
    allowed = Policy("1.0", (1, 29), sidecar=Sidecar(IMAGE, without_shell=True))
    for wishes, own in ((ASKED, OWN), ({}, profile(tools=[]))):
        first = Pass(asked(annotations=wishes), own, allowed)
        second = decide(request(first.object), first.known, Policy("1.0"))
        assert second == Allow(first.decision.outcomes)


def test_one_that_no_hook_calls_any_more_is_said():
    """It is not taken out, since only `add` is ever made."""
    document = patched_by("1.0")
    del document["metadata"]["annotations"][names.HOOK]
    found = passed(document)
    assert (found.status["hook"], len(inits(found))) == ("exec", 1)
    assert [(item.reason, item.path) for item in found.decision.findings] == [
        (Reason.SIDECAR_UNUSED, "spec.initContainers[0]")
    ]
    kept = patched_by("1.0")
    kept["spec"]["containers"][0]["lifecycle"]["preStop"] = STOP
    assert [item.reason for item in passed(kept).decision.findings] == [Reason.SIDECAR_UNUSED]


@pytest.mark.parametrize(
    ("item", "found"),
    [
        (OURS, 0),
        (OURS | {"name": "other"}, None),
        (OURS | {"restartPolicy": None}, None),
        (OURS | {"args": None}, None),
        (OURS | {"args": ["serve"]}, None),
    ],
)
def test_ours_is_recognised_by_its_form(item, found):
    """Name, restart policy and command together; image and version do not matter."""
    assert standing({"spec": {"initContainers": [item]}}) == found


def test_the_status_is_small():
    """It shares 256 KiB with everything else."""
    assert len(json.dumps(passed(asked()).status)) < 600
