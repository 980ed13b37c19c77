"""admission: which objects and templates are decided about, and what stays as it is."""

from __future__ import annotations

import copy

import pytest

from tests.unit.core.decisions import ENABLED, LABEL, left, warning
from tests.unit.core.engines import (
    CATALOG,
    POLICY,
    container,
    deployment,
    pod,
    request,
)
from webhook import names
from webhook.core.admission import decide, decide_pod, prove
from webhook.core.decision import Allow, Cause, Level, Outcome, Patch, Reason


@pytest.mark.parametrize(
    ("operation", "subresource"),
    [("UPDATE", ""), ("DELETE", ""), ("CONNECT", ""), ("", ""), ("create", ""), ("CREATE", "ephemeralcontainers")],
)
def test_only_the_creation_of_an_object_is_patched(operation, subresource):
    """A pod's fields cannot change later, and subresources are no pods."""
    found = decide(request(pod(), operation, subresource=subresource), CATALOG, POLICY)
    assert found == Allow((Outcome("", (Reason.OPERATION_IGNORED,)),))


@pytest.mark.parametrize("document", [None, [], [pod()], "x", 5, True])
def test_what_is_no_object_is_left_alone(document):
    """A request without one is no fault of anybody's."""
    assert decide(request(document), CATALOG, POLICY) == Allow((Outcome("", (Reason.MALFORMED_OBJECT,)),))


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (pod(backend=None), Reason.NOT_LABELLED),
        (pod(backend=None, labels={names.BACKEND: ""}), Reason.NOT_LABELLED),
        ({**pod(), "metadata": None}, Reason.NOT_LABELLED),
        ({**pod(), "metadata": {"labels": None}}, Reason.NOT_LABELLED),
        (pod(labels={names.INJECT: "disabled"}), Reason.OPTED_OUT),
        ({**pod(labels={names.INJECT: "disabled"}), "spec": "broken"}, Reason.OPTED_OUT),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, Reason.KIND_IGNORED),
        ({}, Reason.KIND_IGNORED),
        ({"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": pod()}}, Reason.BATCH_JOB),
        (pod(os={"name": "windows"}), Reason.WINDOWS_POD),
        ({**pod(), "metadata": {**pod()["metadata"], "ownerReferences": [{"kind": "Job"}]}}, Reason.BATCH_JOB),
        ({**pod(), "metadata": {**pod()["metadata"], "annotations": {names.MIRROR_POD: "x"}}}, Reason.MIRROR_POD),
        ({"kind": "X", "t": {"spec": {"containers": [{"name": 5, "image": "a"}]}}}, Reason.NOT_LABELLED),
    ],
)
def test_what_nobody_asked_for_is_left_alone_silently(document, reason):
    """One reason, and no finding."""
    assert left(document) == ([reason], [])


def test_a_misspelt_label_is_said_where_nothing_is_patched():
    """Else the mistake would be silent."""
    document = pod(backend=None, labels={f"{names.DOMAIN}/backend-name": "own"}, annotations={"backend": "own"})
    reasons, findings = left(document)
    assert reasons == [Reason.NOT_LABELLED]
    assert [(item.reason, item.path) for item in findings] == [
        (Reason.UNKNOWN_KEY, f"metadata.labels[{names.DOMAIN}/backend-name]"),
        (Reason.UNKNOWN_KEY, f"metadata.annotations[{names.BACKEND}]"),
    ]


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("onw", "no profile of this name; did you mean own?"),
        ("OWN", "no profile of this name; did you mean own?"),
        ("q", "no profile of this name; see drainhook profiles list"),
        ("x" * 100_000, "no profile of this name; see drainhook profiles list"),
    ],
)
def test_an_unknown_backend_is_allowed_with_a_warning(backend, message):
    """The nearest names are offered."""
    finding = warning(Reason.UNKNOWN_BACKEND, LABEL, message, backend, cause=Cause.NOT_SUPPORTED)
    assert left(pod(backend=backend)) == ([Reason.UNKNOWN_BACKEND], [finding])


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (pod(terminationGracePeriodSeconds="30"), "spec.terminationGracePeriodSeconds"),
        ({**pod(), "spec": []}, "spec"),
        (deployment(pod(None)), "spec.template.spec.containers[0]"),
        ({"kind": "X", "t": pod(container(args="x"))}, "t.spec.containers[0].args"),
        (pod(backend=None, labels={names.BACKEND: 5}), LABEL),
        (
            {
                "apiVersion": "serving.kserve.io/v1",
                "kind": "ServingRuntime",
                "spec": {"labels": {names.BACKEND: ["own"]}},
            },
            f"spec.labels[{names.BACKEND}]",
        ),
    ],
)
def test_a_field_of_a_wrong_type_is_an_error_at_its_place(document, path):
    """The API server would refuse such an object, and nothing is patched."""
    reasons, findings = left(document)
    assert reasons == [Reason.MALFORMED_OBJECT]
    assert [(item.reason, item.level, item.path) for item in findings] == [(Reason.MALFORMED_OBJECT, Level.ERROR, path)]


