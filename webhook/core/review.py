"""AdmissionReview to values and back: parse() makes a Request, respond() turns a Decision into the answer.

Pure: JSON values in, JSON values out. What is decided stands in admission.py; bytes, HTTP and logging never come here.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from webhook.core.decision import Allow, Cause, Decision, Deny, Finding, Level, Patch, Request
from webhook.core.profile import Json

GROUP: Final = "admission.k8s.io"
VERSION: Final = f"{GROUP}/v1"
OLD_VERSION: Final = f"{GROUP}/v1beta1"
KIND: Final = "AdmissionReview"
OLD_VERSION_MESSAGE: Final = f"{OLD_VERSION} is not served, nothing was changed; set admissionReviewVersions to [v1]."

WARNING_CHARACTERS: Final = 256  # the API server may cut longer ones
WARNINGS_CHARACTERS: Final = 4096 - 256  # all of them; the API server drops what comes later, the margin is its header
PREFIX: Final = "drainhook: "

_HEADS: Final = {
    Cause.INVALID: "Invalid value",
    Cause.REQUIRED: "Required value",
    Cause.FORBIDDEN: "Forbidden",
    Cause.NOT_SUPPORTED: "Unsupported value",
    Cause.DUPLICATE: "Duplicate value",
}
_BARE: Final = (Cause.REQUIRED, Cause.FORBIDDEN)  # the API server prints no value for these


@dataclass(frozen=True, slots=True)
class Review:
    """A review that can be decided: the request, and what its answer repeats."""

    request: Request
    group: str = ""
    version: str = VERSION


@dataclass(frozen=True, slots=True)
class ReviewFault:
    """A review that cannot be decided. With a `uid` it still gets an answer that allows; without one it is a 400."""

    message: str
    uid: str = ""
    version: str = VERSION


def parse(document: Json) -> Review | ReviewFault:
    """Read an AdmissionReview; unknown fields are ignored and optional ones may be missing or null.

    | document | result |
    |---|---|
    | not an AdmissionReview of v1 or v1beta1, no request, no uid | fault without uid |
    | v1beta1 | fault with uid |
    | anything else, whatever its object is | review |
    """
    if not isinstance(document, dict):
        return ReviewFault("The body is not a JSON object.")
    version = document.get("apiVersion")
    if document.get("kind") != KIND or version not in (VERSION, OLD_VERSION):
        return ReviewFault(f"The body is not an {KIND} of {VERSION}.")
    request = document.get("request")
    if not isinstance(request, dict):
        return ReviewFault("The review has no request.")
    uid = _text(request, "uid")
    if not uid:
        return ReviewFault("The request has no uid.")
    if version == OLD_VERSION:
        return ReviewFault(OLD_VERSION_MESSAGE, uid, version)
    return _review(request, uid)


def respond(
    review: Review, decision: Decision, encode: Callable[[Json], bytes], notes: Iterable[str] = ()
) -> dict[str, Json]:
    """Answer a decided review. `encode` writes the patch as JSON; `notes` are further warnings.

    | outcome | HTTP | allowed | status |
    |---|---|---|---|
    | Allow | 200 | true | none |
    | Patch | 200 | true, with patch and patchType | none |
    | Deny | 200 | false | 422 Invalid with details.causes |
    | fault with uid, failure of our own (see open_answer) | 200 | true, with a warning | none |
    | fault without uid, not JSON | 400 | - | - |
    | wrong content type | 415 | - | - |
    | body over the limit | 413 | - | - |
    """
    response: dict[str, Json] = {"uid": review.request.uid, "allowed": not isinstance(decision, Deny)}
    if isinstance(decision, Deny):
        response["status"] = _status(review, decision.findings)
    if isinstance(decision, Patch) and decision.operations:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(encode(list(decision.operations))).decode("ascii")
    texts = warnings(decision.findings, denied=isinstance(decision, Deny), notes=notes)
    if texts:
        response["warnings"] = texts
    response["auditAnnotations"] = _audit(decision)
    return _envelope(response, review.version)


def open_answer(uid: str, version: str, message: str) -> dict[str, Json]:
    """Answer with allowed, no patch and one warning: what must happen whenever no decision could be taken."""
    return _envelope({"uid": uid, "allowed": True, "warnings": [_cut(PREFIX + clean(message))]}, version)


def reasons(decision: Decision) -> list[str]:
    """Every reason key of a decision once: those of its outcomes, then those of its findings."""
    outcomes = () if isinstance(decision, Deny) else decision.outcomes
    keys = [str(reason) for outcome in outcomes for reason in outcome.reasons]
    return list(dict.fromkeys(keys + [str(finding.reason) for finding in decision.findings]))


def warnings(findings: Iterable[Finding], *, denied: bool = False, notes: Iterable[str] = ()) -> list[str]:
    """Write findings as warning texts, errors first: one line each, no control characters, within the server's limits.

    A warning with a newline or a tab is dropped whole by the API server (facts of Kubernetes 1.37). Where the answer
    denies, its errors stand in the causes and are not repeated here.
    """
    ordered = sorted(findings, key=lambda finding: finding.level is not Level.ERROR)
    said = [finding for finding in ordered if not (denied and finding.level is Level.ERROR)]
    texts = [PREFIX + clean(note) for note in notes]
    texts += [PREFIX + clean(finding.text) for finding in said]
    return _within([_cut(text) for text in dict.fromkeys(texts)])


def cause_text(finding: Finding) -> str:
    """Write a finding without its path as Kubernetes' `field.Error` does: `Invalid value: "x": <message>`."""
    head = _HEADS[finding.cause]
    if finding.cause not in _BARE and finding.value is not None:
        head += ": " + _value(finding.value)
    message = clean(finding.message)
    return f"{head}: {message}" if message else head


