"""admission: what `/validate` says, and who is denied."""

from __future__ import annotations

import pytest

from tests.unit.core.engines import CATALOG, POLICY, container, deployment, pod, request
from webhook import names
from webhook.core.admission import decide, validate
from webhook.core.decision import Allow, Deny, Level, Outcome, Policy, Reason
from webhook.core.patch import apply

BAD = {"drain-seconds": "long"}
OWNED = {"ownerReferences": [{"kind": "X", "controller": True}]}
STRICT = Policy("1.0", (1, 28), deny_pods=True)


def owned(document):
    """Return a pod that a controller made."""
    return {**document, "metadata": {**document["metadata"], **OWNED}}


def verdict(document, operation="CREATE", policy=POLICY, **fields):
    """Return whether it is denied, and (reason, level) of each finding."""
    found = validate(request(document, operation, **fields), CATALOG, policy)
    return isinstance(found, Deny), [(str(item.reason), str(item.level)) for item in found.findings]


ERROR, WARNING = [("bad_override", "error")], [("bad_override", "warning")]


@pytest.mark.parametrize(
    ("document", "policy", "denied", "findings"),
    [
        (deployment(pod(annotations=BAD)), POLICY, True, ERROR),
        (deployment(pod(annotations=BAD), ownerReferences=[{"controller": False}]), POLICY, True, ERROR),
        (deployment(pod(annotations=BAD), ownerReferences="x"), POLICY, True, ERROR),
        (deployment(pod(annotations=BAD), **OWNED), POLICY, False, WARNING),
        (pod(annotations=BAD), POLICY, False, WARNING),
        (pod(annotations=BAD), STRICT, True, ERROR),
        (owned(pod(annotations=BAD)), STRICT, False, WARNING),
        (deployment(pod(backend="onw")), POLICY, False, [("unknown_backend", "warning")]),
        (deployment(pod()), POLICY, False, []),
        ({"kind": "ConfigMap"}, POLICY, False, []),
    ],
)
def test_who_is_denied_on_creation(document, policy, denied, findings):
    """A workload without a controlling owner; a pod only where the setting asks; an owned object never."""
    assert verdict(document, policy=policy) == (denied, findings)


@pytest.mark.parametrize(
    ("old", "denied", "findings"),
    [
        (deployment(pod()), True, ERROR),
        (deployment(pod(annotations={"drain-seconds": "longer"})), True, ERROR),
        (deployment(pod(annotations={"settle-seconds": "long"})), True, ERROR),
        (deployment(pod(annotations=BAD)), False, WARNING),
        (None, True, ERROR),
        ("x", True, ERROR),
        ({}, True, ERROR),
    ],
)
def test_an_update_is_denied_only_for_what_is_new(old, denied, findings):
    """An old fault must not keep a workload from being scaled or repaired."""
    assert verdict(deployment(pod(annotations=BAD)), "UPDATE", old=old) == (denied, findings)


@pytest.mark.parametrize(
    ("document", "operation", "subresource"),
    [
        (deployment(pod(annotations=BAD)), "DELETE", ""),
        (deployment(pod(annotations=BAD)), "", ""),
        (deployment(pod(annotations=BAD)), "UPDATE", "scale"),
        (None, "CREATE", ""),
        ([], "UPDATE", ""),
    ],
)
def test_what_is_no_creation_or_change_is_not_judged(document, operation, subresource):
    """Deletions, subresources and requests without an object are allowed."""
    found = validate(request(document, operation, subresource=subresource), CATALOG, POLICY)
    assert found == Allow((Outcome("", (Reason.OPERATION_IGNORED,)),))


def test_a_label_on_the_workload_is_said():
    """It is a warning, since nothing breaks."""
    document = deployment(pod(backend=None), labels={names.BACKEND: "own"})
    assert verdict(document) == (False, [("wrong_object", "warning")])


def admitted(change):
    """Return a pod that was patched and then changed by somebody."""
    first = pod(container(args=["--port", "9000"]))
    document = apply(first, decide(request(first), CATALOG, POLICY).operations)
    change(document["spec"])
    return document


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        (dict, []),
        (lambda spec: spec["containers"][0]["readinessProbe"].update(successThreshold=1), []),
        (lambda spec: spec["containers"][0].pop("lifecycle"), ["spec.containers[0].lifecycle.preStop"]),
        (lambda spec: spec.pop("terminationGracePeriodSeconds"), ["spec.terminationGracePeriodSeconds"]),
        (
            lambda spec: spec["containers"][0]["readinessProbe"].update(periodSeconds=60),
            ["spec.containers[0].readinessProbe"],
        ),
    ],
)
def test_what_another_webhook_changed_after_ours_is_said(change, paths):
    """The place is named; what the API server filled in is no change."""
    found = validate(request(admitted(change), uid="u"), CATALOG, POLICY)
    assert [(item.reason, item.level, item.path) for item in found.findings] == [
        (Reason.STATUS_MISMATCH, Level.WARNING, path) for path in paths
    ]


def test_a_pod_that_passed_the_webhook_unpatched_is_said():
    """Only at admission: a manifest has not met the webhook yet."""
    assert verdict(pod(), uid="u") == (False, [("not_patched", "warning")])
    assert verdict(pod()) == (False, [])


def test_the_decision_is_that_of_a_creation():
    """An update is judged by what the object would get if it were created."""
    found = validate(request(deployment(pod()), "UPDATE"), CATALOG, POLICY)
    assert [outcome.reasons[0] for outcome in found.outcomes] == [Reason.HOOK_EXEC]
