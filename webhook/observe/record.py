"""The record of one shutdown, and the verdict on it: a pod that went, or a container that was restarted.

Every time is in seconds since the epoch, and whole unless said otherwise: the API has no finer ones. What nobody said
is None, and never taken for "no".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from webhook.observe.facts import Ending
from webhook.observe.hook import HookRecord

OTHER: Final = "other"
SIGKILL_CODE: Final = 137
OOM_KILLED: Final = "OOMKilled"
SLACK_SECONDS: Final = 2
"""Deadline and end are cut to whole seconds, each by itself, and the kubelet cuts the hook's time as well."""


class Cause(StrEnum):
    """Why a pod or container ended, as far as the API tells: rollout, scale-down and a user's delete look the same."""

    DELETED = "deleted"
    EVICTED = "evicted"
    PREEMPTED = "preempted"
    NODE_TAINT = "node_taint"
    NODE_PRESSURE = "node_pressure"
    NODE_SHUTDOWN = "node_shutdown"
    NODE_GONE = "node_gone"
    RESTART = "restart"
    UNKNOWN = "unknown"


BY_KUBELET: Final = "TerminationByKubelet"
_CAUSES: Final = {
    "EvictionByEvictionAPI": Cause.EVICTED,
    "PreemptionByScheduler": Cause.PREEMPTED,
    "DeletionByTaintManager": Cause.NODE_TAINT,
    "DeletionByPodGC": Cause.NODE_GONE,
}
_KUBELETS: Final = {
    "Evicted": Cause.NODE_PRESSURE,
    "Terminated": Cause.NODE_SHUTDOWN,
    "Preempting": Cause.PREEMPTED,
}


@dataclass(frozen=True, slots=True)
class Record:
    """One shutdown. `stopping` is the kubelet's Killing event: a hook begins with it, SIGTERM follows without one.

    `gone` and `endpoint_not_ready` are when our watch said so, with fractions. `seconds` runs from the request (of a
    restart: from the Killing event) to the end of the last server. `is_missed`: the deletion was only found missing in
    a later list.
    """

    namespace: str
    pod: str
    uid: str
    owner: tuple[str, str] | None
    backend: str
    profile: str | None
    cause: Cause
    container: str | None
    deleted: float | None
    grace: int | None
    endpoint_not_ready: float | None
    stopping: float | None
    finished: float | None
    gone: float | None
    seconds: float | None
    exit_code: int | None
    sigkill: bool | None
    oom: bool | None
    prestop_failed: bool
    hook: HookRecord | None
    is_forced: bool = False
    is_missed: bool = False

    @property
    def inflight_at_sigterm(self) -> float | None:
        """What was in flight when SIGTERM came, where the hook left a record."""
        return None if self.hook is None else self.hook.inflight_at_sigterm

    @property
    def hook_ended(self) -> float | None:
        """When the hook ended, reckoned from the Killing event and the seconds of its own record."""
        if self.hook is None or self.stopping is None:
            return None
        return self.stopping + self.hook.seconds


def cause_of(disruption: str, status_reason: str, *, is_deleted: bool) -> Cause:
    """Return why a pod ended: its DisruptionTarget condition, for the kubelet's own the pod's reason beside it."""
    if disruption == BY_KUBELET:
        return _KUBELETS.get(status_reason, Cause.UNKNOWN)
    if disruption in _CAUSES:
        return _CAUSES[disruption]
    return Cause.DELETED if is_deleted else Cause.UNKNOWN


def is_sigkill(ending: Ending, deadline: float | None, *, is_sure: bool) -> bool | None:
    """Say whether SIGKILL at the end of the grace period ended a container; None where it cannot be known.

    | exit code | the rest | SIGKILL |
    |---|---|---|
    | unknown (the kubelet lost the container and writes 137) | any | None |
    | not 137 | any | False |
    | 137 | reason OOMKilled | False |
    | 137 | `is_sure`: the kubelet says that it killed by a period of its own, or that the period was exceeded | True |
    | 137 | no deadline known | None |
    | 137 | ended more than two seconds before the deadline: it, or its own children, did it | False |
    | 137 | later | True |
    """
    if not ending.is_known:
        return None
    if ending.exit_code != SIGKILL_CODE or ending.reason == OOM_KILLED:
        return False
    if is_sure:
        return True
    if deadline is None or ending.finished is None:
        return None
    return ending.finished >= deadline - SLACK_SECONDS


def any_of(verdicts: Iterable[bool | None]) -> bool | None:
    """Return True where one is, else None where one is unknown, else False."""
    found = set(verdicts)
    return True if True in found else None if None in found else False


def backend_of(label: str, profile: str | None, digests: Mapping[str, str]) -> str:
    """Return the profile's name from a closed set: that of the status annotation, else of the label, else `other`."""
    name = profile.partition("@")[0] if profile else label
    return name if name in digests else OTHER


def unprotected(label: str, profile: str | None, digests: Mapping[str, str]) -> str | None:
    """Say why a pod lacks the hook that it should have: `not_patched`, `old_profile`, or None.

    A profile that this catalog does not know cannot be compared.
    """
    if profile is None:
        return NOT_PATCHED if label else None
    name, _, digest = profile.partition("@")
    return OLD_PROFILE if name in digests and digests[name] != digest else None


NOT_PATCHED: Final = "not_patched"
OLD_PROFILE: Final = "old_profile"
UNPROTECTED: Final = (NOT_PATCHED, OLD_PROFILE)
