"""What is kept of the API's objects."""

from __future__ import annotations

import pytest

from tests.unit.observe.objects import LOST, T0, end, ended, endpoint_slice, event, message, pod, running, stamp
from webhook import names
from webhook.observe import facts
from webhook.observe.facts import Deletion, Endpoints, PodEvent, Running


def test_a_deletion_timestamp_is_the_deadline():
    """The API server adds the grace period to the time of the request."""
    found = facts.pod(pod(asked=T0, grace=120)).deletion
    assert found == Deletion(T0 + 120, 120)
    assert found.requested == T0


def test_a_running_pod_is_kept():
    found = facts.pod(pod(running(), grace=120))
    assert (found.namespace, found.name, found.owner) == ("llm", "chat-5d9f7c8b6-x2x4k", ("Deployment", "chat"))
    assert (found.label, found.profile, found.servers) == ("vllm", "vllm@0a1b2c3d", ("server",))
    assert (found.grace, found.deletion, found.disruption) == (120, None, "")
    assert found.running == (Running("containerd://a", "server", T0 - 3600),)
    assert found.endings == ()


def test_an_end_and_a_restart_are_told_apart():
    (last,) = facts.pod(pod(ended(T0, text=message()))).endings
    assert (last.exit_code, last.finished, last.is_restarted, last.hook.end) == (143, T0, False, "idle")

    (before,) = facts.pod(pod(running(instance="b", restarts=1, last=end(T0, 1)))).endings
    assert (before.id, before.exit_code, before.is_restarted, before.hook) == ("containerd://a", 1, True, None)


def test_a_container_that_the_kubelet_lost_has_no_known_end():
    (lost,) = facts.pod(pod(LOST)).endings
    assert (lost.is_known, lost.finished) == (False, None)


@pytest.mark.parametrize(
    ("labels", "owner", "expected"),
    [
        ({"pod-template-hash": "5d9f7c8b6"}, "ReplicaSet", ("Deployment", "chat")),
        ({"rollouts-pod-template-hash": "5d9f7c8b6"}, "ReplicaSet", ("Rollout", "chat")),
        ({"pod-template-hash": "other"}, "ReplicaSet", ("ReplicaSet", "chat-5d9f7c8b6")),
        ({}, "StatefulSet", ("StatefulSet", "chat-5d9f7c8b6")),
    ],
)
def test_the_owner_is_the_workload(labels, owner, expected):
    assert facts.pod(pod(labels=labels, owner=owner)).owner == expected


def test_a_pod_of_nobody_has_no_owner():
    made = pod()
    del made["metadata"]["ownerReferences"]
    assert facts.pod(made).owner is None


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, True),
        ({"labels": {}}, False),
        ({"labels": {names.BACKEND: "vllm", names.INJECT: "disabled"}}, False),
        ({"owner": "Job"}, False),
        ({"annotations": {names.MIRROR_POD: "x"}}, False),
    ],
)
def test_pods_that_the_webhook_leaves_alone_are_not_wanted(changes, wanted):
    """A Job's pod with the label is left alone by contract: it is no unprotected one."""
    assert facts.pod(pod(**changes)).is_wanted is wanted


def test_the_users_annotation_names_the_server_of_an_unpatched_pod():
    assert facts.pod(pod(annotations={names.CONTAINER: "engine"})).servers == ("engine",)


def test_a_probe_may_bring_a_grace_period_of_its_own():
    containers = [{"name": "server", "livenessProbe": {"terminationGracePeriodSeconds": 5}}, {"name": "web"}]
    assert facts.pod(pod(containers=containers)).probe_grace == {"server": 5}


def test_a_disruption_that_was_taken_back_does_not_count():
    made = pod(disruption="PreemptionByScheduler")
    assert facts.pod(made).disruption == "PreemptionByScheduler"
    made["status"]["conditions"][-1]["status"] = "False"
    assert facts.pod(made).disruption == ""


@pytest.mark.parametrize("kind", ["metadata only", "nulls"])
def test_a_pod_that_holds_next_to_nothing_is_read(kind):
    """Status comes later than the pod; other clients write null."""
    metadata = {"name": "p", "namespace": "llm", "uid": "u"}
    made = {"metadata": metadata}
    if kind == "nulls":
        nulls = dict.fromkeys(("labels", "annotations", "ownerReferences", "deletionTimestamp"))
        made = {"metadata": {**metadata, **nulls}, "spec": None, "status": {"conditions": None, "phase": None}}
    found = facts.pod(made)
    assert (found.uid, found.grace, found.running, found.endings, found.phase) == ("u", 30, (), (), "")


def test_an_event_of_the_kubelet_is_kept_with_its_first_and_last_time():
    """Repeated events share one object."""
    found = facts.pod_event(event("Killing", T0, T0 + 40))
    assert found == PodEvent("u1", "llm", "chat-5d9f7c8b6-x2x4k", "Killing", "server", (T0, T0 + 40))


def test_an_event_of_the_newer_group_is_read_alike():
    made = event("FailedPreStopHook", T0)
    newer = {
        "regarding": made["involvedObject"], "reason": made["reason"], "eventTime": "2026-12-01T11:16:42.768461Z",
        "series": {"count": 2, "lastObservedTime": stamp(T0)},
    }  # fmt: skip
    assert facts.pod_event(newer).times == (1_796_123_802.768461, T0)


@pytest.mark.parametrize("change", [{"reason": "Pulled"}, {"involvedObject": {"kind": "Node", "uid": "n"}},
                                    {"involvedObject": {"kind": "Pod"}}, {"involvedObject": None}])  # fmt: skip
def test_other_events_are_not_kept(change):
    assert facts.pod_event({**event("Killing", T0), **change}) is None


def test_endpoints_are_kept_by_pod():
    found = facts.endpoints(endpoint_slice("u1", leaving=["u2"]))
    assert found == Endpoints("s1", {"u1": True, "u2": False})


def test_an_endpoint_without_a_condition_is_ready_and_one_without_a_pod_is_nobodys():
    """Unknown counts as ready, says the API."""
    made = endpoint_slice("u1")
    made["endpoints"][0]["conditions"] = {}
    made["endpoints"].append({"addresses": ["10.0.0.9"], "conditions": {"ready": True}})
    assert facts.endpoints(made).ready == {"u1": True}
    assert facts.endpoints(endpoint_slice()).ready == {}


@pytest.mark.parametrize("text", [None, 5, "", "yesterday"])
def test_what_is_no_time_is_none(text):
    assert facts.seconds(text) is None
