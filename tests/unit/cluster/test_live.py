"""A live cluster: each mistake once, at the object where it is made; and pods that the webhook did not see."""

from __future__ import annotations

import json

import pytest

from tests.unit.cluster.workloads import DEPLOYMENTS, PODS, pod, workload
from webhook import names
from webhook.catalog import load
from webhook.cluster.client import ClusterError
from webhook.cluster.live import Survey
from webhook.cluster.resources import discover
from webhook.core.admission import decide
from webhook.core.decision import Policy, Request
from webhook.core.patch import apply

CATALOG, _ = load()
POLICY = Policy("0.0.0", (1, 37))
BAD = {names.DRAIN: "soon"}
REPLICA_SETS = "/apis/apps/v1/namespaces/llm/replicasets"


def looked(api, namespace="llm"):
    """Return what was found, as (place, reason, path)."""
    session = api.session()
    survey = Survey(session, CATALOG, POLICY, namespace)
    return [
        (found.place, finding.reason.value, finding.path)
        for found in survey.look(discover(session))
        for finding in found.findings
    ]


def patched(obj):
    """Return a pod after the webhook."""
    obj = {"apiVersion": "v1", "kind": "Pod", **obj}
    return apply(obj, decide(Request(obj), CATALOG, POLICY).operations)


def test_a_pod_that_passed_unpatched_is_found(api):
    """The webhook was down, or its namespace is excluded."""
    api.add(f"{PODS}/p", pod())
    assert looked(api) == [("llm/Pod/p", "not_patched", f"metadata.labels[{names.BACKEND}]")]


def test_a_patched_pod_is_fine(api):
    api.add(f"{PODS}/p", patched(pod()))
    assert looked(api) == []


def test_what_somebody_changed_on_a_pod_is_found(api):
    made = patched(pod())
    made["spec"]["terminationGracePeriodSeconds"] = 31
    api.add(f"{PODS}/p", made)
    assert looked(api) == [("llm/Pod/p", "status_mismatch", "spec.terminationGracePeriodSeconds")]


@pytest.mark.parametrize(
    "more", [{"phase": "Succeeded"}, {"phase": "Failed"}, {"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}}]
)
def test_pods_that_have_ended_or_are_ending_are_passed_over(api, more):
    """Nothing can be mended there."""
    api.add(f"{PODS}/p", pod(**more))
    assert looked(api) == []


def test_the_label_on_the_workload_is_found(api):
    """The mistake that everyone makes."""
    obj = workload()
    obj["metadata"]["labels"] = {names.BACKEND: "vllm"}
    api.add(f"{DEPLOYMENTS}/chat", obj)
    assert looked(api) == [("llm/Deployment/chat", "wrong_object", f"metadata.labels[{names.BACKEND}]")]


def test_a_mistake_of_a_template_is_said_once(api):
    """Not again for the ReplicaSet and for each pod; what only a pod can have is."""
    obj = workload(label="vllm")
    obj["spec"]["template"]["metadata"]["annotations"] = BAD
    api.add(f"{DEPLOYMENTS}/chat", obj)
    made = {**obj, "metadata": {"name": "chat-1", "namespace": "llm", "uid": "rs", "ownerReferences": [
        {"kind": "Deployment", "name": "chat", "uid": "d", "controller": True}]}}  # fmt: skip
    api.add(f"{REPLICA_SETS}/chat-1", made)
    for number in range(2):
        api.add(f"{PODS}/p{number}", pod(f"p{number}", owner="rs", metadata={"annotations": BAD}))

    assert looked(api) == [
        ("llm/Deployment/chat", "bad_override", f"spec.template.metadata.annotations[{names.DRAIN}]"),
        ("llm/Pod/p0", "not_patched", f"metadata.labels[{names.BACKEND}]"),
        ("llm/Pod/p1", "not_patched", f"metadata.labels[{names.BACKEND}]"),
    ]


def test_the_pods_of_an_operator_are_looked_at_in_full(api):
    """Nobody knows where its template is."""
    api.add(f"{PODS}/p", patched(pod(owner="unknown", metadata={"annotations": BAD})))
    assert looked(api) == [("llm/Pod/p", "bad_override", f"metadata.annotations[{names.DRAIN}]")]


@pytest.mark.parametrize(("namespace", "places"), [("llm", ["llm/Pod/p"]), (None, ["llm/Pod/p", "other/Pod/q"])])
def test_one_namespace_or_all_are_looked_at(api, namespace, places):
    other = pod("q", metadata={"namespace": "other"})
    api.add(f"{PODS}/p", pod())
    api.add("/api/v1/namespaces/other/pods/q", other)
    if namespace is None:  # the small server lists by namespace
        api.pages["/api/v1/pods"] = {"items": list(api.objects.values()), "metadata": {}}
        for place in ("/api/v1/podtemplates", "/api/v1/replicationcontrollers"):
            api.pages[place] = {"items": None, "metadata": {}}
        for plural in ("deployments", "statefulsets", "daemonsets", "replicasets"):
            api.pages[f"/apis/apps/v1/{plural}"] = {"items": [], "metadata": {}}
    assert [place for place, _, _ in looked(api, namespace)] == places


def test_what_may_not_be_read_is_an_error_and_the_rest_is_looked_at(api):
    """A check that passes because it saw nothing would be worse than none."""
    api.add(f"{PODS}/p", pod())
    api.refuse("GET", DEPLOYMENTS, (403, "deployments.apps is forbidden"))
    assert looked(api) == [
        ("llm/Deployment", "unreadable", ""),
        ("llm/Pod/p", "not_patched", f"metadata.labels[{names.BACKEND}]"),
    ]


def test_another_failure_ends_the_look(api):
    api.refuse("GET", DEPLOYMENTS, (500, "etcd is gone"))
    with pytest.raises(ClusterError, match="etcd is gone"):
        looked(api)


def test_nothing_is_written(api):
    api.add(f"{PODS}/p", pod())
    before = json.dumps(api.objects)
    looked(api)
    assert (json.dumps(api.objects), api.writes()) == (before, [])
