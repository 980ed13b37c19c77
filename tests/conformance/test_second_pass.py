"""A second pass over our own result: rows M5 (nothing to do) and M7 (what others changed since is found)."""

from __future__ import annotations

import copy

import pytest

from tests.builders import UID, container, filled_in, pod
from tests.conformance.case import VERSION, catalog
from tests.conformance.passes import SIDECAR, decided, hook_of, patched
from webhook import names
from webhook.core.admission import validate
from webhook.core.decision import Allow, Policy, Reason, Request

MESH = {"name": "istio-proxy", "image": "docker.io/istio/proxyv2:1.28.0", "args": ["proxy", "sidecar"]}


@pytest.mark.parametrize("existing", ["keep", "chain", "replace"])
@pytest.mark.parametrize("rung", ["exec", "sidecar", "sleep", "none"])
@pytest.mark.parametrize("user", [None, {"exec": {"command": ["a", "b"]}}, {"sleep": {"seconds": 45}}])
def test_m5_second_pass_is_empty_on_each_branch(user, rung, existing):
    wishes = {"existing-hook": existing, "hook": rung, "native-drain": "enabled", "grace-period-seconds": "200"}
    ports = [{"containerPort": 8000}]
    document = pod(container(lifecycle={"preStop": user}, ports=ports), annotations=wishes)
    first = decided(document)
    for again in (patched(document), filled_in(patched(document))):
        second = decided(again)
        assert isinstance(second, Allow)
        assert second.outcomes == first.outcomes


RUNGS = {
    "exec": {},
    "sleep": {"hook": "sleep"},
    "http": {"hook": "http"},
    "sidecar": {"hook": "sidecar"},
}


@pytest.mark.parametrize("before", RUNGS)
@pytest.mark.parametrize("after", RUNGS)
def test_m5_our_hook_of_one_kind_is_no_users_hook_to_another(before, after):
    """A template in git that was patched once is patched anew after its annotation has changed."""
    item = container(image="own", command=["uvicorn", "a:a", "--host=0.0.0.0", "--port=8000"], args=[])
    fresh = patched(pod(item, backend="fastapi", annotations=RUNGS[after]))
    changed = patched(pod(item, backend="fastapi", annotations=RUNGS[before]))
    rest = {names.STATUS: changed["metadata"]["annotations"][names.STATUS]}
    changed["metadata"]["annotations"] = rest | {f"{names.DOMAIN}/{key}": text for key, text in RUNGS[after].items()}
    again = patched(changed)
    assert hook_of(again) == hook_of(fresh)
    assert again["metadata"]["annotations"][names.STATUS] == fresh["metadata"]["annotations"][names.STATUS]


def test_m5_a_server_that_does_not_know_its_cluster_keeps_the_sleep_of_one_that_did():
    document = pod(annotations={"image-tools": "none"})
    offline = patched(document, (1, 34))
    assert isinstance(decided(offline, None), Allow)
    assert hook_of(offline) == {"sleep": {"seconds": 105}}


