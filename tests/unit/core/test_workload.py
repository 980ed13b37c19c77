"""workload: where pod templates sit in each kind."""

from __future__ import annotations

import pytest

from tests.unit.core.engines import pod
from webhook.core.workload import (
    KINDS,
    Template,
    is_batch,
    is_list,
    kind_of,
    members,
    templates,
)

POD = pod()
INNER = {"metadata": POD["metadata"], "spec": POD["spec"]}
RAY = {"headGroupSpec": {"template": INNER}, "workerGroupSpecs": [{"template": INNER}, {"template": INNER}]}


def labels(*tokens):
    """Return the place of a template's labels."""
    return (*tokens, "metadata", "labels")


@pytest.mark.parametrize(
    ("obj", "kind"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, ("", "Pod")),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, ("apps", "Deployment")),
        ({"apiVersion": "a/b/v1", "kind": "X"}, ("a/b", "X")),
        ({"kind": "Pod"}, ("", "Pod")),
        ({"apiVersion": None, "kind": None}, ("", "")),
        ({"apiVersion": 1, "kind": 2}, ("", "2")),
        ({}, ("", "")),
    ],
)
def test_a_kind_is_group_and_name(obj, kind):
    """The version does not matter, and nothing is required."""
    assert kind_of(obj) == kind


@pytest.mark.parametrize(
    ("api", "kind", "batch"),
    [
        ("batch/v1", "Job", True),
        ("batch/v1", "CronJob", True),
        ("ray.io/v1", "RayJob", True),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", True),
        ("apps/v1", "Deployment", False),
        ("example.com/v1", "Job", False),
    ],
)
def test_what_ends_by_itself_is_batch(api, kind, batch):
    """Jobs of every family are recognised, and an unknown group's is not one."""
    assert is_batch({"apiVersion": api, "kind": kind}) is batch


@pytest.mark.parametrize(
    ("obj", "found"),
    [
        ({"kind": "List", "items": []}, True),
        ({"kind": "PodList", "items": []}, True),
        ({"kind": "List", "items": None}, False),
        ({"kind": "List"}, False),
        ({"kind": "Pod", "items": []}, False),
    ],
)
def test_a_list_has_items(obj, found):
    """The name alone makes none."""
    assert is_list(obj) is found


def test_the_members_of_a_list_have_their_places():
    """Lists within lists are followed, and what is no object is passed over."""
    inner = {"kind": "List", "items": [{"kind": "B"}]}
    root = {"kind": "List", "items": [{"kind": "A"}, None, 5, inner]}
    assert list(members(root)) == [(("items", 0), {"kind": "A"}), (("items", 3, "items", 0), {"kind": "B"})]
    assert list(members({"kind": "A"})) == [((), {"kind": "A"})]


def test_lists_are_followed_only_so_deep():
    """Three thousand lists within each other cost no recursion."""
    root = {"kind": "List", "items": []}
    for _ in range(3000):
        root = {"kind": "List", "items": [root]}
    assert [len(at) for at, _ in members(root)] == [16]


@pytest.mark.parametrize(
    ("obj", "found"),
    [
        (POD, [Template((), labels())]),
        (
            {"apiVersion": "v1", "kind": "PodTemplate", "template": INNER},
            [Template(("template",), labels("template"))],
        ),
        *[
            (
                {"apiVersion": api, "kind": kind, "spec": {"template": INNER}},
                [Template(("spec", "template"), labels("spec", "template"))],
            )
            for api, kind in [
                ("v1", "ReplicationController"),
                ("apps/v1", "Deployment"),
                ("apps/v1", "StatefulSet"),
                ("apps/v1", "ReplicaSet"),
                ("apps/v1", "DaemonSet"),
                ("argoproj.io/v1alpha1", "Rollout"),
            ]
        ],
        ({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": None}}, []),
        ({"apiVersion": "apps/v1", "kind": "Deployment", "spec": []}, []),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, []),
    ],
)
def test_a_workload_has_one_template(obj, found):
    """It sits where the kind has it, and nowhere where that place holds no mapping."""
    assert templates(obj) == found


def test_a_leader_and_its_workers():
    """Of a LeaderWorkerSet the leader's requests count; its workers are members of the group."""
    spec = {"leaderWorkerTemplate": {"leaderTemplate": INNER, "workerTemplate": INNER}}
    obj = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "spec": spec}
    leader = ("spec", "leaderWorkerTemplate", "leaderTemplate")
    worker = ("spec", "leaderWorkerTemplate", "workerTemplate")
    assert templates(obj) == [Template(leader, labels(*leader)), Template(worker, labels(*worker), worker=True)]


