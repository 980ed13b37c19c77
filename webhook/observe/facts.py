"""What is kept of a pod, an event or an EndpointSlice: small frozen values, made at once from the object as it came.

Nothing is joined or judged here. What is missing or malformed is None: another client may have written it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from webhook import names
from webhook.core.patch import look
from webhook.core.profile import Json
from webhook.core.status import decode
from webhook.observe.hook import HookRecord, hook_record

KILLING: Final = "Killing"
PRESTOP_FAILED: Final = "FailedPreStopHook"
EXCEEDED: Final = "ExceededGracePeriod"
EVENTS: Final = frozenset({KILLING, PRESTOP_FAILED, EXCEEDED})
STATUS_UNKNOWN: Final = frozenset({"ContainerStatusUnknown", "RestartingAllContainers"})
"""Reasons of endings that the kubelet did not see: it writes exit code 137 without knowing one."""
_CONTAINER: Final = re.compile(r"spec\.(?:initC|c)ontainers\{(.+)\}")


@dataclass(frozen=True, slots=True)
class Ending:
    """One container instance that ended. `is_restarted`: the kubelet has put it into lastState, so it goes on."""

    id: str
    container: str
    exit_code: int | None
    reason: str
    started: float | None
    finished: float | None
    hook: HookRecord | None
    is_restarted: bool

    @property
    def is_known(self) -> bool:
        """Say whether the kubelet saw the container end."""
        return self.reason not in STATUS_UNKNOWN and self.exit_code is not None and self.finished is not None


@dataclass(frozen=True, slots=True)
class Running:
    """One container instance that runs."""

    id: str
    container: str
    started: float


@dataclass(frozen=True, slots=True)
class Deletion:
    """The API's deletionTimestamp is the deadline: the time of the request plus the grace period."""

    deadline: float
    grace: int

    @property
    def requested(self) -> float:
        """When the deletion was asked for, in whole seconds."""
        return self.deadline - self.grace


@dataclass(frozen=True, slots=True)
class Pod:
    """What is kept of a pod. `profile` is that of the status annotation, `servers` the containers that it names.

    `sidecar` is the record of the rung `sidecar`, which drains for the server and ends after it.
    """

    uid: str
    namespace: str
    name: str
    owner: tuple[str, str] | None
    label: str
    is_wanted: bool
    profile: str | None
    servers: tuple[str, ...]
    grace: int
    probe_grace: Mapping[str, int]
    deletion: Deletion | None
    phase: str
    disruption: str
    status_reason: str
    running: tuple[Running, ...]
    endings: tuple[Ending, ...]
    sidecar: HookRecord | None


@dataclass(frozen=True, slots=True)
class PodEvent:
    """One of the kubelet's events about a pod. Repeated ones share an object: only first and last time are kept."""

    pod: str
    namespace: str
    name: str
    reason: str
    container: str
    times: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Endpoints:
    """One EndpointSlice: which pods, by uid, are ready in it."""

    slice: str
    ready: Mapping[str, bool]


Fact: TypeAlias = Pod | PodEvent | Endpoints


