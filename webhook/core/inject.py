"""What a pod template gets: drain hook, grace period, readiness probe, postStart, the engine's own drain, the status.

Only changes and reasons are made here; they become operations in `webhook.core.patch`. A second pass over its own
result finds nothing to change: what the status lists under `changed` is not the user's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Final

from webhook import names
from webhook.core import budget as budgets
from webhook.core.checks import View, check
from webhook.core.decision import Finding, Level, Outcome, Reason
from webhook.core.existing import PRE_STOP
from webhook.core.hook import Target, exec_hook, http_hook, parameters, sidecar_hook, sleep_hook
from webhook.core.native import args_place
from webhook.core.part import Candidate, Part, part_of
from webhook.core.patch import Change, Tokens, field_path, look
from webhook.core.probe import FILLED_IN, probe_reason, readiness_probe
from webhook.core.profile import Budget, Json
from webhook.core.sidecar import changes, place_of, standing

MOST_ANNOTATIONS: Final = 256 * 1024
"""Bytes of all annotations: TotalAnnotationSizeLimitB of k8s.io/apimachinery's validation."""
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_POST_START: Tokens = ("lifecycle", "postStart")
_ORDER = {reason: number for number, reason in enumerate(Reason)}


@dataclass(slots=True)
class Result:
    """Changes in template order, the places that are ours or the user's, reasons and findings."""

    changes: list[Change] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    outcome: Outcome | None = None


def inject(candidate: Candidate) -> Result:
    """Decide every field of one template."""
    parts = [part_of(candidate, server) for server in candidate.servers]
    result = Result(findings=[*candidate.overrides.findings, *(found for part in parts for found in part.findings)])
    if len(parts) > 1:
        result.reasons.append(Reason.TWO_SERVERS)
    budget, grace_reason = _budget(candidate, parts, result)
    for part in parts:
        _hook(candidate, part, budget, result)
        _probe(candidate, part, result)
        _post_start(candidate, part, result)
        _native(candidate, part, result)
    _unused_sidecar(candidate, parts, result)
    _grace(candidate, budget, grace_reason, result)
    # In the order of the table, since a second pass could meet the same reasons at another server first.
    result.reasons = sorted(set(result.reasons), key=_ORDER.__getitem__)
    status = _status(candidate, parts, budget, result)
    text = _encode(status)
    if not _has_room(candidate, text):
        return _without_room(candidate)
    result.changes.append(((*candidate.tokens, "metadata", "annotations", names.STATUS), text))
    result.outcome = Outcome(field_path(candidate.tokens), tuple(result.reasons), status)
    for part in parts:
        view = View(
            candidate.pod, candidate.path, part.server, part.endpoint, part.existing if part.keeps else None,
            candidate.profile, budget, candidate.catalog, tuple(server.index for server in candidate.servers),
        )  # fmt: skip
        result.findings += check(view)
    result.findings = list({(item.reason, item.path, item.message): item for item in result.findings}.values())
    return result


def _has_room(candidate: Candidate, status: str) -> bool:
    """Say whether the API server takes the pod's annotations together with the status."""
    others = {**(look(candidate.pod, ("metadata", "annotations")) or {}), names.STATUS: status}
    return sum(_size(key) + _size(value) for key, value in others.items()) <= MOST_ANNOTATIONS


def _size(text: str) -> int:
    """Count bytes; half a surrogate pair, which JSON can carry, must not raise."""
    return len(text.encode(errors="surrogatepass"))


def _without_room(candidate: Candidate) -> Result:
    """Leave the template alone: without its status, a second pass could not tell our changes from the user's."""
    message = f"leave no room for {names.STATUS}: keys and values may have {MOST_ANNOTATIONS} bytes together"
    finding = Finding(Reason.ANNOTATIONS_FULL, Level.WARNING, candidate.annotations_path, message)
    outcome = Outcome(field_path(candidate.tokens), (Reason.ANNOTATIONS_FULL,))
    return Result(findings=[*candidate.overrides.findings, finding], outcome=outcome)


