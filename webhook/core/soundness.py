"""What makes a pod template malformed, and which pods no webhook may touch.

Only what drainhook reads is looked at: the API server checks the rest. Nothing is changed here.
"""

from __future__ import annotations

from webhook import names
from webhook.core.decision import Reason
from webhook.core.patch import Tokens, look
from webhook.core.profile import Json
from webhook.core.workload import owners


def malformed(pod: Json) -> tuple[Tokens, str] | None:
    """Return the first place whose type no pod can have, with what would be right; None for a sound template."""
    for at in (("metadata",), ("metadata", "labels"), ("metadata", "annotations"), ("spec",), ("spec", "nodeSelector")):
        if not isinstance(look(pod, at), dict | None):
            return at, "must be a mapping"
    for at in (("metadata", "labels"), ("metadata", "annotations")):
        for key, value in (look(pod, at) or {}).items():
            if not isinstance(key, str) or not isinstance(value, str):
                return (*at, str(key)), "must be a string: put key and value in quotes"
    grace = look(pod, ("spec", "terminationGracePeriodSeconds"))
    if grace is not None and (isinstance(grace, bool) or not isinstance(grace, int)):
        return ("spec", "terminationGracePeriodSeconds"), "must be a whole number of seconds"
    if not isinstance(look(pod, ("spec", "volumes")), list | None):
        return ("spec", "volumes"), "must be a list"
    for group in ("containers", "initContainers"):
        wrong = _malformed_containers(look(pod, ("spec", group)), ("spec", group))
        if wrong:
            return wrong
    return None


_IN_QUOTES = "must be a string: put the value in quotes"
_CONTAINER_TYPES: dict[str, tuple[type, str]] = {
    "image": (str, "string"),
    **dict.fromkeys(("command", "args", "env", "ports", "volumeMounts"), (list, "list")),
    **dict.fromkeys(("lifecycle", "readinessProbe", "livenessProbe", "startupProbe"), (dict, "mapping")),
}


def _malformed_containers(containers: Json, at: Tokens) -> tuple[Tokens, str] | None:
    if containers is None:
        return None
    if not isinstance(containers, list):
        return at, "must be a list"
    for index, container in enumerate(containers):
        if not isinstance(container, dict) or not isinstance(container.get("name"), str):
            return (*at, index), "must be a mapping with a name"
        wrong = _malformed_container(container)
        if wrong:
            return (*at, index, *wrong[0]), wrong[1]
    return None


def _malformed_container(container: Json) -> tuple[Tokens, str] | None:
    for key, (kind, title) in _CONTAINER_TYPES.items():
        value = container.get(key)
        if value is not None and not isinstance(value, kind):
            return (key,), f"must be a {title}"
    for key in ("preStop", "postStart"):
        if not isinstance(look(container, ("lifecycle", key)), dict | None):
            return ("lifecycle", key), "must be a mapping"
    at = ("lifecycle", "preStop", "exec", "command")
    words = look(container, at)
    for number, word in enumerate(words if isinstance(words, list) else ()):
        if not isinstance(word, str):
            return (*at, number), _IN_QUOTES
    return _malformed_items(container)


def _malformed_items(container: Json) -> tuple[Tokens, str] | None:
    for key in ("env", "ports"):
        for number, item in enumerate(container.get(key) or ()):
            if not isinstance(item, dict):
                return (key, number), "must be a mapping"
            if key == "env" and not isinstance(item.get("value"), str | None):
                return (key, number, "value"), _IN_QUOTES
    for key in ("command", "args"):
        for number, word in enumerate(container.get(key) or ()):
            if not isinstance(word, str):
                return (key, number), _IN_QUOTES
    return None


def is_left_alone(pod: Json) -> Reason | None:
    """Return why no webhook may touch this pod: a mirror pod, Windows, owned by a Job; None otherwise."""
    if names.MIRROR_POD in (look(pod, ("metadata", "annotations")) or {}):
        return Reason.MIRROR_POD
    selector = look(pod, ("spec", "nodeSelector")) or {}
    systems = [look(pod, ("spec", "os", "name")), *(selector.get(label) for label in names.OS_LABELS)]
    if "windows" in systems:
        return Reason.WINDOWS_POD
    return Reason.BATCH_JOB if any(owner.get("kind") == "Job" for owner in owners(pod)) else None
