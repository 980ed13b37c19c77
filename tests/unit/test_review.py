"""AdmissionReview to values and back, without HTTP."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.core.decision import Allow, Cause, Deny, Finding, Level, Outcome, Patch, Reason, Request
from webhook.core.review import (
    OLD_VERSION,
    OLD_VERSION_MESSAGE,
    VERSION,
    WARNING_CHARACTERS,
    Review,
    ReviewFault,
    cause_text,
    clean,
    open_answer,
    parse,
    reasons,
    respond,
    warnings,
)

REVIEW = Review(Request(object={}, uid="u", kind="Deployment", name="x"), group="apps")
OPERATION = {"op": "add", "path": "/spec/x", "value": 1}
PATCHED = Outcome("", (Reason.HOOK_EXEC, Reason.GRACE_RAISED))
LIMIT = 4096


def encode(value):
    return json.dumps(value).encode()


def finding(message="must be positive", path="spec.x", *, level=Level.WARNING, value=None, cause=Cause.INVALID):
    return Finding(Reason.BAD_OVERRIDE, level, path, message, value, cause)


def error(message="must be positive", path="spec.x", **rest):
    return finding(message, path, level=Level.ERROR, **rest)


def sent(**request):
    return {"apiVersion": VERSION, "kind": "AdmissionReview", "request": {"uid": "u", **request}}


def test_takes_every_field_of_a_full_review():
    document = sent(
        operation="UPDATE",
        namespace="n",
        name="x",
        kind={"group": "apps", "version": "v1", "kind": "Deployment"},
        subResource="scale",
        userInfo={"username": "alice"},
        object={"a": 1},
        oldObject={"a": 0},
        dryRun=True,
        options={"unknown": "field"},
    )

    assert parse(document) == Review(
        Request(
            object={"a": 1},
            namespace="n",
            operation="UPDATE",
            old={"a": 0},
            uid="u",
            name="x",
            kind="Deployment",
            subresource="scale",
            user="alice",
            dry_run=True,
        ),
        "apps",
        VERSION,
    )


def test_takes_a_review_that_holds_a_uid_and_nothing_else():
    assert parse(sent()) == Review(Request(object=None, operation="", uid="u"))


@pytest.mark.parametrize("value", [None, 7, [], {}, True])
def test_wrong_types_of_optional_fields_count_as_missing(value):
    keys = ("operation", "namespace", "name", "kind", "subResource", "userInfo", "oldObject")
    wrong = {key: value for key in keys if key != "oldObject"}

    assert parse(sent(**wrong, dryRun="yes")) == Review(Request(object=None, operation="", uid="u"))


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"generateName": "llm-"}, "llm-*"),
        ({"name": "llm-1", "generateName": "llm-"}, "llm-1"),
        ({}, ""),
        (None, ""),
        ({"generateName": 7}, ""),
    ],
)
def test_m18_a_name_that_is_yet_to_be_made_is_the_prefix_with_a_star(metadata, name):
    assert parse(sent(object={"metadata": metadata})).request.name == name


def test_m18_the_objects_own_namespace_is_not_taken():
    assert parse(sent(object={"metadata": {"namespace": "other"}})).request.namespace == ""


def test_the_old_version_is_a_fault_that_can_be_answered():
    assert parse({**sent(), "apiVersion": OLD_VERSION}) == ReviewFault(OLD_VERSION_MESSAGE, "u", OLD_VERSION)


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "x",
        {},
        {**sent(), "kind": "Pod"},
        {**sent(), "apiVersion": "v1"},
        {**sent(), "request": None},
        sent(uid=""),
    ],
)
def test_what_has_no_uid_is_a_fault_without_uid(document):
    fault = parse(document)

    assert (fault.uid, fault.message[-1]) == ("", ".")


def test_allow_is_answered_with_uid_and_allowed():
    assert respond(REVIEW, Allow(), encode) == {
        "apiVersion": VERSION,
        "kind": "AdmissionReview",
        "response": {"uid": "u", "allowed": True, "auditAnnotations": {"decision": "allow"}},
    }


def test_patch_is_answered_in_base64_with_its_type():
    response = respond(REVIEW, Patch((OPERATION,), (PATCHED,)), encode)["response"]

    assert response == {
        "uid": "u",
        "allowed": True,
        "patchType": "JSONPatch",
        "patch": base64.b64encode(encode([OPERATION])).decode(),
        "auditAnnotations": {"decision": "patch", "reason": "hook_exec,grace_raised"},
    }


def test_w3_a_patch_without_operations_is_an_allow():
    response = respond(REVIEW, Patch((), (PATCHED,)), encode)["response"]

    assert (response["auditAnnotations"]["decision"], "patch" in response, "patchType" in response) == (
        "allow",
        False,
        False,
    )


def test_deny_is_answered_as_kubernetes_refuses_built_in_kinds():
    findings = (
        error("must be between 1 and 86400", "spec.a", value="-5"),
        error("", "spec.b", cause=Cause.REQUIRED),
        finding("long", "spec.c"),
    )

    response = respond(REVIEW, Deny(findings), encode)["response"]

    assert response == {
        "uid": "u",
        "allowed": False,
        "status": {
            "metadata": {},
            "status": "Failure",
            "code": 422,
            "reason": "Invalid",
            "message": '[spec.a: Invalid value: "-5": must be between 1 and 86400, spec.b: Required value]',
            "details": {
                "group": "apps",
                "kind": "Deployment",
                "name": "x",
                "causes": [
                    {
                        "reason": "FieldValueInvalid",
                        "message": 'Invalid value: "-5": must be between 1 and 86400',
                        "field": "spec.a",
                    },
                    {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.b"},
                ],
            },
        },
        "warnings": ["drainhook: spec.c: long"],
        "auditAnnotations": {"decision": "deny", "reason": "bad_override"},
    }


def test_one_cause_is_not_bracketed():
    status = respond(REVIEW, Deny((error(value=0),)), encode)["response"]["status"]

    assert status["message"] == "spec.x: Invalid value: 0: must be positive"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (error("m", value="x"), 'Invalid value: "x": m'),
        (error("m", value=0), "Invalid value: 0: m"),
        (error("m", value=True), "Invalid value: true: m"),
        (error("m", value={"a": [1]}), 'Invalid value: {"a":[1]}: m'),
        (error("m"), "Invalid value: m"),
        (error("", value="x"), 'Invalid value: "x"'),
        (error("m", value="x", cause=Cause.REQUIRED), "Required value: m"),
        (error("m", value="x", cause=Cause.FORBIDDEN), "Forbidden: m"),
        (
            error('supported values: "a"', value="x", cause=Cause.NOT_SUPPORTED),
            'Unsupported value: "x": supported values: "a"',
        ),
        (error("", value="x", cause=Cause.DUPLICATE), 'Duplicate value: "x"'),
        (error("a\nb", value="x\ny"), 'Invalid value: "x\\ny": a b'),
    ],
)
def test_a_cause_reads_like_kubernetes_own(given, text):
    assert cause_text(given) == text


def test_w13_errors_come_first_and_denied_ones_not_twice():
    found = [finding("b"), error("a")]

    assert warnings(found) == ["drainhook: spec.x: a", "drainhook: spec.x: b"]
    assert warnings(found, denied=True) == ["drainhook: spec.x: b"]


def test_w13_the_same_warning_is_said_once():
    assert warnings([finding("a"), finding("a")]) == ["drainhook: spec.x: a"]


def test_w13_a_finding_without_path_is_its_message():
    assert warnings([finding("a", "")]) == ["drainhook: a"]


def test_notes_come_before_findings():
    assert warnings([finding("a")], notes=["n"]) == ["drainhook: n", "drainhook: spec.x: a"]


@given(st.lists(st.text(max_size=600), max_size=40))
def test_w13_warnings_stay_within_the_servers_limits(messages):
    """One with a newline or a tab would be dropped whole, and so would all beyond the total."""
    texts = warnings([finding(message) for message in messages])

    assert all(text.isprintable() and len(text) <= WARNING_CHARACTERS for text in texts)
    assert sum(map(len, texts)) <= LIMIT
    assert bool(texts) == bool(messages)


def test_w13_what_does_not_fit_is_counted():
    texts = warnings([finding(f"{number} " + "x" * 300) for number in range(40)])

    assert texts[-1] == f"drainhook: {40 - len(texts) + 1} more warnings; `drainhook validate` lists all."
    assert [len(text) for text in texts[:-1]] == [WARNING_CHARACTERS] * (len(texts) - 1)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb", "a b"),
        ("a\t\tb", "a b"),
        ("\x1b[31mred\x7f", "[31mred"),
        ("\u202eabc", "abc"),
        ("  a  ", "a"),
        ("é 日本", "é 日本"),
    ],
)
def test_clean_leaves_one_printable_line(text, line):
    assert clean(text) == line


def test_reasons_are_said_once_in_order():
    decision = Patch((OPERATION,), (PATCHED, PATCHED), (finding(), finding("b")))

    assert reasons(decision) == ["hook_exec", "grace_raised", "bad_override"]


def test_open_answer_allows_with_one_warning():
    assert open_answer("u", VERSION, "no\ngood") == {
        "apiVersion": VERSION,
        "kind": "AdmissionReview",
        "response": {"uid": "u", "allowed": True, "warnings": ["drainhook: no good"]},
    }