@pytest.mark.parametrize(
    ("kind", "spec", "at"),
    [
        ("RayCluster", RAY, ("spec",)),
        ("RayService", {"rayClusterConfig": RAY}, ("spec", "rayClusterConfig")),
    ],
)
def test_a_ray_cluster_has_a_head_and_groups(kind, spec, at):
    """Every group of workers has a template of its own."""
    head = (*at, "headGroupSpec", "template")
    groups = [(*at, "workerGroupSpecs", number, "template") for number in (0, 1)]
    assert templates({"apiVersion": "ray.io/v1", "kind": kind, "spec": spec}) == [
        Template(head, labels(*head)),
        *[Template(group, labels(*group), worker=True) for group in groups],
    ]


@pytest.mark.parametrize("groups", [None, 5, {}, [None], [{"template": 5}]])
def test_groups_of_a_wrong_type_have_no_templates(groups):
    """Nothing is found, and nothing fails."""
    assert templates({"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": {"workerGroupSpecs": groups}}) == []


@pytest.mark.parametrize(
    ("api", "kind", "at"),
    [
        ("serving.knative.dev/v1", "Service", ("spec", "template", "metadata", "labels")),
        ("serving.kserve.io/v1alpha1", "ServingRuntime", ("spec", "labels")),
        ("serving.kserve.io/v1alpha1", "ClusterServingRuntime", ("spec", "labels")),
        ("serving.kserve.io/v1beta1", "InferenceService", ("spec", "predictor", "labels")),
    ],
)
def test_of_some_kinds_only_the_label_may_be_written(api, kind, at):
    """They lack the fields of a pod, whether or not the place is there."""
    assert templates({"apiVersion": api, "kind": kind}) == [Template(at[:-1], at, writable=False)]


@pytest.mark.parametrize(
    ("obj", "places"),
    [
        ({"kind": "X", "spec": {"template": INNER}}, [("spec", "template")]),
        ({"kind": "X", "spec": {"groups": [{"pod": INNER}, {"pod": INNER}]}}, [
            ("spec", "groups", 0, "pod"), ("spec", "groups", 1, "pod"),
        ]),
        ({"kind": "X", "a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": INNER}}}}}}}}, [tuple("abcdefgh")]),
        ({"kind": "X", "a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": INNER}}}}}}}}}, []),
        ({"kind": "X", **INNER}, []),
        ({"kind": "X", "t": {"spec": {"containers": []}}}, []),
        ({"kind": "X", "t": {"spec": {"containers": [{"name": "a"}]}}}, []),
        ({"kind": "X", "t": {"spec": {"containers": [{"name": "a", "image": "b"}, 5]}}}, []),
        ({"kind": "X", "t": {"spec": {"containers": "x"}}}, []),
        ({"kind": "X", None: INNER, 5: INNER}, []),
        ({}, []),
    ],
)  # fmt: skip
def test_in_an_unknown_kind_a_template_is_found_by_its_shape(obj, places):
    """Containers with names and images below some key, not too deep."""
    assert templates(obj) == [Template(at, labels(*at), guessed=True) for at in places]


def test_a_templates_path_is_its_field_path():
    """It is empty for a Pod."""
    assert [Template(at, ()).path for at in ((), ("items", 0, "spec", "template"))] == ["", "items[0].spec.template"]


def test_the_table_names_no_kind_without_a_place():
    """A kind has templates, or a place for labels, or is left alone."""
    assert [key for key, kind in KINDS.items() if not (kind.templates or kind.labels or kind.batch)] == []
