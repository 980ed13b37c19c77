"""Labelling: which workload is meant, what would change, and a change that cannot overwrite another one."""

from __future__ import annotations

import pytest

from tests.unit.cluster.workloads import DEPLOYMENTS, ENGINE, OTHER, template, workload
from webhook import names
from webhook.catalog import load
from webhook.cluster.client import ClusterError
from webhook.cluster.label import RefusedError, fetch, loses_requests, prepare, prepare_removal, rollout, send
from webhook.cluster.resources import discover
from webhook.core.decision import Policy, Reason

CATALOG, _ = load()
POLICY = Policy("0.0.0", (1, 37))
CHAT = f"{DEPLOYMENTS}/chat"


def fetched(api, obj, spelled="deploy/chat", path=CHAT):
    """Store a workload and fetch it as a user names it."""
    api.add(path, obj)
    session = api.session()
    return session, fetch(session, discover(session), spelled, "llm")


def prepared(api, obj, backend="vllm", **place):
    """Fetch a workload and work out what a label does."""
    session, labelling = fetched(api, obj, **place)
    prepare(labelling, backend, CATALOG, POLICY)
    return session, labelling


def label_of(api, path=CHAT):
    """Return the label on the template in the cluster."""
    return api.objects[path]["spec"]["template"]["metadata"]["labels"].get(names.BACKEND)


@pytest.mark.parametrize(
    ("spelled", "text"),
    [
        ("chat", "chat: name a workload as kind/name, like deploy/chat"),
        ("deploy/", "name a workload"),
        ("deploy/a/b", "name a workload"),
        ("thing/chat", "this cluster knows no kind thing"),
        ("pod/chat", "pods are labelled through the template"),
        ("job/chat", "a Job ends by itself and is left alone"),
        ("svc/chat", "a Service carries no pod template"),
    ],
)
def test_what_cannot_be_labelled_is_refused(api, spelled, text):
    session = api.session()
    with pytest.raises(RefusedError, match=text):
        fetch(session, discover(session), spelled, "llm")


