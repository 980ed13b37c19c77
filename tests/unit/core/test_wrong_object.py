"""wrong_object: our keys on the workload instead of its pod template."""

from __future__ import annotations

import pytest

from tests.unit.core.engines import deployment, pod
from webhook import names
from webhook.core.decision import Cause, Finding, Level, Reason
from webhook.core.wrong_object import wrong_object_findings

PLAIN = pod(backend=None)


def wrong(path, there):
    """Return the finding for a key at a path."""
    message = f"nothing is read from here: put it on the pod template, {there}"
    return Finding(Reason.WRONG_OBJECT, Level.WARNING, path, message, cause=Cause.FORBIDDEN)


def test_a_label_on_the_workload_is_the_mistake_everyone_makes():
    """The exact place is named, and where the key belongs."""
    obj = deployment(PLAIN, labels={names.BACKEND: "own", "app": "x"}, annotations={names.PORT: "1"})
    assert list(wrong_object_findings(obj)) == [
        wrong(f"metadata.labels[{names.BACKEND}]", "spec.template.metadata.labels"),
        wrong(f"metadata.annotations[{names.PORT}]", "spec.template.metadata.annotations"),
    ]


def test_it_is_found_in_a_list_too():
    """Both paths begin at the list."""
    obj = {"kind": "List", "items": [{}, deployment(PLAIN, labels={names.BACKEND: "own"})]}
    assert list(wrong_object_findings(obj)) == [
        wrong(f"items[1].metadata.labels[{names.BACKEND}]", "items[1].spec.template.metadata.labels")
    ]


def test_a_kind_with_labels_of_its_own_place_is_told_that_place():
    """KServe's runtimes have the pods' labels below spec."""
    obj = {
        "apiVersion": "serving.kserve.io/v1alpha1",
        "kind": "ServingRuntime",
        "metadata": {"labels": {names.BACKEND: "own"}},
    }
    assert list(wrong_object_findings(obj)) == [wrong(f"metadata.labels[{names.BACKEND}]", "spec.labels")]


@pytest.mark.parametrize(
    "obj",
    [
        pod(),
        pod(annotations={"port": "1"}),
        deployment(pod()),
        deployment(pod(), labels={names.BACKEND: "own"}),
        deployment(PLAIN, labels={"app": "x"}),
        deployment(PLAIN, annotations={names.ELASTIC_CONFIG: "{}"}),
        deployment(PLAIN, labels=None, annotations=[names.PORT]),
        {**deployment(PLAIN), "metadata": None},
        {**deployment(PLAIN), "metadata": 5},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {names.BACKEND: "own"}}},
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"labels": {names.BACKEND: "own"}}},
        {},
    ],
)
def test_what_stands_right_is_not_reported(obj):
    """A pod's own keys, keys that the template has too, the elastic config, and objects without a template."""
    assert list(wrong_object_findings(obj)) == []


def test_a_template_without_metadata_has_no_key():
    """Whatever its type is, the key on the workload is reported."""
    obj = deployment({"metadata": {"labels": 5}, "spec": {}}, labels={names.BACKEND: "own", 5: "x"})
    assert [item.path for item in wrong_object_findings(obj)] == [f"metadata.labels[{names.BACKEND}]"]
