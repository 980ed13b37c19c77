"""Decisions about one object of the invented engine, as the admission tests read them. Never here: expectations."""

from __future__ import annotations

from tests.unit.core.engines import CATALOG, POLICY, request
from webhook import names
from webhook.core.admission import decide
from webhook.core.decision import Allow, Finding, Level, Patch

LABEL = f"metadata.labels[{names.BACKEND}]"
ENABLED = {names.INJECT: "enabled"}


def left(document, namespace=None, annotations=None, policy=POLICY):
    """Decide about an object that is left alone, and return (reasons, findings)."""
    found = decide(request(document, labels=namespace or {}, annotations=annotations or {}), CATALOG, policy)
    assert isinstance(found, Allow)
    return [reason for outcome in found.outcomes for reason in outcome.reasons], list(found.findings)


def patched(document, namespace=None, annotations=None, policy=POLICY):
    """Decide about an object that is patched, and return the status of its first template."""
    found = decide(request(document, labels=namespace or {}, annotations=annotations or {}), CATALOG, policy)
    assert isinstance(found, Patch)
    return found.outcomes[0].status


def warning(reason, path, message, value=None, **more):
    return Finding(reason, Level.WARNING, path, message, value, **more)