def admitted(document):
    """Return a pod with a sidecar as the API server holds it: its defaults, and the service account's token."""
    full = filled_in(document)
    token = {"name": "kube-api-access-x7k2p", "mountPath": names.TOKEN_PATH, "readOnly": True}
    for item in (*full["spec"]["containers"], *full["spec"]["initContainers"]):
        item |= {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
        mounts = item.setdefault("volumeMounts", [])
        if all(mount["mountPath"] != names.TOKEN_PATH for mount in mounts):
            mounts.append(token)
    full["spec"]["volumes"][0]["downwardAPI"]["defaultMode"] = 420
    full["spec"]["volumes"].append({"name": token["name"], "projected": {"sources": []}})
    return full


def test_m5_what_the_api_server_adds_to_the_sidecar_changes_nothing():
    """Its token is mounted wherever nothing is mounted at that path, so not there."""
    document = pod(container(ports=[{"containerPort": 8000}]), annotations={"hook": "sidecar"})
    full = admitted(patched(document))
    assert [item["name"] for item in full["spec"]["initContainers"][0]["volumeMounts"]] == ["drainhook-no-token"]
    assert isinstance(decided(full), Allow)
    verdict = validate(Request(full, uid=UID), catalog(), Policy(VERSION, (1, 34), sidecar=SIDECAR))
    assert verdict.findings == ()


@pytest.mark.parametrize("at", [0, 1])
def test_m5_a_native_sidecar_that_another_webhook_adds_changes_ours_in_nothing_but_its_index(at):
    document = pod(container(ports=[{"containerPort": 8000}]), annotations={"hook": "sidecar"})
    agent = {"name": "agent", "image": "vault", "restartPolicy": "Always"}
    after = patched(document)
    ours = copy.deepcopy(after["spec"]["initContainers"][0])
    after["spec"]["initContainers"].insert(at, agent)
    again = patched(after)
    assert [item for item in again["spec"]["initContainers"] if item != agent] == [ours]
    assert [item["path"] for item in getattr(decided(after), "operations", ())] == (
        [] if at else ["/metadata/annotations/drainhook.dev~1status"]
    )
    assert isinstance(decided(again), Allow)


def test_m7_a_changed_sidecar_is_found():
    after = filled_in(patched(pod(container(ports=[{"containerPort": 8000}]), annotations={"hook": "sidecar"})))
    after["spec"]["initContainers"][0]["args"] = ["drain", "--listen=1"]
    found = validate(Request(after, uid=UID), catalog(), Policy(VERSION, (1, 34), sidecar=SIDECAR)).findings
    assert [(item.reason, item.path) for item in found] == [(Reason.STATUS_MISMATCH, "spec.initContainers[0]")]


@pytest.mark.parametrize("place", [0, 1])
def test_m5_mesh_injection_before_or_after_ours_changes_nothing(place):
    injected = pod(container())
    injected["spec"]["containers"].insert(place, copy.deepcopy(MESH))
    after = patched(pod(container()))
    after["spec"]["containers"].append(copy.deepcopy(MESH))
    assert isinstance(decided(after), Allow)
    assert isinstance(decided(patched(injected)), Allow)
    assert hook_of(patched(injected), 1 - place) == hook_of(patched(pod(container())))


@pytest.mark.parametrize(
    ("kind", "spoil", "path"),
    [
        ("hook", lambda spec: spec["containers"][0]["lifecycle"].update(preStop={"exec": {"command": ["x"]}}),
         "spec.containers[0].lifecycle.preStop"),
        ("grace", lambda spec: spec.update(terminationGracePeriodSeconds=30), "spec.terminationGracePeriodSeconds"),
        ("longer", lambda spec: spec.update(terminationGracePeriodSeconds=900), "spec.terminationGracePeriodSeconds"),
        ("probe", lambda spec: spec["containers"][0]["readinessProbe"].update(timeoutSeconds=1),
         "spec.containers[0].readinessProbe"),
    ],
)  # fmt: skip
def test_m7_what_another_webhook_changed_after_ours_is_found(kind, spoil, path):
    after = filled_in(patched(pod()))
    assert validate(Request(after, uid=UID), catalog(), Policy("0.0.0", (1, 34))).findings == ()
    spoil(after["spec"])
    found = validate(Request(after, uid=UID), catalog(), Policy("0.0.0", (1, 34)))
    assert isinstance(found, Allow), kind
    mismatches = [finding.path for finding in found.findings if finding.reason is Reason.STATUS_MISMATCH]
    assert mismatches == [path]


def test_m7_a_status_of_an_older_version_proves_nothing():
    after = patched(pod())
    newer = Policy("9.9.9", (1, 34))
    assert validate(Request(after, uid=UID), catalog(), newer).findings == ()