def _budget(candidate: Candidate, parts: list[Part], result: Result) -> tuple[Budget, Reason]:
    """Return the pod's budget and why its grace period is what it is; the longest need of any server counts."""
    profile, spec = candidate.profile, budgets.spec_grace(candidate.pod)
    chained = [part.chained.seconds for part in parts if part.chained is not None and part.chained.form == "sleep"]
    more = budgets.NATIVE_RESERVE if any(part.native.is_on for part in parts) else 0
    wanted = budgets.budget_of(profile, candidate.overrides, settle_at_least=max(chained, default=0), reserve_more=more)
    ours = candidate.was_ours(budgets.GRACE_PLACE)
    sleeps = [part.existing.seconds for part in parts if part.keeps and part.existing.form == "sleep"]
    kept = max(sleeps) + wanted.reserve if sleeps else 0
    total, findings = budgets.explicit_grace(candidate.overrides, wanted, (spec, kept), candidate.annotations_path)
    result.findings += findings
    without_hook = all(part.rung.name == "none" and not part.keeps for part in parts)
    if total is not None:
        need = total
    elif without_hook and not profile.drains_itself:
        if not more:
            return budgets.with_grace(wanted, spec), Reason.GRACE_NOT_RAISED
        need = wanted.reserve  # the engine's own drain needs its time
    else:
        need = wanted.grace
    grace = max(spec, need, kept)
    return budgets.with_grace(wanted, grace), Reason.GRACE_RAISED if grace > spec or ours else Reason.GRACE_KEPT


def _hook(candidate: Candidate, part: Part, budget: Budget, result: Result) -> None:
    """Add the preStop handler of the chosen rung, or note that the user's stays."""
    profile, server = candidate.profile, part.server
    tokens: Tokens = (*server.tokens, *PRE_STOP)
    result.reasons += part.rung.reasons
    if part.keeps:
        if part.existing.is_ours:
            result.changes.append(((*candidate.tokens, *tokens), {"exec": {"command": list(part.existing.argv)}}))
        result.kept.append(field_path(tokens))
        return
    if part.rung.name == "none":
        if part.existing.is_ours:
            result.changes.append(((*candidate.tokens, *tokens), None))  # null is no hook; only `add` is ever made
        return
    places, version = [field_path(tokens)], candidate.policy.version
    if part.rung.name == "exec":
        words = parameters(profile, _spent(candidate, budget, result), _target(candidate, part))
        hook = exec_hook(candidate.catalog.script, words, part.chained)
    elif part.rung.name == "sidecar":
        hook = sidecar_hook(version)
        places += _sidecar(candidate, part, _spent(candidate, budget, result), result)
    elif part.rung.name == "http":
        hook = http_hook(profile, budget, part.endpoint, version)
    else:
        hook = sleep_hook(budget)
    result.changes.append(((*candidate.tokens, *tokens), hook))
    result.changed += places


def _spent(candidate: Candidate, budget: Budget, result: Result) -> Budget:
    """Return what the drain script may spend; an engine of class B without gauges drains after SIGTERM."""
    if candidate.profile.shutdown_class != "B" or candidate.profile.has_gauges:
        return budget
    result.reasons.append(Reason.SETTLE_ONLY)
    return Budget(budget.settle, 0, budget.reserve)


def _sidecar(candidate: Candidate, part: Part, spent: Budget, result: Result) -> list[str]:
    """Add the init container, or bring ours up to date, and return its places.

    It logs to its own output and never calls the server's own drain endpoint: whoever reaches the sidecar's port could
    otherwise drain a serving pod.
    """
    target = replace(_target(candidate, part), base="", log="-", record=None)
    words = parameters(candidate.profile, spent, target)
    is_current = look(candidate.status, ("version",)) == candidate.policy.version
    made, places = changes(candidate.pod, words, candidate.policy.sidecar, is_current=is_current)
    result.changes += [((*candidate.tokens, *at), value) for at, value in made]
    return places


