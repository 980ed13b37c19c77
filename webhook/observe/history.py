"""What is known of one pod so far, and the records that follow from it.

Facts come in any order and more than once: each is merged by least, greatest or union, so the order does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from webhook.core.profile import Json
from webhook.observe.facts import EXCEEDED, KILLING, PRESTOP_FAILED, Deletion, Ending, Pod, PodEvent, Running
from webhook.observe.hook import HookRecord
from webhook.observe.record import (
    BY_KUBELET,
    OOM_KILLED,
    Cause,
    Record,
    any_of,
    backend_of,
    cause_of,
    is_sigkill,
)

KEPT: Final = 16  # times of an event or endpoint, the newest: a pod that restarts for months must not grow
_INSTANCES: Final = 4  # restarted instances of a container; a status shows one of them
ENDED_PHASES: Final = frozenset({"Succeeded", "Failed"})
_WATCH_LAG: Final = 1.0  # stamps of different clocks, cut to seconds


@dataclass(slots=True)
class History:
    """One pod. Without `pod` only events or endpoints spoke of it yet; `place` is what they call it."""

    uid: str
    since: float
    pod: Pod | None = None
    place: str = ""
    requested: float | None = None
    deadline: float | None = None
    disruption: str = ""
    status_reason: str = ""
    has_ended: bool = False
    gone: float | None = None
    is_missed: bool = False
    is_reported: bool = False
    running: dict[str, Running] = field(default_factory=dict)
    endings: dict[str, Ending] = field(default_factory=dict)
    restarted: dict[str, list[str]] = field(default_factory=dict)
    events: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    unready: list[float] = field(default_factory=list)
    sidecar: HookRecord | None = None

    def merge(self, pod: Pod) -> None:
        """Take what a pod says."""
        self.pod = pod
        self._delete(pod.deletion)
        self.disruption = max(self.disruption, pod.disruption)
        self.status_reason = max(self.status_reason, pod.status_reason if pod.disruption == BY_KUBELET else "")
        self.has_ended |= pod.phase in ENDED_PHASES
        self.sidecar = pod.sidecar or self.sidecar
        for one in pod.running:
            before = self.running.get(one.container)
            if before is None or one.started > before.started:
                self.running[one.container] = one
        for ending in pod.endings:
            known = self.endings.get(ending.id)
            is_told = ending.id in self.restarted.get(ending.container, ())
            if not is_told and (known is None or not known.is_restarted):
                self.endings[ending.id] = ending

    def add(self, event: PodEvent) -> None:
        """Take what the kubelet told of the pod."""
        self.place = f"{event.namespace}/{event.name}"
        key = (event.reason, event.container)
        self.events[key] = sorted({*self.events.get(key, ()), *event.times})[-KEPT:]

    def told_since(self) -> list[str]:
        """Return the reasons of the events since we look."""
        return sorted({reason for (reason, _), times in self.events.items() if times and times[-1] >= self.since})

    def restarts(self) -> list[Ending]:
        """Return the containers that ended and were started again since we look, whose record is not made yet."""
        return [one for one in self.endings.values() if one.is_restarted and self._is_restart(one)]

    def is_over(self) -> bool:
        """Say whether the kubelet itself ended the pod since we look; it then stays as a failed one."""
        if not self.has_ended or self.disruption != BY_KUBELET or self._open():
            return False
        return any((one.finished or 0.0) >= self.since for one in self._finals())

    def restart_record(self, ending: Ending, digests: Mapping[str, str]) -> Record:
        """Make the record of a restarted container; it is made once."""
        assert self.pod is not None  # noqa: S101 (an ending comes with a pod)
        del self.endings[ending.id]
        told = [*self.restarted.get(ending.container, ()), ending.id]
        self.restarted[ending.container] = told[-_INSTANCES:]
        first, last = ending.started or 0.0, (ending.finished or 0.0) + _WATCH_LAG
        killing = [at for at in self._times(KILLING, {ending.container}) if first <= at <= last]
        stopping = max(killing, default=None)
        grace = self.pod.probe_grace.get(ending.container, self.pod.grace)
        deadline = None if stopping is None else stopping + grace
        kill = is_sigkill(ending, deadline, is_sure=False)
        return Record(
            **self._common(digests),
            cause=Cause.RESTART,
            container=ending.container,
            deleted=None,
            grace=grace,
            endpoint_not_ready=min((at for at in self.unready if first <= at <= last), default=None),
            stopping=stopping,
            finished=ending.finished,
            gone=None,
            seconds=_span(stopping, ending.finished),
            exit_code=ending.exit_code if ending.is_known else None,
            # A 137 that no Killing event announced is the container's own: a signal from inside, or a crash.
            sigkill=False if kill is None and ending.is_known else kill,
            oom=ending.reason == OOM_KILLED if ending.is_known else None,
            prestop_failed=any(first <= at <= last for at in self._times(PRESTOP_FAILED, {ending.container})),
            hook=ending.hook,
        )

    def record(self, digests: Mapping[str, str]) -> Record | None:
        """Make the record of the pod's end; None where nothing ran any more, or never did.

        A pod that ended by itself is deleted with a grace period of 0, and nobody disrupted it.
        """
        if self.pod is None or (self.has_ended and self.deadline is None and not self.disruption):
            return None
        finals, still = self._finals(), self._open()
        if not finals and not still:
            return None
        main = max(finals, key=self._weight, default=None)
        is_sure = self.disruption == BY_KUBELET or any(key == EXCEEDED for key, _ in self.events)
        finished = max((one.finished for one in finals if one.finished is not None), default=None)
        lost = [None] if still else []
        is_deleted = self.requested is not None and not (finished is not None and finished < self.requested)
        deleted = self.requested if is_deleted else None
        stopping = self._stopping(main, deleted)
        began = stopping if deleted is None else deleted
        return Record(
            **self._common(digests),
            cause=cause_of(self.disruption, self.status_reason, is_deleted=deleted is not None),
            container=main.container if main else None,
            deleted=deleted,
            grace=self._grace(deleted),
            endpoint_not_ready=self._not_ready(began),
            stopping=stopping,
            finished=finished,
            gone=self.gone,
            seconds=None if still or not all(one.is_known for one in finals) else _span(began, finished),
            exit_code=main.exit_code if main and main.is_known else None,
            sigkill=any_of([*(is_sigkill(one, self.deadline, is_sure=is_sure) for one in finals), *lost]),
            oom=any_of([*((one.reason == OOM_KILLED if one.is_known else None) for one in finals), *lost]),
            prestop_failed=any(at >= (began or 0) - _WATCH_LAG for at in self._times(PRESTOP_FAILED, self._servers())),
            hook=(main.hook if main else None) or self.sidecar,
            is_forced=self.requested is not None and self.deadline is None,
            is_missed=self.is_missed,
        )

    def _delete(self, deletion: Deletion | None) -> None:
        """Take the earliest request and the earliest deadline.

        A user may shorten the grace period later. The kubelet's last call has a period of 0, as a forced deletion has:
        it says nothing about when SIGKILL was due.
        """
        if deletion is None:
            return
        self.requested = _least(self.requested, deletion.requested)
        if deletion.grace > 0:
            self.deadline = _least(self.deadline, deletion.deadline)

    def _common(self, digests: Mapping[str, str]) -> dict[str, Json]:
        pod = self.pod
        assert pod is not None  # noqa: S101 (as above)
        backend = backend_of(pod.label, pod.profile, digests)
        about = {"namespace": pod.namespace, "pod": pod.name, "uid": pod.uid, "owner": pod.owner}
        return {**about, "backend": backend, "profile": pod.profile}

    def _servers(self) -> set[str]:
        """Return the containers that count: the servers that drainhook patched, else all of them (as an empty set)."""
        return set(self.pod.servers) if self.pod else set()

    def _counted(self, containers: Iterable[str]) -> set[str]:
        """Leave out what is no server, unless no server is among them (the status names one that is no more)."""
        found = set(containers)
        return found & self._servers() or found

    def _is_restart(self, ending: Ending) -> bool:
        if ending.finished is None or ending.finished < self.since:
            return False
        return self.requested is None or ending.finished < self.requested

    def _open(self) -> list[Running]:
        """Return the instances of which no end is known."""
        ended = {*self.endings, *(one for told in self.restarted.values() for one in told)}
        found = [one for one in self.running.values() if one.id not in ended]
        servers = self._counted(self.running)
        return [one for one in found if one.container in servers]

    def _finals(self) -> list[Ending]:
        """Return the endings that belong to the pod's own: not those before the request, or of what was restarted."""
        ended = [one for one in self.endings.values() if self._is_final(one)]
        servers = self._counted([*self.running, *(one.container for one in ended)])
        return [one for one in ended if one.container in servers]

    def _is_final(self, ending: Ending) -> bool:
        if ending.is_restarted or (ending.started is None and ending.container not in self.running):
            return False
        if self.disruption == BY_KUBELET or self.requested is None or ending.finished is None:
            return True
        return ending.finished >= self.requested

    def _weight(self, ending: Ending) -> tuple[bool, bool, bool, float, str]:
        """Order endings by what a reader must know: SIGKILL, OOM kill, the hook's record, the last one."""
        killed = is_sigkill(ending, self.deadline, is_sure=self.disruption == BY_KUBELET) is True
        return killed, ending.reason == OOM_KILLED, ending.hook is not None, ending.finished or 0.0, ending.container

    def _grace(self, deleted: float | None) -> int | None:
        """Return the period that counted; the kubelet's own ones are not in the API."""
        if deleted is not None and self.deadline is not None:
            return round(self.deadline - deleted)
        return 0 if self.requested is not None and self.deadline is None else None

    def _stopping(self, main: Ending | None, deleted: float | None) -> float | None:
        """Return the first Killing event of this end; a kubelet that is restarted meanwhile writes another one."""
        containers = {main.container} if main else self._servers()
        earliest = deleted - _WATCH_LAG if deleted is not None else main.started if main else None
        times = self._times(KILLING, containers)
        return None if earliest is None else min((at for at in times if at >= earliest), default=None)

    def _not_ready(self, began: float | None) -> float | None:
        """Return when the endpoint first left because of this end: a pod may miss a probe long before it."""
        return min((at for at in self.unready if began is not None and at >= began - _WATCH_LAG), default=None)

    def _times(self, reason: str, containers: set[str]) -> Iterator[float]:
        """Yield the times of an event, of some containers or (as an empty set) of any."""
        for (kind, container), times in self.events.items():
            if kind == reason and (not containers or container in containers):
                yield from times


def _least(one: float | None, other: float) -> float:
    return other if one is None else min(one, other)


def _span(began: float | None, finished: float | None) -> float | None:
    return None if began is None or finished is None else max(0.0, finished - began)
