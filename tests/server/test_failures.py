"""What our own failures mean: rows W5 (a patch is proven before it is sent) and W6 (a bug of ours never refuses)."""

from __future__ import annotations

import json

import pytest

from tests.server.reviews import pod, review, well_formed
from webhook.core.admission import decide, validate
from webhook.core.decision import Deny, Finding, Level, Outcome, Patch, Reason
from webhook.server.app import FAILED, UNPROVEN, Endpoint
from webhook.server.log import Log

UID = review(None)["request"]["uid"]
SECRET = "hf_do_not_log_me"
OUTCOME = Outcome("", (Reason.HOOK_EXEC,))


def answer(context, decider, path="mutate"):
    endpoint = Endpoint(context, path, decider, Patch if path == "mutate" else Deny)
    response = endpoint.answer(json.dumps(review(pod())).encode())
    assert response.status_code == 200
    return well_formed(json.loads(response.body), UID)


@pytest.mark.parametrize(
    "operations",
    [
        ({"op": "add", "path": "/spec/missing/parent", "value": 1},),
        ({"op": "add", "path": "/spec/containers/9", "value": {}},),
        ({"op": "replace", "path": "/spec/nothing", "value": 1},),
        ({"op": "add", "path": "", "value": {}},),
        ({"op": "add", "path": "/metadata/labels/app", "value": "x"},),
    ],
    ids=["no-parent", "past-the-end", "replace", "whole-document", "result-would-be-patched-again"],
)
def test_w5_a_patch_that_does_not_prove_itself_is_held_back(context, lines, operations):
    response = answer(context, lambda *_: Patch(operations, (OUTCOME,)))

    assert response["allowed"] is True
    assert "patch" not in response
    assert response["warnings"] == [f"drainhook: {UNPROVEN}"]
    assert context.metrics.registry.get_sample_value("drainhook_patch_proof_failures_total") == 1
    assert (lines[-1]["level"], lines[-1]["decision"], lines[-1]["uid"]) == ("error", "unproven", UID)


def test_w5_a_good_patch_passes_its_proof(context):
    response = answer(context, decide)

    assert response["patchType"] == "JSONPatch"
    assert context.metrics.registry.get_sample_value("drainhook_patch_proof_failures_total") == 0


def broken(*_):
    raise KeyError(SECRET)


def endless(*_):
    return endless()


@pytest.mark.parametrize("path", ["mutate", "validate"])
@pytest.mark.parametrize("decider", [broken, endless])
def test_w6_a_bug_of_ours_allows_with_a_warning(context, lines, path, decider):
    response = answer(context, decider, path)

    assert response == {
        "uid": UID,
        "allowed": True,
        "warnings": [f"drainhook: {FAILED.format(uid=UID)}"],
    }
    value = context.metrics.registry.get_sample_value
    assert value("drainhook_admission_errors_total", {"path": path}) == 1
    labels = {"path": path, "operation": "CREATE", "decision": "error"}
    assert value("drainhook_admission_requests_total", labels) == 1
    assert (lines[-1]["level"], lines[-1]["uid"], len(lines[-1]["frames"]) > 0) == ("error", UID, True)


def test_w6_mutation_never_denies(context):
    response = answer(context, lambda *_: Deny((Finding(Reason.BAD_OVERRIDE, Level.ERROR, "spec", "no"),)))

    assert response["allowed"] is True


def test_w6_validation_never_patches(context):
    operation = {"op": "add", "path": "/spec/x", "value": 1}

    response = answer(context, lambda *_: Patch((operation,), (OUTCOME,)), "validate")

    assert response["allowed"] is True
    assert "patch" not in response


def test_o3_what_an_exception_says_is_logged_at_debug_only(context, lines):
    answer(context, broken)

    assert SECRET not in json.dumps(lines)


def test_o3_debug_says_it(context, lines):
    debugging = type(context)(
        context.catalog,
        context.policy,
        context.metrics,
        Log("debug", lambda line: lines.append(json.loads(line))),
        context.health,
    )

    answer(debugging, broken)

    assert SECRET in lines[-1]["message"]


def test_both_endpoints_call_the_core(context):
    assert answer(context, decide)["auditAnnotations"]["decision"] == "patch"
    assert answer(context, validate, "validate")["auditAnnotations"]["decision"] == "allow"