def _unused_sidecar(candidate: Candidate, parts: list[Part], result: Result) -> None:
    """Say that an earlier sidecar of ours is left over: only `add` is ever made, so it is not taken out."""
    index = standing(candidate.pod)
    if index is not None and not any(part.rung.name == "sidecar" and not part.keeps for part in parts):
        message = "no hook calls this sidecar any more: remove it"
        path = f"{candidate.path}{place_of(index)}"
        result.findings.append(Finding(Reason.SIDECAR_UNUSED, Level.WARNING, path, message))


def _target(candidate: Candidate, part: Part) -> Target:
    endpoint, spec = part.endpoint, candidate.pod["spec"]
    shared = spec.get("hostPID") is True or spec.get("shareProcessNamespace") is True
    record = part.server.container.get("terminationMessagePath")
    return Target(
        ports=tuple(dict.fromkeys((*endpoint.ports, *endpoint.extra_ports))),
        urls=endpoint.metrics_urls,
        base=endpoint.base,
        is_guess=not endpoint.is_known and not endpoint.is_socket,
        log="none" if shared else None,
        record=record if isinstance(record, str) and record != "/dev/termination-log" else None,
    )


def _probe(candidate: Candidate, part: Part, result: Result) -> None:
    tokens: Tokens = (*part.server.tokens, "readinessProbe")
    place = field_path(tokens)
    probe = readiness_probe(candidate.profile, part.endpoint)
    reason = probe_reason(part.server, part.endpoint, candidate.overrides)
    present = part.server.container.get("readinessProbe")
    if candidate.was_ours(place) and present in (probe, {**probe, **FILLED_IN}):
        reason, probe = Reason.PROBE_ADDED, present
    result.reasons.append(reason)
    if reason is Reason.PROBE_ADDED:
        result.changes.append(((*candidate.tokens, *tokens), probe))
        result.changed.append(place)
    elif reason is Reason.PROBE_KEPT:
        result.kept.append(place)


def _post_start(candidate: Candidate, part: Part, result: Result) -> None:
    tokens: Tokens = (*part.server.tokens, *_POST_START)
    place = field_path(tokens)
    wanted, present = candidate.profile.post_start, look(part.server.container, _POST_START)
    if present and not (candidate.was_ours(place) and present == wanted):
        result.kept.append(place)
    elif wanted:
        result.changes.append(((*candidate.tokens, *tokens), wanted))
        result.changed.append(place)
        result.reasons.append(Reason.POST_START_ADDED)


def _native(candidate: Candidate, part: Part, result: Result) -> None:
    """Append the engine's own drain flag to its args."""
    if not part.native.is_on:
        return
    result.reasons.append(Reason.NATIVE_DRAIN_ADDED)
    result.changed.append(args_place(part.server))
    at: Tokens = (*candidate.tokens, *part.server.tokens, "args", "-")
    result.changes += [(at, word) for word in part.native.words]


def _grace(candidate: Candidate, budget: Budget, reason: Reason, result: Result) -> None:
    place, spec = budgets.GRACE_PLACE, budgets.spec_grace(candidate.pod)
    result.reasons.append(reason)
    if reason is Reason.GRACE_RAISED:
        if budget.grace > spec:
            result.changes.append(((*candidate.tokens, *budgets.GRACE_AT), budget.grace))
        result.changed.append(place)
    else:
        result.kept.append(place)  # an absent one too: the API server fills it in, and the status must not change
    result.findings += budgets.long_grace(max(budget.grace, spec), f"{candidate.path}{place}")


def _status(candidate: Candidate, parts: list[Part], budget: Budget, result: Result) -> Json:
    """Return the status annotation: what was done and why; no time in it, so that a second pass says the same."""
    rungs = dict.fromkeys("kept" if part.keeps else part.rung.name for part in parts)
    return {
        "v": 1,
        "version": candidate.policy.version,
        "profile": f"{candidate.profile.name}@{candidate.profile.digest}",
        "container": ",".join(part.server.container["name"] for part in parts),
        "hook": ",".join(rungs),
        "budget": {
            "settle": budget.settle, "drain": budget.drain, "reserve": budget.reserve, "grace": budget.grace,
        },
        "changed": result.changed,
        "kept": result.kept,
        "reasons": [str(reason) for reason in result.reasons],
    }  # fmt: skip
