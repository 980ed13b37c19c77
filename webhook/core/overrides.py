"""Reads drainhook's annotations: pod over namespace, each value checked against a closed form.

A value that does not fit is a finding and counts as absent. No text of an annotation goes further than this file
unless it is a number in range, a member of a list, or a name that exists in the pod.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from webhook import names
from webhook.core.decision import Cause, Finding, Level, Reason

HOOKS = ("auto", "exec", "http", "sidecar", "sleep", "none")
EXISTING = ("keep", "chain", "replace")
READINESS = ("auto", "none")
NATIVE = ("disabled", "enabled")
SECONDS = {names.SETTLE: (0, 300), names.DRAIN: (1, 86400), names.RESERVE: (2, 600), names.GRACE: (1, 86400 + 900)}
KNOWN_KEYS = (
    names.CONTAINER, names.PORT, *SECONDS, names.HOOK, names.EXISTING_HOOK, names.READINESS, names.NATIVE_DRAIN,
    names.IMAGE_TOOLS, names.ELASTIC_CONFIG, names.STATUS,
)  # fmt: skip
_WHOLE = re.compile(r"[0-9]{1,6}")  # ASCII only
_MOST_LOOKED_UP = 10
LABELS = (names.BACKEND, names.INJECT)
_TOOLS = re.compile(r"none|[a-z0-9][a-z0-9._+-]*(?:,[a-z0-9][a-z0-9._+-]*)*")


@dataclass(slots=True)
class Overrides:
    """What annotations ask for; None where nothing valid stands. `findings` are the values that do not fit."""

    container: str | None = None
    port: str | None = None
    seconds: dict[str, int] = field(default_factory=dict)
    hook: str = "auto"
    existing_hook: str = "keep"
    readiness: str = "auto"
    native_drain: bool = False
    tools: tuple[str, ...] | None = None
    findings: list[Finding] = field(default_factory=list)


def read(annotations: Mapping[str, str], inherited: Mapping[str, str], path: str) -> Overrides:
    """Read a pod's annotations over its namespace's; `path` is the field path of the pod's annotations.

    What does not fit on the namespace is a warning: the object at hand is not at fault.
    """
    found = Overrides()
    defaults = {key: inherited[key] for key in SECONDS if isinstance(inherited.get(key), str)}
    _read_seconds(found, defaults, "metadata.annotations")
    found.findings = [
        replace(finding, level=Level.WARNING, message=f"of the Namespace: {finding.message}")
        for finding in found.findings
    ]
    _read_seconds(found, annotations, path)

    def choice(key: str, allowed: tuple[str, ...]) -> str:
        text = annotations.get(key)
        if text is None or text in allowed:
            return text or allowed[0]
        supported = ", ".join(f'"{item}"' for item in allowed)
        found.findings.append(bad_value(path, key, text, f"supported values: {supported}", Cause.NOT_SUPPORTED))
        return allowed[0]

    found.hook = choice(names.HOOK, HOOKS)
    found.existing_hook = choice(names.EXISTING_HOOK, EXISTING)
    found.readiness = choice(names.READINESS, READINESS)
    found.native_drain = choice(names.NATIVE_DRAIN, NATIVE) == "enabled"
    found.container = annotations.get(names.CONTAINER)
    found.port = annotations.get(names.PORT)
    tools = annotations.get(names.IMAGE_TOOLS)
    if tools is not None:
        compact = tools.replace(" ", "")
        if _TOOLS.fullmatch(compact):
            found.tools = () if compact == "none" else tuple(compact.split(","))
        else:
            found.findings.append(
                bad_value(path, names.IMAGE_TOOLS, tools, 'must be "none" or names such as "sh,curl"')
            )
    found.findings.extend(unknown_keys(annotations, path))
    return found


def _read_seconds(found: Overrides, annotations: Mapping[str, str], path: str) -> None:
    for key, (low, high) in SECONDS.items():
        text = annotations.get(key)
        if text is None:
            continue
        if _WHOLE.fullmatch(text) and low <= int(text) <= high:
            found.seconds[key] = int(text)
        else:
            found.findings.append(
                bad_value(path, key, text, f'must be whole seconds from {low} to {high}, such as "{low + 10}"')
            )


def unknown_keys(annotations: Mapping[str, str], path: str) -> list[Finding]:
    """Report annotations that nobody reads: a misspelt one does nothing, silently."""
    unread = [key for key in annotations if key.startswith(names.DOMAIN + "/") and key not in KNOWN_KEYS]
    return [
        _unread(f"{path}[{key}]", "is a label here" if key in LABELS else f"unknown annotation{close}")
        for key, close in _with_nearest(unread, KNOWN_KEYS)
    ]


def label_findings(labels: Mapping[str, str], path: str) -> list[Finding]:
    """Report labels that nobody reads, and an opt-out that would not work."""
    unread = [key for key in labels if key.startswith(names.DOMAIN + "/") and key not in LABELS]
    found = [
        _unread(f"{path}[{key}]", "is an annotation" if key in KNOWN_KEYS else f"unknown label{close}")
        for key, close in _with_nearest(unread, LABELS)
    ]
    inject = labels.get(names.INJECT, names.INJECT_DISABLED)
    if inject not in (names.INJECT_ENABLED, names.INJECT_DISABLED):
        message = f'only "{names.INJECT_DISABLED}" opts a pod out'
        found.append(bad_value(path, names.INJECT, inject, message, Cause.NOT_SUPPORTED))
    return found


def _with_nearest(keys: list[str], known: Iterable[str]) -> list[tuple[str, str]]:
    """Look up near words for the first keys only: it takes half a millisecond, and a pod may hold thousands."""
    return [(key, nearest(key, known) if place < _MOST_LOOKED_UP else "") for place, key in enumerate(keys)]


def _unread(path: str, message: str) -> Finding:
    return Finding(Reason.UNKNOWN_KEY, Level.WARNING, path, message, cause=Cause.NOT_SUPPORTED)


def bad_value(path: str, key: str, value: str, message: str, cause: Cause = Cause.INVALID) -> Finding:
    """Return the finding for an override whose value does not fit; `path` is that of the mapping it stands in."""
    return Finding(Reason.BAD_OVERRIDE, Level.ERROR, f"{path}[{key}]", message, value, cause)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean ...?` with the nearest known words (all are lower case), or an empty string."""
    close = difflib.get_close_matches(word.lower(), list(known), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""
