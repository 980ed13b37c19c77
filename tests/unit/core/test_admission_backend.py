"""admission: which backend a pod has, and which of its containers is the server."""

from __future__ import annotations

import pytest

from tests.unit.core.decisions import ENABLED, LABEL, left, patched, warning
from tests.unit.core.engines import (
    CATALOG,
    IMAGE,
    OTHER_IMAGE,
    OWN,
    POLICY,
    catalog,
    container,
    pod,
    profile,
    request,
)
from webhook import names
from webhook.core.admission import decide
from webhook.core.decision import Finding, Level, Policy, Reason, Rule

UNKNOWN = container(image=OTHER_IMAGE)
SIDE = container("side", OTHER_IMAGE)


@pytest.mark.parametrize(
    ("document", "namespace", "annotations", "rules", "profile_name"),
    [
        # the pod's label
        (pod(), {}, {}, (), "own"),
        (pod(), ENABLED, {names.BACKEND: "rival"}, (Rule("rival"),), "own"),
        (pod(backend="auto"), {}, {}, (), "own"),
        # the namespace's annotation
        (pod(backend=None), ENABLED, {names.BACKEND: "own"}, (Rule("rival"),), "own"),
        (pod(backend=None), ENABLED, {names.BACKEND: "auto"}, (Rule("rival"),), "own"),
        # the first rule that fits
        (pod(backend=None), ENABLED, {}, (Rule("own"), Rule("rival")), "own"),
        (pod(backend=None), ENABLED, {names.BACKEND: ""}, (Rule("own"),), "own"),
        (pod(backend=None), ENABLED, {names.BACKEND: 5}, (Rule("own"),), "own"),
        (pod(backend=None), ENABLED, {}, (Rule("rival", {"team": "b"}), Rule("own")), "own"),
        (pod(backend=None), ENABLED, {}, (Rule("rival", {}, {"app": "b"}), Rule("own")), "own"),
        (pod(backend=None), ENABLED, {}, (Rule("rival", {}, {}, "*nothing*"), Rule("own")), "own"),
        (pod(backend=None), ENABLED | {"team": "a"}, {}, (Rule("own", {"team": "a"}), Rule("rival")), "own"),
        (pod(backend=None, labels={"app": "a"}), ENABLED, {}, (Rule("own", {}, {"app": "a"}), Rule("rival")), "own"),
        # a rule's image counts as a match
        (pod(UNKNOWN, SIDE, backend=None), ENABLED, {}, (Rule("own", image="*nothing*"), Rule("rival")), None),
        (pod(UNKNOWN, backend=None), ENABLED, {}, (Rule("own", image="team/*"),), "own"),
        # else auto
        (pod(backend=None), ENABLED, {}, (), "own"),
    ],
)
def test_the_backend_comes_from_the_first_place_that_says_it(document, namespace, annotations, rules, profile_name):
    """Pod label > namespace annotation > rules > auto; all but the label only in an enabled namespace."""
    found = decide(
        request(document, labels=namespace, annotations=annotations),
        CATALOG,
        Policy("1.0", rules=rules),
    )
    statuses = [outcome.status["profile"].split("@")[0] for outcome in found.outcomes if outcome.status]
    assert statuses == [profile_name] * (profile_name is not None)


@pytest.mark.parametrize("namespace", [{}, {names.INJECT: "disabled"}, {names.INJECT: "true"}, {names.INJECT: None}])
def test_without_the_namespaces_label_nothing_of_it_counts(namespace):
    """Neither its annotation nor a rule makes a pod a candidate."""
    policy = Policy("1.0", rules=(Rule("own"),))
    assert left(pod(backend=None), namespace, {names.BACKEND: "own"}, policy) == ([Reason.NOT_LABELLED], [])


def test_a_namespaces_budget_is_a_default():
    """The pod's own annotation beats it."""
    defaults = {names.DRAIN: "200", names.SETTLE: "20"}
    document = pod(annotations={"settle-seconds": "5"})
    assert patched(document, {}, defaults)["budget"] == {"settle": 5, "drain": 200, "reserve": 15, "grace": 220}


