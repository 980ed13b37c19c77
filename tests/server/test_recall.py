"""Remembered decisions are those that would be taken now: what a digest leaves out is read by no decision."""

import dataclasses
from pathlib import Path

import pytest
import yaml

from tests.server.reviews import bare_pod, pod
from webhook.catalog import load
from webhook.core.admission import decide
from webhook.core.decision import Policy, Request
from webhook.server import recall
from webhook.server.recall import Recall, digest

DEEP = []
for _ in range(500):
    DEEP = [DEEP]
CASES = sorted((Path(__file__).parents[1] / "conformance" / "cases").rglob("input.yaml"))
POLICY = Policy("0.0.0")


def documents(file):
    try:
        return [document for document in yaml.safe_load_all(file.read_text("utf-8")) if isinstance(document, dict)]
    except yaml.YAMLError:
        return []  # the text itself is the case


def as_pods(document):
    """Return the document if it is a pod, else the pod of its template."""
    if document.get("kind") == "Pod":
        return [document]
    spec = document.get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    return [{"apiVersion": "v1", "kind": "Pod", **template}] if isinstance(template, dict) else []


def with_own_parts(document, mark):
    """Return the pod as one of many replicas: a name and a token volume of its own."""
    metadata, spec = document.get("metadata"), document.get("spec")
    if not isinstance(metadata, dict) or not isinstance(spec, dict):
        return document
    groups = {
        group: [with_own_mount(item, mark) for item in spec[group]]
        for group in recall.GROUPS
        if isinstance(spec.get(group), list)
    }
    own = {key: f"{mark}-{key}" for key in recall.OWN_METADATA}
    volumes = [{"name": f"kube-api-access-{mark}"}]
    return {**document, "metadata": {**metadata, **own}, "spec": {**spec, **groups, "volumes": volumes}}


def with_own_mount(container, mark):
    if isinstance(container, dict) and isinstance(container.get("volumeMounts"), list | None):
        return {**container, "volumeMounts": [{"name": f"kube-api-access-{mark}", "mountPath": "/token"}]}
    return container


PODS = [found for file in CASES for document in documents(file) for found in as_pods(document)]


@pytest.mark.parametrize("labels", [{}, {"drainhook.dev/inject": "enabled"}])
def test_no_decision_reads_what_a_digest_leaves_out(labels):
    catalog = load()[0]
    assert len(PODS) > 50
    for document in PODS:
        one, other = (Request(object=with_own_parts(document, mark), labels=labels) for mark in ("a", "b"))
        assert digest(one) == digest(other)
        assert decide(one, catalog, POLICY) == decide(other, catalog, POLICY), document


def test_replicas_of_a_template_are_decided_once():
    asked = []
    remembered = Recall(asked.append)
    for mark in ("a", "b", "c"):
        remembered(Request(object=with_own_parts(pod(), mark), uid=mark, name=mark, user=mark))
    assert len(asked) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"object": pod(terminationGracePeriodSeconds=300)},
        {"object": bare_pod()},
        {"object": {**pod(), "extra": 1}},
        {"namespace": "other"},
        {"subresource": "status"},
        {"labels": {"drainhook.dev/inject": "enabled"}},
        {"annotations": {"drainhook.dev/drain-seconds": "60"}},
    ],
)
def test_anything_else_is_another_decision(change):
    request = Request(object=pod())
    assert digest(request) is not None
    assert digest(dataclasses.replace(request, **change)) not in (None, digest(request))


def test_mounts_that_are_no_list_are_not_left_out():
    plain, wrong = pod(), pod()
    wrong["spec"]["containers"][0]["volumeMounts"] = "x"
    assert digest(Request(object=plain)) != digest(Request(object=wrong))


@pytest.mark.parametrize(
    "request_",
    [
        Request(object=pod(), operation="UPDATE"),
        Request(object=pod(), old=pod()),
        Request(object=None),
        Request(object=[]),
        Request(object={"kind": "Deployment", "metadata": {}, "spec": {}}),
        Request(object={"kind": "Pod", "metadata": None, "spec": {}}),
        Request(object={"kind": "Pod", "metadata": {}, "spec": []}),
        Request(object={"kind": "Pod", "metadata": {}, "spec": {"containers": "x"}}),
        Request(object=pod(deep=DEEP)),
    ],
)
def test_what_is_no_creation_of_a_plain_pod_is_not_remembered(request_):
    asked = []
    remembered = Recall(asked.append)
    remembered(request_)
    remembered(request_)
    assert digest(request_) is None
    assert len(asked) == 2


def test_the_oldest_is_forgotten_first():
    asked = []
    remembered = Recall(lambda request: asked.append(request.namespace), most=2)
    for namespace in ("a", "b", "c", "b", "c", "a"):
        remembered(Request(object=pod(), namespace=namespace))
    assert asked == ["a", "b", "c", "a"]


def test_a_failure_is_not_remembered():
    asked = []

    def answer(request):
        asked.append(request)
        raise ValueError("no answer")

    remembered = Recall(answer)
    for _ in range(2):
        with pytest.raises(ValueError, match="no answer"):
            remembered(Request(object=pod()))
    assert len(asked) == 2