def test_a_kind_without_the_fields_is_left_to_admission():
    """Its pods are patched when they are created."""
    spec = {"template": {"metadata": {"labels": {names.BACKEND: "own"}}}}
    service = {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "spec": spec}
    message = "this kind lacks the fields; its pods are patched when they are created"
    path = f"spec.template.metadata.labels[{names.BACKEND}]"
    assert left(service) == ([Reason.CR_FIELD], [warning(Reason.CR_FIELD, path, message, "own")])
    assert left({**service, "spec": {}}) == ([Reason.NOT_LABELLED], [])
    assert left({**service, "spec": {}}, ENABLED) == ([Reason.CR_FIELD], [])


def test_every_template_of_a_list_is_decided_about():
    """Each with its own outcome, at its own path."""
    items = [deployment(pod()), {"apiVersion": "batch/v1", "kind": "Job"}, pod(backend=None)]
    found = decide(request({"kind": "List", "items": items}), CATALOG, POLICY)
    assert [(outcome.path, outcome.reasons[0]) for outcome in found.outcomes] == [
        ("items[0].spec.template", Reason.HOOK_EXEC),
        ("items[1]", Reason.BATCH_JOB),
        ("items[2]", Reason.NOT_LABELLED),
    ]
    assert {operation["path"].split("/")[2] for operation in found.operations} == {"0"}


def test_a_worker_of_a_group_is_patched_with_a_warning():
    """Requests end when the leader does."""
    templates = {"leaderTemplate": pod(), "workerTemplate": pod()}
    spec = {"leaderWorkerTemplate": templates}
    obj = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "spec": spec}
    found = decide(request(obj), CATALOG, POLICY)
    message = "a worker of a group: requests end when the leader does, so the leader must drain first"
    path = "spec.leaderWorkerTemplate.workerTemplate"
    assert found.findings == (warning(Reason.GROUP_WORKER, path, message),)


def test_a_template_in_an_unknown_kind_is_patched_and_said_so():
    """It was found by its shape."""
    found = decide(request({"apiVersion": "a/v1", "kind": "X", "t": pod()}), CATALOG, POLICY)
    message = "the kind is unknown; this was taken for a pod template by its shape"
    assert found.findings == (warning(Reason.TEMPLATE_GUESSED, "t", message),)
    assert found.outcomes[0].reasons[-1] is Reason.TEMPLATE_GUESSED


def test_the_object_of_a_request_is_never_changed():
    """Operations are made for a copy."""
    document = deployment(pod(container(lifecycle={"preStop": {"sleep": {"seconds": 5}}}, args=["m"])))
    before = copy.deepcopy(document)
    decide(request(document), CATALOG, POLICY)
    assert document == before


def test_a_patch_of_ours_is_proven():
    """It applies, and a second decision on its result is empty."""
    found = decide(request(pod()), CATALOG, POLICY)
    assert prove(request(pod()), found, CATALOG, POLICY) is True


@pytest.mark.parametrize(
    "operations",
    [
        ({"op": "add", "path": "/spec/nothing/x", "value": 1},),
        ({"op": "add", "path": "/kind/x", "value": 1},),
        ({"op": "add", "path": "/spec/containers/x", "value": 1},),
        ({"op": "add", "path": "/spec/x", "value": 1},),
        (),
    ],
)
def test_a_patch_that_does_not_fit_or_does_not_last_is_not_proven(operations):
    """Where it does not apply, or a second pass would change more."""
    assert prove(request(pod()), Patch(operations, ()), CATALOG, POLICY) is False


@pytest.mark.parametrize("document", [deployment(pod()), {"kind": "List", "items": [pod()]}, {}, {"kind": "PodList"}])
def test_the_webhook_patches_pods_only(document):
    """A changed Deployment would fight with what stands in git."""
    assert decide_pod(request(document), CATALOG, POLICY) == Allow((Outcome("", (Reason.KIND_IGNORED,)),))


@pytest.mark.parametrize("document", [pod(), pod(backend=None), None])
def test_the_webhook_decides_about_a_pod_as_every_door_does(document):
    """One decision, many doors."""
    assert decide_pod(request(document), CATALOG, POLICY) == decide(request(document), CATALOG, POLICY)
