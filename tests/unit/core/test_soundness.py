"""soundness: what makes a template malformed, and which pods no webhook may touch."""

from __future__ import annotations

import pytest

from tests.unit.core.engines import pod
from webhook import names
from webhook.core.decision import Reason
from webhook.core.soundness import is_left_alone, malformed
from webhook.core.workload import owners

POD = pod()
INNER = {"metadata": POD["metadata"], "spec": POD["spec"]}


def labels(*tokens):
    """Return the place of a template's labels."""
    return (*tokens, "metadata", "labels")


MAPPING = "must be a mapping"
QUOTES = "must be a string: put key and value in quotes"
QUOTE = "must be a string: put the value in quotes"


def with_container(**fields):
    """Return a template with one container."""
    return {"spec": {"containers": [{"name": "a", **fields}]}}


def at_container(*tokens):
    """Return a place in the first container."""
    return ("spec", "containers", 0, *tokens)


def owned(*references):
    """Return an object with owner references."""
    return {"metadata": {"ownerReferences": list(references)}}


@pytest.mark.parametrize(
    ("template", "wrong"),
    [
        ({"metadata": []}, (("metadata",), MAPPING)),
        ({"metadata": {"labels": "x"}}, (("metadata", "labels"), MAPPING)),
        ({"metadata": {"annotations": []}}, (("metadata", "annotations"), MAPPING)),
        ({"spec": "x"}, (("spec",), MAPPING)),
        ({"spec": {"nodeSelector": []}}, (("spec", "nodeSelector"), MAPPING)),
        ({"spec": {"volumes": {"v": {}}}}, (("spec", "volumes"), "must be a list")),
        ({"metadata": {"labels": {"a": 5}}}, (("metadata", "labels", "a"), QUOTES)),
        ({"metadata": {"labels": {5: "a"}}}, (("metadata", "labels", "5"), QUOTES)),
        ({"metadata": {"annotations": {"a": None}}}, (("metadata", "annotations", "a"), QUOTES)),
        ({"metadata": {"annotations": {"a": {}}}}, (("metadata", "annotations", "a"), QUOTES)),
        *[
            (
                {"spec": {"terminationGracePeriodSeconds": value}},
                (("spec", "terminationGracePeriodSeconds"), "must be a whole number of seconds"),
            )
            for value in ("30", 30.0, True, [])
        ],
        ({"spec": {"containers": {}}}, (("spec", "containers"), "must be a list")),
        ({"spec": {"initContainers": "x"}}, (("spec", "initContainers"), "must be a list")),
        ({"spec": {"containers": [None]}}, (at_container(), "must be a mapping with a name")),
        ({"spec": {"containers": [{"name": 5}]}}, (at_container(), "must be a mapping with a name")),
        ({"spec": {"initContainers": [{}]}}, (("spec", "initContainers", 0), "must be a mapping with a name")),
        (with_container(image=5), (at_container("image"), "must be a string")),
        *[
            (with_container(**{key: "x"}), (at_container(key), "must be a list"))
            for key in ("command", "args", "env", "ports", "volumeMounts")
        ],
        *[
            (with_container(**{key: []}), (at_container(key), MAPPING))
            for key in ("lifecycle", "readinessProbe", "livenessProbe", "startupProbe")
        ],
        (with_container(env=["A=1"]), (at_container("env", 0), MAPPING)),
        (with_container(env=[{"name": "A", "value": 1}]), (at_container("env", 0, "value"), QUOTE)),
        (with_container(ports=[{}, 8000]), (at_container("ports", 1), MAPPING)),
        (with_container(command=["a", None]), (at_container("command", 1), QUOTE)),
        (with_container(args=["--port", 8000]), (at_container("args", 1), QUOTE)),
        (with_container(lifecycle={"preStop": "x"}), (at_container("lifecycle", "preStop"), MAPPING)),
        (with_container(lifecycle={"postStart": []}), (at_container("lifecycle", "postStart"), MAPPING)),
    ],
)
def test_what_no_pod_can_have_is_found_at_its_place(template, wrong):
    """The first place is named, with what would be right."""
    assert malformed(template) == wrong


@pytest.mark.parametrize(
    "template",
    [
        {},
        {"metadata": None, "spec": None},
        {"metadata": {"labels": None, "annotations": {}}, "spec": {"containers": None, "nodeSelector": None}},
        {"spec": {"containers": [], "terminationGracePeriodSeconds": 0}},
        with_container(image=None, args=None, env=[{"name": "A", "valueFrom": {}}, {}], lifecycle={"preStop": None}),
        with_container(**{"example.com/unknown": 5}, ports=[{"containerPort": "x"}], resources="x"),
        INNER,
    ],
)
def test_a_template_may_lack_anything(template):
    """Null, absence and unknown fields are no faults of type."""
    assert malformed(template) is None


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ({}, None),
        ({"metadata": None, "spec": None}, None),
        ({"metadata": {"annotations": {names.MIRROR_POD: ""}}}, Reason.MIRROR_POD),
        ({"spec": {"os": {"name": "windows"}}}, Reason.WINDOWS_POD),
        ({"spec": {"os": {"name": "linux"}}}, None),
        ({"spec": {"nodeSelector": {"kubernetes.io/os": "windows"}}}, Reason.WINDOWS_POD),
        ({"spec": {"nodeSelector": {"beta.kubernetes.io/os": "windows"}}}, Reason.WINDOWS_POD),
        ({"spec": {"nodeSelector": {"kubernetes.io/os": "linux"}}}, None),
        ({"spec": {"nodeSelector": {"team": "windows"}}}, None),
        (owned({"kind": "Job"}), Reason.BATCH_JOB),
        (owned({"kind": "ReplicaSet"}, {"kind": "Job"}), Reason.BATCH_JOB),
        (owned({"kind": "ReplicaSet"}, None, 5), None),
        ({"metadata": {"ownerReferences": 5}}, None),
    ],
)
def test_some_pods_no_webhook_may_touch(template, reason):
    """Mirror pods, Windows pods and pods of a Job are left alone."""
    assert is_left_alone(template) is reason


@pytest.mark.parametrize(
    ("obj", "found"),
    [(owned({"kind": "A"}, None, "x"), [{"kind": "A"}]), ({"metadata": {"ownerReferences": "x"}}, []), ({}, [])],
)
def test_owners_are_mappings(obj, found):
    """What is no owner reference counts as absent."""
    assert owners(obj) == found