@pytest.mark.parametrize(
    ("containers", "annotations", "chosen"),
    [
        ([container("a"), SIDE], {}, "a"),
        ([SIDE, container("b")], {}, "b"),
        ([UNKNOWN], {}, "server"),
        ([UNKNOWN, container("b", "x/proxy:1")], {}, "server"),
        ([UNKNOWN, {**SIDE, "ports": [{"containerPort": 8000}]}], {}, "side"),
        ([UNKNOWN, SIDE], {"container": "side"}, "side"),
        ([container("a"), SIDE], {"container": "side"}, "side"),
        ([container("a"), SIDE], {"container": "nothing"}, "a"),
        ([container("a"), container("b")], {}, "a,b"),
        ([container("a"), container("b")], {"container": "b"}, "b"),
    ],
)
def test_the_servers_container_is_found(containers, annotations, chosen):
    """The annotation, the match, the only one that is left, the owner of the port."""
    assert patched(pod(*containers, annotations=annotations))["container"] == chosen


def test_an_annotation_that_names_no_container_is_an_error():
    """The finding names those that there are."""
    found = decide(request(pod(container("a"), SIDE, annotations={"container": "b"})), CATALOG, POLICY)
    message = "names no container of the pod (it has a, side)"
    path = f"metadata.annotations[{names.CONTAINER}]"
    assert found.findings == (Finding(Reason.BAD_OVERRIDE, Level.ERROR, path, message, "b"),)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (pod(UNKNOWN, SIDE), Reason.SERVER_AMBIGUOUS),
        (pod(container(image="x/rival")), Reason.WRONG_ENGINE),
        (pod(container(args=["--headless"])), Reason.WRONG_ENGINE),
        (pod(container("a"), container("b", "x/web-ui"), annotations={"container": "b"}), Reason.WRONG_ENGINE),
        (pod(container("a", "x/mesh"), container("b", "x/web-ui")), Reason.WRONG_ENGINE),
        ({**pod(), "spec": {"containers": []}}, Reason.NO_ENGINE_FOUND),
        ({**pod(), "spec": {"containers": None, "initContainers": [container()]}}, Reason.NO_ENGINE_FOUND),
        ({**pod(), "spec": None}, Reason.NO_ENGINE_FOUND),
    ],
)
def test_no_container_is_guessed_for_a_labelled_pod(document, reason):
    """It is left alone, and warned about."""
    finding = warning(reason, LABEL, f"not patched: {reason.sentence}", "own")
    assert left(document) == ([reason], [finding])


def test_auto_that_finds_nothing_is_warned_about_where_the_pod_asks():
    """In an enabled namespace most pods are no engines, so there it is silent."""
    message = "no container's command or image is that of one known engine: name the backend"
    finding = warning(Reason.NO_ENGINE_FOUND, LABEL, message, "auto")
    assert left(pod(UNKNOWN, backend="auto")) == ([Reason.NO_ENGINE_FOUND], [finding])
    assert left(pod(UNKNOWN, backend=None), ENABLED) == ([Reason.NO_ENGINE_FOUND], [])


@pytest.mark.parametrize(
    ("document", "rules"),
    [
        (pod(UNKNOWN, backend=None), (Rule("own"),)),
        (pod(UNKNOWN, backend=None, labels={names.BACKEND: ""}), (Rule("own"),)),
        (pod(container("p", "x/proxy:1"), UNKNOWN, backend=None), (Rule("own", image="*proxy*"),)),
        (pod(container(image="x/rival"), backend=None), (Rule("own"),)),
    ],
)
def test_a_backend_that_is_not_the_pods_own_needs_a_match(document, rules):
    """A pod that nobody labelled is never patched for being alone; silently, since nobody asked."""
    assert left(document, ENABLED, {}, Policy("1.0", rules=rules)) == ([Reason.NO_ENGINE_FOUND], [])


def test_findings_of_annotations_are_kept_where_nothing_is_patched():
    """A bad value is said even so."""
    document = pod(UNKNOWN, SIDE, annotations={"drain-seconds": "x"}, labels={names.PORT: "1"})
    assert [item.reason for item in left(document)[1]] == [
        Reason.BAD_OVERRIDE,
        Reason.UNKNOWN_KEY,
        Reason.SERVER_AMBIGUOUS,
    ]


def test_a_profile_of_the_users_is_decided_by_like_any_other():
    """The catalog is the only place that knows engines."""
    own = profile(name="mine", match={"images": [IMAGE.split(":")[0]], "commands": []})
    found = decide(request(pod(backend="mine")), catalog(own), POLICY)
    assert found.outcomes[0].status["profile"] == f"mine@{OWN.digest}"
