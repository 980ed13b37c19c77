"""Decides about documents as the webhook would about objects, by the same two functions.

What the input says of namespaces, and the label that `--backend` adds, come in here. No rule of a decision may.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from webhook import names
from webhook.core.admission import decide, validate
from webhook.core.decision import Allow, Finding, Outcome, Patch, Policy, Reason, Request
from webhook.core.patch import Tokens, field_path, look, plan, pointer
from webhook.core.profile import Catalog, Json
from webhook.core.workload import is_batch, members, templates

Metadata = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides beside the document: catalog, policy, the namespaces of the input, and the label to add."""

    catalog: Catalog
    policy: Policy
    namespace: str = "default"
    namespaces: Mapping[str, tuple[Metadata, Metadata]] = field(default_factory=dict)
    backend: str = ""
    selector: Metadata = field(default_factory=dict)


@dataclass(slots=True)
class Decided:
    """What becomes of one document. Paths begin at the document, also for the items of a List."""

    operations: list[Json] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def namespaces_of(values: Iterable[Json]) -> dict[str, tuple[Metadata, Metadata]]:
    """Return labels and annotations of every Namespace among the objects, by its name."""
    found: dict[str, tuple[Metadata, Metadata]] = {}
    for value in values:
        for _, obj in members(value) if isinstance(value, dict) else ():
            name = look(obj, ("metadata", "name"))
            if obj.get("kind") == "Namespace" and obj.get("apiVersion") == "v1" and isinstance(name, str):
                found[name] = (_texts(obj, "labels"), _texts(obj, "annotations"))
    return found


def _texts(obj: Json, group: str) -> Metadata:
    mapping = look(obj, ("metadata", group))
    return {key: value for key, value in mapping.items() if isinstance(value, str)} if isinstance(mapping, dict) else {}


def decide_document(value: Json, settings: Settings) -> Decided:
    """Decide about the object of a document, or about each object of a List."""
    decided = Decided()
    if not isinstance(value, dict):
        return decided
    for at, obj in members(value):
        labels, request = _labelled(_request(obj, settings), settings)
        decision = decide(request, settings.catalog, settings.policy)
        if labels and isinstance(decision, Allow) and not _is_label_only(decision):
            # The labelled pod would be left alone: then the label would promise what nobody does.
            decision, labels = replace(decision, outcomes=_unlabelled(decision)), []
        operations = [*labels, *(decision.operations if isinstance(decision, Patch) else ())]
        prefix = pointer(at)
        decided.operations += [{**operation, "path": prefix + operation["path"]} for operation in operations]
        decided.outcomes += [replace(outcome, path=_below(at, outcome.path)) for outcome in decision.outcomes]
        decided.findings += [replace(finding, path=_below(at, finding.path)) for finding in decision.findings]
    return decided


def validate_document(value: Json, settings: Settings) -> list[Finding]:
    """Return what `/validate` finds in the object of a document, or in each object of a List."""
    found: list[Finding] = []
    for at, obj in members(value) if isinstance(value, dict) else ():
        decision = validate(_request(obj, settings), settings.catalog, settings.policy)
        found += [replace(finding, path=_below(at, finding.path)) for finding in decision.findings]
    return found


def _below(at: Tokens, path: str) -> str:
    prefix = field_path(at)
    return f"{prefix}.{path}" if prefix and path and not path.startswith("[") else prefix + path


def _request(obj: Json, settings: Settings) -> Request:
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    namespace = str(metadata.get("namespace") or settings.namespace)
    labels, annotations = settings.namespaces.get(namespace, ({}, {}))
    name, kind = str(metadata.get("name") or ""), str(obj.get("kind") or "")
    return Request(obj, namespace, name=name, kind=kind, labels=labels, annotations=annotations)


def _labelled(request: Request, settings: Settings) -> tuple[list[Json], Request]:
    """Add the backend label to each pod template that has none and that the selector names."""
    if not settings.backend or is_batch(request.object):
        return [], request
    changes = []
    for template in templates(request.object):
        labels = look(request.object, template.labels)
        if not isinstance(labels, dict | None):
            continue
        own = labels or {}
        is_settled = names.BACKEND in own or own.get(names.INJECT) == names.INJECT_DISABLED
        if not is_settled and settings.selector.items() <= {**_texts(request.object, "labels"), **own}.items():
            changes.append(((*template.labels, names.BACKEND), settings.backend))
    operations, labelled = plan(request.object, changes)
    return operations, replace(request, object=labelled)


def _is_label_only(decision: Allow) -> bool:
    return any(Reason.CR_FIELD in outcome.reasons for outcome in decision.outcomes)


def _unlabelled(decision: Allow) -> tuple[Outcome, ...]:
    return tuple(replace(outcome, reasons=(Reason.NOT_LABELLED, *outcome.reasons)) for outcome in decision.outcomes)
