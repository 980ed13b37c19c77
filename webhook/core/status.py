"""What became of our changes on a pod: another webhook that changed hook, grace period or probe after ours."""

from __future__ import annotations

import json

from webhook import names
from webhook.core.decision import Allow, Finding, Level, Patch, Reason
from webhook.core.patch import field_path, look
from webhook.core.profile import Json


def status_findings(pod: Json, decision: Allow | Patch) -> list[Finding]:
    """Compare a pod with what drainhook would make of it now: the difference is what somebody else changed."""
    at = field_path(("metadata", "annotations", names.STATUS))
    text = (look(pod, ("metadata", "annotations")) or {}).get(names.STATUS)
    if isinstance(decision, Allow):
        return []
    if text is None:
        message = "the label asks for a drain hook, but the pod came past the webhook without one"
        return [Finding(Reason.NOT_PATCHED, Level.WARNING, field_path(("metadata", "labels", names.BACKEND)), message)]
    try:
        changed = json.loads(text)["changed"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return [Finding(Reason.STATUS_MISMATCH, Level.WARNING, at, "is not what drainhook wrote")]
    paths = [_place(operation["path"]) for operation in decision.operations]
    return [
        Finding(Reason.STATUS_MISMATCH, Level.WARNING, path, "another webhook or user changed what drainhook had set")
        for path in paths
        if path in changed
    ] or [Finding(Reason.STATUS_MISMATCH, Level.WARNING, at, "disagrees with the pod's spec")]


def _place(pointer: str) -> str:
    keys = [key.replace("~1", "/").replace("~0", "~") for key in pointer[1:].split("/")]
    return field_path(tuple(int(key) if key.isdigit() else key for key in keys))
