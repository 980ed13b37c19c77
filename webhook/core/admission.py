"""decide(), validate() and prove(): the product. All doors call these and nothing else.

Read from top to bottom: which objects, which templates, which backend, which container; then `webhook.core.inject`.
Why a template is left alone, first row that fits:

| state                                                         | reason                             |
|---------------------------------------------------------------|------------------------------------|
| the kind is a Job's; it carries no template                   | batch_job; kind_ignored            |
| the pod's label `inject: disabled`                            | opted_out                          |
| no backend label, and the namespace is not enabled            | not_labelled                       |
| a field has a type that no pod can have                       | malformed_object                   |
| no backend label, and the kind lacks the fields               | cr_field                           |
| the backend names no profile                                  | unknown_backend                    |
| the kind lacks the fields                                     | cr_field                           |
| the pod is a mirror pod; for Windows; owned by a Job          | mirror_pod; windows_pod; batch_job |
| `auto` finds the engine of no profile, or of several          | no_engine_found                    |
| labelled, but every container runs another program            | wrong_engine                       |
| no container is the profile's, or several could be the server | no_engine_found; server_ambiguous  |
| the annotations have no room for the status                   | annotations_full                   |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from webhook import names
from webhook.core import container
from webhook.core.command import is_image
from webhook.core.decision import (
    Allow,
    Cause,
    Decision,
    Deny,
    Finding,
    Level,
    Outcome,
    Patch,
    Policy,
    Reason,
    Request,
    Rule,
)  # fmt: skip
from webhook.core.inject import Result, inject
from webhook.core.overrides import bad_value, label_findings, nearest, read, unknown_keys
from webhook.core.part import Candidate
from webhook.core.patch import Tokens, apply, field_path, look, plan
from webhook.core.profile import Catalog, Json, Profile
from webhook.core.soundness import is_left_alone, malformed
from webhook.core.status import decode, status_findings
from webhook.core.workload import Template, is_batch, members, owners, templates
from webhook.core.wrong_object import wrong_object_findings


def decide(request: Request, catalog: Catalog, policy: Policy) -> Allow | Patch:
    """Say what becomes of an object on creation: Allow, or Patch with operations that the API server applies."""
    if request.operation != "CREATE" or request.subresource:
        return Allow((Outcome("", (Reason.OPERATION_IGNORED,)),))
    if not isinstance(request.object, dict):
        return Allow((Outcome("", (Reason.MALFORMED_OBJECT,)),))
    results = list(_results(request, catalog, policy))
    changes = [change for result in results for change in result.changes]
    outcomes = tuple(result.outcome for result in results if result.outcome is not None)
    findings = tuple(finding for result in results for finding in result.findings)
    operations, _ = plan(request.object, changes)
    return Patch(tuple(operations), outcomes, findings) if operations else Allow(outcomes, findings)


def decide_pod(request: Request, catalog: Catalog, policy: Policy) -> Allow | Patch:
    """Decide for the webhook, which patches pods only: a changed Deployment would fight with what is in git."""
    if isinstance(request.object, dict) and request.object.get("kind") != "Pod":
        return Allow((Outcome("", (Reason.KIND_IGNORED,)),))
    return decide(request, catalog, policy)


def prove(request: Request, decision: Patch, catalog: Catalog, policy: Policy) -> bool:
    """Say whether a patch applies and a second decision on its result is empty (W5, M5)."""
    try:
        result = apply(request.object, decision.operations)
    except (LookupError, TypeError, ValueError):
        return False
    return isinstance(decide(replace(request, object=result), catalog, policy), Allow)


def validate(request: Request, catalog: Catalog, policy: Policy) -> Decision:
    """Say what is wrong with an object: Allow with findings, or Deny when `/validate` must refuse it.

    | object                                        | errors deny                                |
    |-----------------------------------------------|--------------------------------------------|
    | workload without a controlling owner, CREATE  | yes                                        |
    | the same, UPDATE                              | only those that the old object did not have |
    | workload with a controlling owner             | no: a controller made it                   |
    | pod                                           | only with the setting `validatePods: deny` |
    """
    if request.operation not in {"CREATE", "UPDATE"} or request.subresource or not isinstance(request.object, dict):
        return Allow((Outcome("", (Reason.OPERATION_IGNORED,)),))
    created = replace(request, operation="CREATE")
    decision = decide(created, catalog, policy)
    findings = [*decision.findings, *wrong_object_findings(request.object)]
    if request.object.get("kind") == "Pod":
        findings += status_findings(request.object, decision, is_admitted=bool(request.uid))
    old: set[str] = set()
    if request.operation == "UPDATE" and isinstance(request.old, dict):
        before = decide(replace(created, object=request.old), catalog, policy)
        old = {_identity(finding) for finding in before.findings}
    denies = _may_deny(request.object, policy)
    found = tuple(
        finding if denies and _identity(finding) not in old else replace(finding, level=Level.WARNING)
        for finding in findings
    )
    if any(finding.level is Level.ERROR for finding in found):
        return Deny(found)
    return Allow(decision.outcomes, found)


def _identity(finding: Finding) -> str:
    return f"{finding.reason}|{finding.path}|{finding.value}"


def _may_deny(obj: Json, policy: Policy) -> bool:
    """Owned objects are made by a controller: refusing one would keep an old template from rolling out or back."""
    if any(owner.get("controller") is True for owner in owners(obj)):
        return False
    return obj.get("kind") != "Pod" or policy.deny_pods


def _results(request: Request, catalog: Catalog, policy: Policy) -> Iterator[Result]:
    """Decide about each pod template of the object, or of each object of a List."""
    for at, obj in members(request.object):
        if is_batch(obj):
            yield _left(at, Reason.BATCH_JOB)
            continue
        found = templates(obj)
        if not found:
            yield _left(at, Reason.KIND_IGNORED)
        for template in found:
            moved = template
            if at:
                moved = replace(template, tokens=(*at, *template.tokens), labels=(*at, *template.labels))
            yield _template_result(request, moved, catalog, policy)


def _left(at: Tokens, reason: Reason, *findings: Finding) -> Result:
    return Result(findings=list(findings), outcome=Outcome(field_path(at), (reason,)))


def _template_result(request: Request, template: Template, catalog: Catalog, policy: Policy) -> Result:
    """Decide about one pod template: opt-in, soundness, backend, then the container and its fields."""
    pod, at = look(request.object, template.tokens), template.tokens
    labels = _mapping(request.object, template.labels)
    own = labels.get(names.BACKEND)
    if labels.get(names.INJECT) == names.INJECT_DISABLED:
        return _left(at, Reason.OPTED_OUT)
    if not own and request.labels.get(names.INJECT) != names.INJECT_ENABLED:
        return _left(at, Reason.NOT_LABELLED, *_misread(request.object, template))
    wrong = _malformed(pod, labels, template)
    if wrong is not None:
        return _left(at, *((Reason.MALFORMED_OBJECT, wrong) if own or not template.guessed else (Reason.NOT_LABELLED,)))
    if not own and not template.writable:
        return _left(at, Reason.CR_FIELD)
    backend = _backend(request, pod, labels, policy)
    label_path = field_path((*template.labels, names.BACKEND))
    if backend.name != names.AUTO and backend.name not in catalog.profiles:
        close = nearest(backend.name, [*catalog.profiles, names.AUTO])
        message = f"no profile of this name{close or '; see drainhook profiles list'}"
        finding = Finding(Reason.UNKNOWN_BACKEND, Level.WARNING, label_path, message, backend.name, Cause.NOT_SUPPORTED)
        return _left(at, Reason.UNKNOWN_BACKEND, finding)
    if not template.writable:
        message = "this kind lacks the fields; its pods are patched when they are created"
        return _left(at, Reason.CR_FIELD, Finding(Reason.CR_FIELD, Level.WARNING, label_path, message, backend.name))
    alone = is_left_alone(pod)
    if alone is not None:
        return _left(at, alone)
    return _injected(request, template, backend, catalog, policy)


def _mapping(root: Json, tokens: Tokens) -> Json:
    """Return what stands under text keys at a place; YAML knows other keys, which no label can have."""
    found = look(root, tokens)
    return {key: found[key] for key in found if isinstance(key, str)} if isinstance(found, dict) else {}


def _misread(root: Json, template: Template) -> list[Finding]:
    """Find our keys that nobody reads where they stand: a misspelt label, a label among the annotations."""
    at = template.labels[:-1]
    annotations = (*at, "annotations")
    return [
        *label_findings(_mapping(root, template.labels), field_path(template.labels)),
        *unknown_keys(_mapping(root, annotations), field_path(annotations)),
    ]


def _malformed(pod: Json, labels: Json, template: Template) -> Finding | None:
    """Return the finding for a template that no pod can have; of custom kinds only the labels are ours."""
    wrong = malformed(pod if template.writable else {"metadata": {"labels": labels}})
    if wrong is None:
        return None
    place = (*template.tokens, *(wrong[0] if template.writable else wrong[0][1:]))
    return Finding(Reason.MALFORMED_OBJECT, Level.ERROR, field_path(place), wrong[1])


@dataclass(frozen=True, slots=True)
class _Backend:
    """A backend's name, and who gave it: the pod's own label (`is_own`), a rule, or else its namespace."""

    name: str
    is_own: bool = False
    rule: Rule | None = None


def _backend(request: Request, pod: Json, labels: Mapping[str, str], policy: Policy) -> _Backend:
    """Return the backend by pod label, else by an enabled namespace: its annotation, a rule, `auto`."""
    own = labels.get(names.BACKEND)
    if own:
        return _Backend(own, is_own=True)
    inherited = request.annotations.get(names.BACKEND)
    if inherited and isinstance(inherited, str):
        return _Backend(inherited)
    images = [str(item.get("image") or "") for item in look(pod, ("spec", "containers")) or []]
    for rule in policy.rules:
        is_match = rule.namespace_selector.items() <= request.labels.items() and (
            rule.pod_selector.items() <= labels.items()
        )
        if is_match and (not rule.image or any(is_image(image, (rule.image,)) for image in images)):
            return _Backend(rule.backend, rule=rule)
    return _Backend(names.AUTO)


def _injected(request: Request, template: Template, backend: _Backend, catalog: Catalog, policy: Policy) -> Result:
    """Choose the server's container and inject, or say why the template is left alone."""
    at, pod = template.tokens, look(request.object, template.tokens)
    label_path = field_path((*template.labels, names.BACKEND))
    profile = container.detect(pod, catalog) if backend.name == names.AUTO else catalog.profiles[backend.name]
    if profile is None:
        message = "no container's command or image is that of one known engine: name the backend"
        warning = Finding(Reason.NO_ENGINE_FOUND, Level.WARNING, label_path, message, backend.name)
        return _left(at, Reason.NO_ENGINE_FOUND, *([warning] if backend.is_own else []))
    annotations = look(pod, ("metadata", "annotations")) or {}
    path = field_path((*at, "metadata", "annotations"))
    overrides = read(annotations, request.annotations, path)
    overrides.findings += label_findings(_mapping(request.object, template.labels), field_path(template.labels))
    servers = container.read(pod, profile)
    named = [server for server in servers if server.container["name"] == overrides.container]
    if overrides.container is not None and not named:
        known = ", ".join(server.container["name"] for server in servers)
        message = f"names no container of the pod (it has {known})"
        overrides.findings.append(bad_value(path, names.CONTAINER, overrides.container, message))
    usable = [server for server in named or servers if not container.is_other(server, profile, catalog)]
    if usable:
        chosen = named or _chosen(usable, backend, profile, overrides.port)
    else:
        chosen = Reason.WRONG_ENGINE if backend.is_own and servers else Reason.NO_ENGINE_FOUND
    if isinstance(chosen, Reason):
        warning = Finding(chosen, Level.WARNING, label_path, f"not patched: {chosen.sentence}", backend.name)
        return _left(at, chosen, *overrides.findings, *([warning] if backend.is_own else []))
    status = decode(annotations.get(names.STATUS))
    candidate = Candidate(pod, at, profile, chosen, overrides, catalog, policy, status)
    return _with_template_findings(inject(candidate), template)


def _chosen(
    usable: list[container.Server], backend: _Backend, profile: Profile, port: str | None
) -> list[container.Server] | Reason:
    """Choose where no annotation names the container: the image of a rule counts as much as a label."""
    by_label = backend.is_own and backend.name != names.AUTO
    if backend.rule is not None and backend.rule.image:
        matching = [server for server in usable if is_image(server.image, (backend.rule.image,))]
        usable, by_label = matching or usable, bool(matching)
    return container.choose(usable, port=port, default_port=profile.http.default, by_label=by_label)


def _with_template_findings(result: Result, template: Template) -> Result:
    """Add what only the place of the template tells."""
    if template.worker:
        message = "a worker of a group: requests end when the leader does, so the leader must drain first"
        result.findings.append(Finding(Reason.GROUP_WORKER, Level.WARNING, template.path, message))
    if template.guessed and result.outcome is not None:
        message = "the kind is unknown; this was taken for a pod template by its shape"
        result.findings.append(Finding(Reason.TEMPLATE_GUESSED, Level.WARNING, template.path, message))
        outcome = result.outcome
        result.outcome = replace(outcome, reasons=(*outcome.reasons, Reason.TEMPLATE_GUESSED))
    return result
