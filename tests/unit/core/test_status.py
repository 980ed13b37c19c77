"""status: what became of our changes on a pod."""

from __future__ import annotations

import json

import pytest

from tests.unit.core.engines import pod
from webhook import names
from webhook.core.budget import GRACE_PLACE
from webhook.core.decision import Allow, Finding, Level, Outcome, Patch, Reason
from webhook.core.status import decode, status_findings

HOOK = "spec.containers[0].lifecycle.preStop"
STATUS = {
    "version": "1.0",
    "profile": "own@0123abcd",
    "budget": {"grace": 120},
    "changed": [HOOK, GRACE_PLACE],
    "reasons": ["hook_exec"],
}
AT = f"metadata.annotations[{names.STATUS}]"
NOT_OURS = "another webhook or user changed what drainhook had set"


def patch(*paths, **changes):
    """Return a decision that changes places of a pod, with the status that it would have."""
    operations = tuple({"op": "add", "path": path, "value": 1} for path in paths)
    return Patch(operations, (Outcome("", ()), Outcome("", (), STATUS | changes)))


def find(decision, status=STATUS, *, is_admitted=True):
    """Return (reason, path, message) of each finding about a pod with a status."""
    text = status if isinstance(status, str) else json.dumps(status)
    found = status_findings(pod(annotations={"status": text}), decision, is_admitted=is_admitted)
    return [(item.reason, item.path, item.message) for item in found]


@pytest.mark.parametrize("text", [None, "", "{", "null", "5", "[]", '"x"', "{}", "9" * 5000, "[" * 100_000])
def test_what_drainhook_did_not_write_is_no_status(text):
    """No text, however long or deep, raises."""
    assert decode(text) is None


@pytest.mark.parametrize("value", [{"changed": 5}, {"changed": {}}, {"reasons": None}, {"reasons": "x"}])
def test_a_status_has_lists(value):
    """Its lists are looked into, so they must be lists."""
    assert decode(json.dumps(STATUS | value)) is None


def test_a_status_is_decoded():
    """What drainhook wrote is read back."""
    assert decode(json.dumps(STATUS)) == STATUS


def test_a_pod_that_needs_no_change_is_in_order():
    """Nothing is said, whatever its status holds."""
    assert find(Allow(), "garbage") == []


def test_a_pod_that_came_past_the_webhook_is_reported():
    """The label asks for a hook, and there is none."""
    message = "the label asks for a drain hook, but the pod came past the webhook without one"
    finding = Finding(Reason.NOT_PATCHED, Level.WARNING, f"metadata.labels[{names.BACKEND}]", message)
    assert status_findings(pod(), patch("/spec/x"), is_admitted=True) == [finding]


def test_a_manifest_has_not_met_the_webhook_yet():
    """Without a status nothing is wrong with it."""
    assert status_findings(pod(), patch("/spec/x"), is_admitted=False) == []


@pytest.mark.parametrize("status", ["garbage", "{}", "5"])
def test_a_status_of_somebody_else_is_reported(status):
    """It is not what drainhook wrote."""
    assert find(patch("/spec/x"), status) == [(Reason.STATUS_MISMATCH, AT, "is not what drainhook wrote")]


@pytest.mark.parametrize("key", ["version", "profile"])
def test_a_status_of_another_version_proves_nothing(key):
    """After an upgrade the old pods are what the old version made."""
    assert find(patch("/spec/containers/0/lifecycle/preStop"), STATUS | {key: "old"}) == []


@pytest.mark.parametrize(
    ("decision", "status", "found"),
    [
        (patch("/spec/containers/0/lifecycle/preStop"), STATUS, [(HOOK, NOT_OURS)]),
        (patch("/spec/terminationGracePeriodSeconds"), STATUS, [(GRACE_PLACE, NOT_OURS)]),
        (patch("/spec/containers/0/lifecycle/preStop/exec"), STATUS, [(HOOK, NOT_OURS)]),
        (patch("/spec/x", changed=[GRACE_PLACE]), STATUS, [(HOOK, NOT_OURS)]),
        (patch("/spec/x", budget={"grace": 300}), STATUS, [(GRACE_PLACE, NOT_OURS)]),
        (patch("/spec/containers/0/lifecycle/preStop"), STATUS | {"budget": 5}, [(GRACE_PLACE, NOT_OURS)]),
        (patch("/metadata/annotations/x~1y"), STATUS, [(AT, "disagrees with the pod's spec")]),
        (patch("/\u00b2/x"), STATUS, [(AT, "disagrees with the pod's spec")]),
        (patch("/spec/x"), STATUS | {"changed": [5, None, HOOK, GRACE_PLACE]}, [(AT, "disagrees with the pod's spec")]),
    ],
)
def test_a_change_of_what_was_ours_is_reported(decision, status, found):
    """The place that differs is named; another grace period explains another hook."""
    assert find(decision, status) == [(Reason.STATUS_MISMATCH, *item) for item in found]
