"""What became of our changes on a pod: another webhook that changed hook, grace period or probe after ours."""

from __future__ import annotations

import json

from webhook import names
from webhook.core.budget import GRACE_PLACE
from webhook.core.decision import Allow, Finding, Level, Patch, Reason
from webhook.core.patch import field_path, keys_of, look
from webhook.core.profile import Json


def decode(text: str | None) -> Json:
    """Decode a status annotation; what drainhook did not write is None."""
    if not text:
        return None
    try:
        status = json.loads(text)
    except (ValueError, RecursionError):
        return None
    lists = [look(status, (key,)) for key in ("changed", "reasons")]
    return status if all(isinstance(value, list) for value in lists) else None


def status_findings(pod: Json, decision: Allow | Patch, *, is_admitted: bool) -> list[Finding]:
    """Compare a pod with what drainhook would make of it now: the difference is what somebody else changed.

    `is_admitted` is False for a manifest, which has not met the webhook yet. A status that another version or an
    older profile wrote proves nothing.
    """
    if isinstance(decision, Allow):
        return []
    at = field_path(("metadata", "annotations", names.STATUS))
    text = look(pod, ("metadata", "annotations", names.STATUS))
    if text is None:
        if not is_admitted:
            return []
        message = "the label asks for a drain hook, but the pod came past the webhook without one"
        return [Finding(Reason.NOT_PATCHED, Level.WARNING, field_path(("metadata", "labels", names.BACKEND)), message)]
    status = decode(text)
    if status is None:
        return [Finding(Reason.STATUS_MISMATCH, Level.WARNING, at, "is not what drainhook wrote")]
    now: Json = next((outcome.status for outcome in decision.outcomes if outcome.status is not None), {})
    if any(status.get(key) != now.get(key) for key in ("version", "profile")):
        return []
    message = "another webhook or user changed what drainhook had set"
    return [
        Finding(Reason.STATUS_MISMATCH, Level.WARNING, path, message) for path in _moved(status, now, decision)
    ] or [Finding(Reason.STATUS_MISMATCH, Level.WARNING, at, "disagrees with the pod's spec")]


def _moved(status: Json, now: Json, decision: Patch) -> list[str]:
    """Return the places that drainhook had set and that differ now; another grace period explains another hook."""
    if look(status, ("budget", "grace")) != now["budget"]["grace"]:
        return [GRACE_PLACE]
    redone = [_place(operation["path"]) for operation in decision.operations]
    gone = set(now["changed"]) ^ set(filter(_is_text, status["changed"]))
    return [
        path
        for path in filter(_is_text, status["changed"])
        if path in gone or any(_is_within(path, place) or _is_within(place, path) for place in redone)
    ]


def _is_within(path: str, place: str) -> bool:
    """Say whether a place holds a path; a missing parent is added together with it."""
    return f"{path}.".startswith(f"{place}.")


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _place(pointer: str) -> str:
    return field_path(tuple(int(key) if key.isascii() and key.isdigit() else key for key in keys_of(pointer)))
