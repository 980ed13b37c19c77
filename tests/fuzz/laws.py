"""What must hold for every pod that Kubernetes accepts, checked with its own code. Nothing is generated here.

| law      | it holds when                                                                                        |
|----------|------------------------------------------------------------------------------------------------------|
| accepted | an object that is accepted without the patch is accepted with it, and no API warning is added        |
| owned    | only drainhook's paths differ, in the object as written and after the API server filled it in         |
| library  | the API server's patch library makes the same object of the patch as drainhook's                     |
| second   | a second pass changes nothing, on the object as patched and as the API server fills it in             |
| same     | the object as written (`drainhook patch`) and as the API server shows it (webhook) end the same       |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from zlib import crc32

from tests.conformance.strategies import CATALOG
from tests.conformance.test_laws import OWNED, SIDECAR, differences
from tests.fuzz.oracle import Oracle, Verdict
from webhook.core.admission import decide
from webhook.core.decision import Allow, Patch, Policy, Reason, Request
from webhook.core.patch import apply

Version = tuple[int, int] | None
VERSIONS: Final[tuple[Version, ...]] = (None, (1, 30), (1, 34), (1, 37))  # unknown counts as 1.28
WRITTEN, SHOWN = "as written", "as shown"


@dataclass(frozen=True, slots=True)
class Fault:
    """A law that was broken: by which object, under which seed."""

    law: str
    seed: str
    kubernetes: Version
    form: str
    text: str
    document: Any
    patch: Sequence[Any] = ()


@dataclass(slots=True)
class Tally:
    """What was seen. `hooks` counts the kinds of hook in patches of accepted objects, `refusals` the stages."""

    seen: int = 0
    accepted: int = 0
    patched: int = 0
    hooks: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add another count to this one."""
        self.seen += other.seen
        self.accepted += other.accepted
        self.patched += other.patched
        self.hooks += other.hooks
        self.left += other.left
        self.refusals += other.refusals
        self.faults += other.faults


@dataclass(frozen=True, slots=True)
class Trial:
    """One form of an accepted object with the decision about it."""

    seed: str
    kubernetes: Version
    form: str
    before: Any
    plain: Verdict
    decision: Allow | Patch

    @property
    def patch(self) -> Sequence[Any]:
        """The operations for it; none where it is left alone."""
        return self.decision.operations if isinstance(self.decision, Patch) else ()

    @property
    def is_malformed(self) -> bool:
        """Whether drainhook is stricter on purpose: a null where text belongs is empty text for the API server."""
        return Reason.MALFORMED_OBJECT in self.decision.outcomes[0].reasons

    @property
    def said(self) -> list[str]:
        """What a user is told about it."""
        return sorted(f"{finding.reason} {finding.path}" for finding in self.decision.findings)

    def fault(self, law: str, text: str) -> Fault:
        """Give the fault of this trial."""
        return Fault(law, self.seed, self.kubernetes, self.form, text, self.before, self.patch)


def check(oracle: Oracle, objects: Sequence[tuple[str, Any]]) -> Tally:
    """Judge objects, each beside its seed, without and with our patch."""
    tally = Tally(seen=len(objects))
    trials: list[Trial] = []
    plain = oracle.ask([(document, ()) for _, document in objects])
    for (seed, document), verdict in zip(objects, plain, strict=True):
        version = VERSIONS[crc32(seed.encode()) % len(VERSIONS)]
        if verdict.accepted:
            tally.accepted += 1
            trials += _trials(tally, seed, version, document, verdict)
        else:
            tally.refusals[verdict.stage] += 1
            decide(Request(document), CATALOG, _policy(version))  # may say what it likes, but not raise
    verdicts = oracle.ask([(trial.before, trial.patch) for trial in trials])
    for trial, verdict in zip(trials, verdicts, strict=True):
        tally.faults += broken(trial, verdict)
    ended = list(zip(trials, verdicts, strict=True))
    for written, shown in zip(ended[::2], ended[1::2], strict=True):
        tally.faults += different(*written, *shown)
    return tally


def _policy(version: Version) -> Policy:
    return Policy("0.0.0", version, sidecar=SIDECAR)


def _trials(tally: Tally, seed: str, version: Version, document: Any, verdict: Verdict) -> Iterator[Trial]:
    """Decide about an accepted object as it was written and as the API server shows it to a webhook."""
    for form, before in ((WRITTEN, document), (SHOWN, verdict.shown)):
        decision = decide(Request(before), CATALOG, _policy(version))
        if form == SHOWN:
            count(tally, decision)
        yield Trial(seed, version, form, before, verdict, decision)


def count(tally: Tally, decision: Any) -> None:
    """Count what was decided about an accepted object."""
    (outcome,) = decision.outcomes
    if isinstance(decision, Patch):
        tally.patched += 1
        tally.hooks[outcome.status["hook"]] += 1
    else:
        tally.left[outcome.reasons[0]] += 1


def broken(trial: Trial, verdict: Verdict) -> Iterator[Fault]:
    """Yield the laws that one patched object breaks."""
    if not verdict.accepted:
        yield trial.fault("accepted", f"{verdict.stage}: {verdict.message}")
        return
    if more := set(verdict.warnings) - set(trial.plain.warnings):
        yield trial.fault("accepted", f"new API warnings: {sorted(more)}")
    if not trial.patch:
        return
    if verdict.patched != apply(trial.before, trial.patch):
        yield trial.fault("library", "the API server's patch library makes another object of it")
    for before, after in ((trial.before, verdict.patched), (trial.plain.shown, verdict.shown)):
        if wrong := foreign(before, after):
            yield trial.fault("owned", f"differs at {wrong}")
    for again in (verdict.patched, verdict.shown):
        second = decide(Request(again), CATALOG, _policy(trial.kubernetes))
        if not isinstance(second, Allow):
            yield trial.fault("second", f"a second pass changes {[item['path'] for item in second.operations]}")


def different(written: Trial, one: Verdict, shown: Trial, other: Verdict) -> Iterator[Fault]:
    """Yield how the two forms of one object end differently."""
    if written.is_malformed:
        return
    if one.shown != other.shown:
        wrong = ", ".join(differences(one.shown, other.shown))
        yield shown.fault("same", f"ends differently than as written: {wrong}")
    if written.said != shown.said:
        yield shown.fault("same", f"findings differ: {sorted(set(written.said) ^ set(shown.said))}")


def foreign(before: Any, after: Any) -> list[str]:
    """Give the paths of the pod (template) that differ and are not ours; outside of a template nothing is ours."""
    outside = []
    if before["kind"] == "Deployment":
        (before, around), (after, around_after) = _split(before), _split(after)
        outside = list(differences(around, around_after))
    return outside + [path for path in differences(before, after) if not OWNED.fullmatch(path)]


def _split(deployment: Any) -> tuple[Any, Any]:
    spec = {key: value for key, value in deployment["spec"].items() if key != "template"}
    return deployment["spec"]["template"], {**deployment, "spec": spec}
