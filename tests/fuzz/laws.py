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

from tests.conformance.strategies import CATALOG
from tests.conformance.test_laws import OWNED, differences
from tests.fuzz.oracle import Oracle, Verdict
from webhook.core.admission import decide
from webhook.core.decision import Allow, Patch, Policy, Request
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
    """One form of an accepted object with the patch for it (empty: it is left alone)."""

    seed: str
    kubernetes: Version
    form: str
    before: Any
    plain: Verdict
    patch: Sequence[Any]

    def fault(self, law: str, text: str) -> Fault:
        """Give the fault of this trial."""
        return Fault(law, self.seed, self.kubernetes, self.form, text, self.before, self.patch)


def check(oracle: Oracle, objects: Sequence[tuple[str, Any]]) -> Tally:
    """Judge objects, each beside its seed, without and with our patch."""
    tally = Tally(seen=len(objects))
    trials: list[Trial] = []
    plain = oracle.ask([(document, ()) for _, document in objects])
    for number, ((seed, document), verdict) in enumerate(zip(objects, plain, strict=True)):
        version = VERSIONS[number % len(VERSIONS)]
        if verdict.accepted:
            tally.accepted += 1
            trials += _trials(tally, seed, version, document, verdict)
        else:
            tally.refusals[verdict.stage] += 1
            decide(Request(document), CATALOG, Policy("0.0.0", version))  # may say what it likes, but not raise
    verdicts = oracle.ask([(trial.before, trial.patch) for trial in trials])
    ends: dict[str, Any] = {}
    for trial, verdict in zip(trials, verdicts, strict=True):
        tally.faults += _broken(trial, verdict)
        if ends.setdefault(trial.seed, verdict.shown) != verdict.shown:
            wrong = ", ".join(differences(ends[trial.seed], verdict.shown))
            tally.faults.append(trial.fault("same", f"ends differently than as written: {wrong}"))
    return tally


def _trials(tally: Tally, seed: str, version: Version, document: Any, verdict: Verdict) -> Iterator[Trial]:
    """Decide about an accepted object as it was written and as the API server shows it to a webhook."""
    for form, before in ((WRITTEN, document), (SHOWN, verdict.shown)):
        decision = decide(Request(before), CATALOG, Policy("0.0.0", version))
        if form == SHOWN:
            _count(tally, decision)
        yield Trial(seed, version, form, before, verdict, getattr(decision, "operations", ()))


def _count(tally: Tally, decision: Any) -> None:
    (outcome,) = decision.outcomes
    if isinstance(decision, Patch):
        tally.patched += 1
        tally.hooks[outcome.status["hook"]] += 1
    else:
        tally.left[outcome.reasons[0]] += 1


def _broken(trial: Trial, verdict: Verdict) -> Iterator[Fault]:
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
        if wrong := _foreign(before, after):
            yield trial.fault("owned", f"differs at {wrong}")
    for again in (verdict.patched, verdict.shown):
        second = decide(Request(again), CATALOG, Policy("0.0.0", trial.kubernetes))
        if not isinstance(second, Allow):
            yield trial.fault("second", f"a second pass changes {[item['path'] for item in second.operations]}")


def _foreign(before: Any, after: Any) -> list[str]:
    """Give the paths of the pod (template) that differ and are not ours; outside of a template nothing is ours."""
    outside = []
    if before["kind"] == "Deployment":
        (before, around), (after, around_after) = _split(before), _split(after)
        outside = list(differences(around, around_after))
    return outside + [path for path in differences(before, after) if not OWNED.fullmatch(path)]


def _split(deployment: Any) -> tuple[Any, Any]:
    spec = {key: value for key, value in deployment["spec"].items() if key != "template"}
    return deployment["spec"]["template"], {**deployment, "spec": spec}
