"""The mistake that everyone makes: the label or annotation on the workload instead of its pod template."""

from __future__ import annotations

from collections.abc import Iterator

from webhook import names
from webhook.core.decision import Cause, Finding, Level, Reason
from webhook.core.patch import Tokens, field_path, look
from webhook.core.profile import Json
from webhook.core.workload import Template, members, templates

_ALLOWED_ON_WORKLOAD = frozenset({names.ELASTIC_CONFIG})


def wrong_object_findings(root: Json) -> Iterator[Finding]:
    """Yield a warning for each of our keys on an object whose pod template is what counts."""
    for at, obj in members(root):
        for template in templates(obj):
            if template.tokens:  # a Pod is its own template
                yield from _findings(obj, at, template)


def _findings(obj: Json, at: Tokens, template: Template) -> Iterator[Finding]:
    there = template.labels[:-1]
    for group in ("labels", "annotations"):
        below = set(_our_keys(look(obj, (*there, group))))
        place = field_path((*at, *there, group))
        for key in _our_keys(look(obj, ("metadata", group))):
            if key not in below:
                path = field_path((*at, "metadata", group, key))
                message = f"nothing is read from here: put it on the pod template, {place}"
                yield Finding(Reason.WRONG_OBJECT, Level.WARNING, path, message, cause=Cause.FORBIDDEN)


def _our_keys(mapping: Json) -> list[str]:
    if not isinstance(mapping, dict):
        return []
    return [
        key
        for key in mapping
        if isinstance(key, str) and key.startswith(names.DOMAIN + "/") and key not in _ALLOWED_ON_WORKLOAD
    ]
