"""What a decision looks like in expected.yaml: readable, without what changes with every release."""

from __future__ import annotations

import json
import re

from webhook import names
from webhook.core.decision import Deny, Level, Patch, Reason
from webhook.core.patch import pointer
from webhook.core.review import cause_text


def described(document, decision, verdict, script):
    """Return what is expected of one document: its decision, and the verdict of the validation."""
    said = {"object": subject(document), "decision": "patch" if isinstance(decision, Patch) else "allow"}
    said["templates"] = [outcome(item) for item in decision.outcomes]
    if decision.findings:
        said["findings"] = [line(item) for item in decision.findings]
    if isinstance(decision, Patch):
        said["patch"] = [operation(item, script) for item in decision.operations]
    said["validate"] = judged(verdict, decision.findings)
    return said


def subject(document):
    """Return kind and name of a document."""
    metadata = document.get("metadata") if isinstance(document.get("metadata"), dict) else {}
    return f"{document.get('kind')}/{metadata.get('name') or metadata.get('generateName') or ''}"


def outcome(item):
    said = {"at": item.path, "reasons": [str(reason) for reason in item.reasons]}
    if item.status is not None:
        said["status"] = status(item.status)
    return said


def status(value):
    """Return a status without the version and the profile's digest, which are checked here."""
    assert value["v"] == 1
    assert value["version"]
    assert re.fullmatch(r"[a-z0-9-]+@[0-9a-f]{8}", value["profile"])
    kept = {key: value[key] for key in ("container", "hook", "budget", "changed", "kept")}
    return {"profile": value["profile"].split("@")[0], **kept}


def line(finding):
    return f"{finding.level} {finding.reason} {finding.path}: {finding.message}"


def operation(item, script):
    """Return an operation with the drain script and the status by name."""
    assert set(item) == {"op", "path", "value"}
    assert item["op"] == "add"
    return {"add": item["path"], "value": _named(item["value"], script)}


def _named(value, script):
    if isinstance(value, dict):
        if value.get("name") == names.HOOK_HEADER:
            return {**value, "value": "<version>"}
        return {key: _named(inner, script) for key, inner in value.items()}
    if isinstance(value, list):
        return [_named(inner, script) for inner in value]
    if isinstance(value, str) and value.startswith('{"'):
        return f"<status {json.loads(value)['profile'].split('@')[0]}>"
    return "<drain.sh>" if value == script else value


def statuses(operations):
    """Return the status annotations that operations write, each with the reasons that it names."""
    found = []
    for item in operations:
        value = item["value"]
        value = value.get("annotations", value) if isinstance(value, dict) else value
        value = value.get(names.STATUS) if isinstance(value, dict) else value
        if isinstance(value, str) and value.startswith('{"'):
            written = json.loads(value)
            found.append({"reasons": written["reasons"], "status": status(written)})
    return found


def wanted_statuses(templates):
    """Return the same from expected.yaml. That a template was guessed at is said beside the status, not in it."""
    return [
        {"reasons": [key for key in item["reasons"] if key != Reason.TEMPLATE_GUESSED], "status": item["status"]}
        for item in templates
        if "status" in item
    ]


def judged(verdict, known):
    """Return the verdict of the validation, its causes, and the findings that only it makes."""
    said = {"verdict": "deny" if isinstance(verdict, Deny) else "allow"}
    if isinstance(verdict, Deny):
        errors = [finding for finding in verdict.findings if finding.level is Level.ERROR]
        said["causes"] = [f"{finding.path}: {cause_text(finding)}" for finding in errors]
    seen = {(finding.reason, finding.path) for finding in known}
    also = [line(finding) for finding in verdict.findings if (finding.reason, finding.path) not in seen]
    if also:
        said["also"] = also
    return said


def below(path, at):
    """Return a field path as it reads in the pod of a template, or None where it is not in that template."""
    if not at:
        return path
    return path[len(at) + 1 :] if path.startswith(at + ".") else None


def place(at):
    """Return the tokens of a template's field path (its keys hold no dot)."""
    return tuple(int(word) if word.isdigit() else word for word in re.findall(r"[^.\[\]]+", at))


def without_prefix(path, at):
    """Return a JSON pointer as it reads in the pod of a template, or None where it is not in that template."""
    prefix = pointer(place(at))
    return path[len(prefix) :] if path.startswith(prefix + "/") else None
