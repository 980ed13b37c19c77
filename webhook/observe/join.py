"""Joins what the feeds tell into records: pods, events and EndpointSlices, each at its own speed.

Its memory is bounded: a pod that is gone leaves after its record only its uid behind, for a while. No clock is read
here, every fact brings its time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from webhook.observe.facts import Endpoints, Fact, Pod, PodEvent
from webhook.observe.history import ENDED_PHASES, KEPT, History
from webhook.observe.record import Record, backend_of, unprotected

LINGER_SECONDS: Final = 3.0
"""A record waits so long after the pod is gone: events and endpoints come over watches of their own."""
STRANGER_SECONDS: Final = 60.0
"""An event or endpoint may come before its pod; of pods that never come nothing stays."""
REMEMBERED_SECONDS: Final = 600.0
"""The uid of a pod that is gone is known so long, should an API server's older cache show it again."""
MOST_REMEMBERED: Final = 50_000


@dataclass(frozen=True, slots=True)
class Bare:
    """A pod that should have the hook and has it not, or an old one."""

    namespace: str
    pod: str
    backend: str
    why: str


@dataclass(slots=True)
class Join:
    """The pods of a cluster. `digests` holds the digest of each profile; its names are the known backends.

    Containers that ended before `since` are none of ours.
    """

    digests: Mapping[str, str]
    since: float
    pods: dict[str, History] = field(default_factory=dict)
    slices: dict[str, Mapping[str, bool]] = field(default_factory=dict)
    bare: dict[str, Bare] = field(default_factory=dict)
    due: dict[str, float] = field(default_factory=dict)
    strangers: dict[str, float] = field(default_factory=dict)
    gone: dict[str, float] = field(default_factory=dict)

    def take(self, fact: Fact, now: float) -> None:
        """Take what a watch or a list shows."""
        match fact:
            case Pod():
                self._pod(fact, now)
            case PodEvent():
                self._event(fact, now)
            case Endpoints():
                self._endpoints(fact, now)

    def drop(self, fact: Fact, now: float) -> None:
        """Take that a pod or an EndpointSlice is gone; `fact` is its last state. Events are only ever forgotten."""
        match fact:
            case Pod():
                self._pod(fact, now)
                self._gone(fact.uid, now)
            case Endpoints():
                self._endpoints(Endpoints(fact.slice, {}), now)

    def relist_pods(self, uids: Collection[str], now: float) -> None:
        """Take that these are all pods there are: others went while nobody looked."""
        for uid in [uid for uid, history in self.pods.items() if history.pod is not None and uid not in uids]:
            if self.pods[uid].gone is None:
                self.pods[uid].is_missed = True
                self._gone(uid, now)

    def relist_slices(self, uids: Collection[str], now: float) -> None:
        """Take that these are all EndpointSlices there are."""
        for name in [name for name in self.slices if name not in uids]:
            self._endpoints(Endpoints(name, {}), now)

    def records(self, now: float) -> list[Record]:
        """Return the records that are complete by now, oldest first, and forget what nobody needs any more."""
        made: list[Record] = []
        for uid in [uid for uid, at in self.due.items() if at <= now]:
            made += self._made(uid, now)
        _expire(self.gone, now - REMEMBERED_SECONDS)
        while len(self.gone) > MOST_REMEMBERED:
            del self.gone[next(iter(self.gone))]
        for uid in _expire(self.strangers, now - STRANGER_SECONDS):
            if self.pods[uid].pod is None:
                del self.pods[uid]
        return sorted(made, key=lambda record: (record.finished or record.gone or now, record.uid))

    def unprotected(self) -> Counter[tuple[str, str]]:
        """Count the unprotected pods by backend and why."""
        return Counter((one.backend, one.why) for one in self.bare.values())

    def ending(self) -> Iterator[History]:
        """Yield the pods that are asked to end and are still there."""
        return (one for one in self.pods.values() if one.pod and one.requested is not None and one.gone is None)

    def lost(self) -> Iterator[History]:
        """Yield the pods of which only events since we look are left."""
        return (one for one in self.pods.values() if one.pod is None and one.told_since())

    def _pod(self, pod: Pod, now: float) -> None:
        history = self._history(pod.uid, now)
        if history is None:
            return
        history.merge(pod)
        self._protection(pod, history)
        if history.restarts() or (history.is_over() and not history.is_reported):
            self.due.setdefault(pod.uid, now + LINGER_SECONDS)

    def _event(self, event: PodEvent, now: float) -> None:
        history = self._history(event.pod, now)
        if history is not None:
            history.add(event)

    def _endpoints(self, endpoints: Endpoints, now: float) -> None:
        """Note which pods were ready in a slice and are not any more."""
        before = self.slices.pop(endpoints.slice, {})
        if endpoints.ready:
            self.slices[endpoints.slice] = endpoints.ready
        for uid, was_ready in before.items():
            history = self._history(uid, now) if was_ready and not endpoints.ready.get(uid) else None
            if history is not None:
                history.unready = [*history.unready, now][-KEPT:]

    def _gone(self, uid: str, now: float) -> None:
        history = self.pods.get(uid)
        if history is not None and history.gone is None:
            history.gone = now
            self.due[uid] = now + LINGER_SECONDS
            self.bare.pop(uid, None)

    def _history(self, uid: str, now: float) -> History | None:
        """Return what is known of a pod; None for one whose record is made."""
        if uid in self.gone:
            return None
        if uid not in self.pods:
            self.pods[uid] = History(uid, self.since)
            self.strangers[uid] = now
        return self.pods[uid]

    def _protection(self, pod: Pod, history: History) -> None:
        is_leaving = history.requested is not None or history.gone is not None or pod.phase in ENDED_PHASES
        why = None if is_leaving else unprotected(pod.label if pod.is_wanted else "", pod.profile, self.digests)
        if why is None:
            self.bare.pop(pod.uid, None)
        else:
            backend = backend_of(pod.label, pod.profile, self.digests)
            self.bare[pod.uid] = Bare(pod.namespace, pod.name, backend, why)

    def _made(self, uid: str, now: float) -> Iterator[Record]:
        """Yield the records of one pod that are due; a pod that is gone leaves."""
        history = self.pods[uid]
        del self.due[uid]
        yield from [history.restart_record(ending, self.digests) for ending in history.restarts()]
        if not history.is_reported and (history.gone is not None or history.is_over()):
            history.is_reported = True
            record = history.record(self.digests)
            if record is not None:
                yield record
        if history.gone is not None:
            del self.pods[uid]
            self.strangers.pop(uid, None)
            self.gone[uid] = now


def _expire(times: dict[str, float], before: float) -> list[str]:
    """Remove what is older; times only grow, so the oldest ones stand first."""
    old = []
    for key, at in times.items():
        if at > before:
            break
        old.append(key)
    for key in old:
        del times[key]
    return old