def pod(obj: Json) -> Pod:
    """Keep what a record needs of a pod."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    written = decode(_text(metadata.get("annotations"), names.STATUS))
    label = _text(metadata.get("labels"), names.BACKEND)
    owner = _owner(metadata)
    disruption: Json = next((one for one in _dicts(status, "conditions") if one.get("type") == "DisruptionTarget"), {})
    containers = _dicts(status, "containerStatuses")
    return Pod(
        uid=metadata["uid"],
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        owner=owner,
        label=label,
        is_wanted=bool(label) and not _is_left_alone(metadata, owner),
        profile=_text(written, "profile") or None,
        servers=tuple(filter(None, (_text(written, "container") or _annotation(metadata)).split(","))),
        grace=_number(spec.get("terminationGracePeriodSeconds"), 30),
        probe_grace=_probe_grace(spec),
        deletion=_deletion(metadata),
        phase=str(status.get("phase") or ""),
        disruption=str(disruption.get("reason") or "") if disruption.get("status") == "True" else "",
        status_reason=str(status.get("reason") or ""),
        running=tuple(one for status in containers for one in _running(status)),
        endings=tuple(one for status in containers for one in _endings(status)),
        sidecar=_sidecar(status),
    )


def pod_event(obj: Json) -> PodEvent | None:
    """Keep what a record needs of an event, of either group of the API; None for one that no record needs."""
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    if obj.get("reason") not in EVENTS or about.get("kind") != "Pod" or not about.get("uid"):
        return None
    found = _CONTAINER.fullmatch(about.get("fieldPath") or "")
    keys = ("firstTimestamp", "lastTimestamp", "deprecatedFirstTimestamp", "deprecatedLastTimestamp", "eventTime")
    stamps = [seconds(obj.get(key)) for key in keys] + [seconds(look(obj, ("series", "lastObservedTime")))]
    return PodEvent(
        pod=about["uid"],
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
        reason=obj["reason"],
        container=found[1] if found else "",
        times=tuple(sorted({stamp for stamp in stamps if stamp is not None})),
    )


def endpoints(obj: Json) -> Endpoints:
    """Keep which pods are ready in an EndpointSlice; a condition that is absent counts as true, as the API says."""
    ready: dict[str, bool] = {}
    for one in _dicts(obj, "endpoints"):
        uid = look(one, ("targetRef", "uid"))
        if uid and look(one, ("targetRef", "kind")) == "Pod":
            ready[uid] = look(one, ("conditions", "ready")) is not False
    return Endpoints(obj["metadata"]["uid"], ready)


def seconds(stamp: Json) -> float | None:
    """Read a time of the API as seconds since the epoch."""
    if not isinstance(stamp, str):
        return None
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return None


def _is_left_alone(metadata: Json, owner: tuple[str, str] | None) -> bool:
    """Say whether the webhook would not patch a labelled pod, by its contract: opted out, a Job's, a static pod's."""
    is_opted_out = _text(metadata.get("labels"), names.INJECT) == names.INJECT_DISABLED
    is_mirror = bool(_text(metadata.get("annotations"), names.MIRROR_POD))
    return is_opted_out or is_mirror or (owner is not None and owner[0] == "Job")


def _owner(metadata: Json) -> tuple[str, str] | None:
    """Return kind and name of the workload: a ReplicaSet named after a template's hash is made by another one."""
    found = next((one for one in _dicts(metadata, "ownerReferences") if one.get("controller") is True), None)
    if found is None:
        return None
    kind, name = str(found.get("kind")), str(found.get("name"))
    for label, maker in (("pod-template-hash", "Deployment"), ("rollouts-pod-template-hash", "Rollout")):
        ending = "-" + _text(metadata.get("labels"), label)
        if kind == "ReplicaSet" and len(ending) > 1 and name.endswith(ending):
            return maker, name.removesuffix(ending)
    return kind, name


def _annotation(metadata: Json) -> str:
    return _text(metadata.get("annotations"), names.CONTAINER)


def _probe_grace(spec: Json) -> dict[str, int]:
    """Return the grace periods that liveness probes set for a restart."""
    found = {
        one.get("name", ""): look(one, ("livenessProbe", "terminationGracePeriodSeconds"))
        for one in _dicts(spec, "containers")
    }
    return {name: value for name, value in found.items() if isinstance(value, int)}


def _deletion(metadata: Json) -> Deletion | None:
    deadline = seconds(metadata.get("deletionTimestamp"))
    if deadline is None:
        return None
    return Deletion(deadline, _number(metadata.get("deletionGracePeriodSeconds"), 0))


def _sidecar(status: Json) -> HookRecord | None:
    """Return the record that a native sidecar has left in its own termination message."""
    ended = [look(one, ("state", "terminated", "message")) for one in _dicts(status, "initContainerStatuses")]
    return next((found for text in ended if (found := hook_record(text))), None)


def _running(status: Json) -> list[Running]:
    started = seconds(look(status, ("state", "running", "startedAt")))
    identity = status.get("containerID")
    return [Running(identity, status["name"], started)] if started is not None and identity else []


def _endings(status: Json) -> list[Ending]:
    ways = (("state", False), ("lastState", True))
    found = [(look(status, (key, "terminated")), is_restarted) for key, is_restarted in ways]
    return [_ending(status, ended, is_restarted) for ended, is_restarted in found if isinstance(ended, dict)]


def _ending(status: Json, ended: Json, is_restarted: bool) -> Ending:  # noqa: FBT001 (one caller, beside its meaning)
    code, finished = ended.get("exitCode"), seconds(ended.get("finishedAt"))
    return Ending(
        id=ended.get("containerID") or f"{status['name']}@{ended.get('finishedAt')}",
        container=status["name"],
        exit_code=code if isinstance(code, int) else None,
        reason=str(ended.get("reason") or ""),
        started=seconds(ended.get("startedAt")),
        finished=finished,
        hook=hook_record(ended.get("message")),
        is_restarted=is_restarted,
    )


def _dicts(obj: Json, key: str) -> list[Json]:
    """Return the objects of a list that may be null."""
    return [one for one in obj.get(key) or [] if isinstance(one, dict)]


def _text(mapping: Json, key: str) -> str:
    value = mapping.get(key) if isinstance(mapping, dict) else None
    return value if isinstance(value, str) else ""


def _number(value: Json, default: int) -> int:
    return value if isinstance(value, int) else default