def clean(text: str) -> str:
    """Put a text on one line: runs of blanks, newlines, tabs and unprintable characters become one space."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _review(request: dict[str, Json], uid: str) -> Review:
    """Take the fields that decisions and logs need; the namespace is the request's, never the object's (M18)."""
    kind = _mapping(request.get("kind"))
    return Review(
        request=Request(
            object=request.get("object"),
            namespace=_text(request, "namespace"),
            operation=_text(request, "operation"),
            old=request.get("oldObject"),
            uid=uid,
            name=_text(request, "name") or _object_name(request.get("object")),
            kind=_text(kind, "kind"),
            subresource=_text(request, "subResource"),
            user=_text(_mapping(request.get("userInfo")), "username"),
            dry_run=request.get("dryRun") is True,
        ),
        group=_text(kind, "group"),
    )


def _object_name(document: Json) -> str:
    """Name an object whose name the API server has yet to make: `generateName*`."""
    metadata = _mapping(_mapping(document).get("metadata"))
    prefix = _text(metadata, "generateName")
    return _text(metadata, "name") or (f"{prefix}*" if prefix else "")


def _mapping(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _text(mapping: dict[str, Json], key: str) -> str:
    value = mapping.get(key)
    return value if isinstance(value, str) else ""


def _envelope(response: dict[str, Json], version: str) -> dict[str, Json]:
    return {"apiVersion": version, "kind": KIND, "response": response}


def _status(review: Review, findings: Iterable[Finding]) -> dict[str, Json]:
    """Write the refusal so that kubectl prints what it prints for a built-in kind; controllers show `message` alone."""
    errors = [finding for finding in findings if finding.level is Level.ERROR]
    causes = [
        {"reason": str(finding.cause), "message": cause_text(finding), "field": finding.path} for finding in errors
    ]
    lines = list(dict.fromkeys(f"{cause['field']}: {cause['message']}" for cause in causes))
    return {
        "metadata": {},
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]",
        "details": {
            "group": review.group,
            "kind": review.request.kind,
            "name": review.request.name,
            "causes": causes,
        },
    }


def _audit(decision: Decision) -> dict[str, str]:
    """Say decision and reasons in the audit log; the API server puts the webhook's name before the keys."""
    audit = {"decision": decision_key(decision)}
    keys = reasons(decision)
    if keys:
        audit["reason"] = ",".join(keys)
    return audit


def decision_key(decision: Decision) -> str:
    """Name a decision: `allow`, `patch` or `deny`."""
    if isinstance(decision, Allow) or (isinstance(decision, Patch) and not decision.operations):
        return "allow"
    return "patch" if isinstance(decision, Patch) else "deny"


def _value(value: Json) -> str:
    """Print a value as the API server does: numbers and booleans bare, text quoted, the rest as JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _cut(text: str) -> str:
    return text if len(text) <= WARNING_CHARACTERS else text[: WARNING_CHARACTERS - 1] + "…"


def _within(texts: list[str]) -> list[str]:
    """Keep what fits into the total, and say how many did not."""
    kept: list[str] = []
    for text in texts:
        if sum(map(len, kept)) + len(text) > WARNINGS_CHARACTERS:
            left = len(texts) - len(kept)
            return [*kept, f"{PREFIX}{left} more warnings; `drainhook validate` lists all."]
        kept.append(text)
    return kept
