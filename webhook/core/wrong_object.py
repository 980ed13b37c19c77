"""The mistake that everyone makes: the label or annotation on the workload instead of its pod template."""

from __future__ import annotations

from collections.abc import Iterator

from webhook import names
from webhook.core.decision import Cause, Finding, Level, Reason
from webhook.core.patch import field_path, look
from webhook.core.profile import Json
from webhook.core.workload import members, templates

_ALLOWED_ON_WORKLOAD = frozenset({names.ELASTIC_CONFIG})


def wrong_object_findings(root: Json) -> Iterator[Finding]:
    """Yield a warning for each of our keys on an object whose pod template is what counts."""
    for at, obj in members(root):
        own = (*at, "metadata")
        for template in templates(obj):
            if template.tokens == () or not isinstance(look(obj, ("metadata",)), dict):
                continue
            there = field_path((*at, *template.labels[:-1]))
            for group in ("labels", "annotations"):
                below = look(obj, (*template.labels[:-1], group))
                for key in _our_keys(look(obj, ("metadata", group))):
                    if isinstance(below, dict) and key in below:
                        continue
                    yield Finding(
                        Reason.WRONG_OBJECT,
                        Level.WARNING,
                        field_path((*own, group, key)),
                        f"nothing is read from here: put it on the pod template, {there}.{group}",
                        cause=Cause.FORBIDDEN,
                    )


def _our_keys(mapping: Json) -> list[str]:
    if not isinstance(mapping, dict):
        return []
    return [
        key
        for key in mapping
        if isinstance(key, str) and key.startswith(names.DOMAIN + "/") and key not in _ALLOWED_ON_WORKLOAD
    ]
