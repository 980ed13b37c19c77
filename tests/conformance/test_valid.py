"""What comes out is valid for Kubernetes wherever what went in was (schemas of several releases)."""

from __future__ import annotations

import copy

import kubernetes_validate
import pytest

from tests.conformance.case import all_cases
from webhook.core.admission import decide
from webhook.core.decision import Policy, Request
from webhook.core.patch import apply

KINDS = {"Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "PodTemplate"}


def sound(document, release):
    """Say whether a document fits the schema of a release; a status says nothing of a manifest."""
    try:
        kubernetes_validate.validate(document, release, strict=True)
    except kubernetes_validate.ValidationError:
        return False
    return True


def check(cases, release):
    """Check the cases whose manifests are valid, and return how many those are."""
    checked = 0
    for case in cases:
        for document in () if case.is_text else case.documents:
            before = copy.deepcopy(document)
            if document.get("kind") not in KINDS or not sound(before, release):
                continue
            policy = Policy("0.0.0", tuple(map(int, release.split("."))))
            decision = decide(Request(document), case.catalog, policy)
            after = apply(document, getattr(decision, "operations", ()))
            assert sound(after, release), case.name
            checked += 1
    return checked


def test_valid_manifests_stay_valid():
    first = {case.folder.parent: case for case in reversed(all_cases())}
    assert check(first.values(), "1.34") >= 15


@pytest.mark.slow
@pytest.mark.parametrize("release", ["1.28", "1.30", "1.34", "1.37"])
def test_all_valid_manifests_stay_valid(release):
    assert check(all_cases(), release) > 100