def test_a_workload_that_another_one_makes_is_refused(api):
    """Its owner would write the old template again."""
    obj = workload()
    obj["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "top", "controller": True}]
    with pytest.raises(RefusedError, match="belongs to Deployment top, which makes it: label that"):
        fetched(api, obj, "rs/chat".replace("rs", "replicaset"), "/apis/apps/v1/namespaces/llm/replicasets/chat")


def test_the_label_goes_to_the_template(api):
    """Nothing else of the workload changes, nor do its own labels."""
    session, labelling = prepared(api, workload())
    before = dict(api.objects[CHAT])
    send(session, labelling, dry_run=False)

    assert [(row.path, row.current, row.wanted) for row in labelling.rows] == [("spec.template", "", "vllm")]
    assert labelling.rows[0].outcome.status["hook"] == "exec"
    assert label_of(api) == "vllm"
    assert api.objects[CHAT]["metadata"].keys() == before["metadata"].keys()
    assert api.objects[CHAT]["spec"] == {**before["spec"], "template": template("vllm")}


def test_another_label_is_replaced(api):
    session, labelling = prepared(api, workload(label="sglang"))
    send(session, labelling, dry_run=False)
    assert (label_of(api), labelling.rows[0].current) == ("vllm", "sglang")


def test_a_dry_run_changes_nothing(api):
    """The API server tries and forgets."""
    session, labelling = prepared(api, workload())
    send(session, labelling, dry_run=True)

    assert label_of(api) is None
    assert [query["dryRun"] for method, _, query, _ in api.asked if method == "PATCH"] == ["All"]


def test_a_label_that_is_there_needs_no_change(api):
    _, labelling = prepared(api, workload(label="vllm"))
    assert (labelling.operations, labelling.rows[0].is_changed) == ([], False)


def test_a_template_that_would_be_left_alone_is_not_labelled(api):
    """The label would only promise something."""
    _, labelling = prepared(api, workload(container=OTHER), "auto")

    assert labelling.operations == []
    assert [finding.reason for finding in labelling.findings] == [Reason.NO_ENGINE_FOUND]


def test_of_several_templates_only_the_engines_are_labelled(api):
    """A group may have members without an engine."""
    api.install("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet")
    path = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/llm/leaderworkersets/chat"
    group = {"leaderTemplate": template(), "workerTemplate": template(container=OTHER)}
    obj = {"metadata": {"name": "chat", "namespace": "llm"}, "spec": {"leaderWorkerTemplate": group}}
    session, labelling = prepared(api, obj, "auto", spelled="leaderworkerset/chat", path=path)
    send(session, labelling, dry_run=False)
    after = api.objects[path]["spec"]["leaderWorkerTemplate"]

    assert after == {"leaderTemplate": template("auto"), "workerTemplate": template(container=OTHER)}
    assert [row.is_changed for row in labelling.rows] == [True, False]


def test_a_kind_without_the_fields_gets_the_label_only(api):
    """Its pods are patched when they are created."""
    api.install("serving.kserve.io", "v1beta1", "InferenceService")
    path = "/apis/serving.kserve.io/v1beta1/namespaces/llm/inferenceservices/chat"
    obj = {"metadata": {"name": "chat", "namespace": "llm"}, "spec": {"predictor": {"model": {}}}}
    session, labelling = prepared(api, obj, spelled="inferenceservice/chat", path=path)
    send(session, labelling, dry_run=False)

    assert api.objects[path]["spec"]["predictor"] == {"model": {}, "labels": {names.BACKEND: "vllm"}}


def test_removal_takes_the_label_away(api):
    session, labelling = fetched(api, workload(label="vllm"))
    prepare_removal(labelling)
    send(session, labelling, dry_run=False)

    assert api.objects[CHAT]["spec"]["template"] == template()
    assert [(row.current, row.wanted) for row in labelling.rows] == [("vllm", "")]


def test_removal_of_nothing_needs_no_change(api):
    _, labelling = fetched(api, workload())
    prepare_removal(labelling)
    assert labelling.operations == []


def test_a_status_written_meanwhile_does_not_matter(api):
    """Controllers write it all the time."""
    session, labelling = prepared(api, workload())
    api.before("PATCH", CHAT, lambda: api.add(CHAT, {**api.objects[CHAT], "status": {"replicas": 4}}))
    send(session, labelling, dry_run=False)

    assert (label_of(api), api.objects[CHAT]["status"]) == ("vllm", {"replicas": 4})


@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_a_spec_changed_since_the_preview_is_not_touched(api, method):
    """What the user agreed to is not there any more."""
    session, labelling = prepared(api, workload())
    api.before(method, CHAT, lambda: api.add(CHAT, workload(replicas=9)))
    with pytest.raises(RefusedError, match="Deployment chat changed meanwhile: look at it again"):
        send(session, labelling, dry_run=False)

    assert label_of(api) is None


def test_a_workload_that_never_stands_still_is_an_error(api):
    session, labelling = prepared(api, workload())
    api.refuse("PATCH", CHAT, *[(409, "modified")] * 100)
    with pytest.raises(ClusterError, match="modified"):
        send(session, labelling, dry_run=False)


@pytest.mark.parametrize(
    ("kind", "spec", "text"),
    [
        ("deployment", {}, "This starts a rollout: 3 pods are replaced (RollingUpdate)."),
        (
            "deployment",
            {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"}}},
            "This starts a rollout: 3 pods are replaced (RollingUpdate, maxSurge 1, maxUnavailable 25%).",
        ),
        ("deployment", {"paused": True}, "The Deployment is paused: pods are replaced when it is resumed."),
        ("statefulset", {"updateStrategy": {"type": "OnDelete"}},
         "OnDelete: each pod is replaced when somebody deletes it."),
        ("daemonset", {}, "This starts a rollout: 7 pods are replaced (RollingUpdate)."),
        ("replicaset", {}, "Running pods stay as they are; new ones are made from the new template."),
        ("rollout", {}, "The operator of Rollout decides when its pods are replaced."),
    ],
)  # fmt: skip
def test_what_starts_is_said(api, kind, spec, text):
    api.install("argoproj.io", "v1", "Rollout")
    obj = {**workload(**spec), "status": {"desiredNumberScheduled": 7}}
    group = "argoproj.io" if kind == "rollout" else "apps"
    _, labelling = fetched(api, obj, f"{kind}/chat", f"/apis/{group}/v1/namespaces/llm/{kind}s/chat")
    assert rollout(labelling) == text


@pytest.mark.parametrize(("label", "loses"), [("", True), ("sglang", False), ("vllm", False)])
def test_pods_without_a_hook_are_warned_of(api, label, loses):
    """The first rollout still ends unprotected pods."""
    _, labelling = prepared(api, workload(label=label))
    assert loses_requests(labelling) is loses


def test_an_error_of_the_template_is_known(api):
    """The webhook would refuse the change."""
    obj = workload(container={**ENGINE, "args": "text"})
    _, labelling = prepared(api, obj)
    assert labelling.has_errors
