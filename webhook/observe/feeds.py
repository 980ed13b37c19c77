"""What the observer asks the API server for: three collections, and what is kept of each. Nothing is fetched here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.core.profile import Json
from webhook.observe import facts

PODS: Final = "pods"
EVENTS: Final = "events"
SLICES: Final = "endpointslices"
RESOURCES: Final = (SLICES, EVENTS, PODS)
_NOISE: Final = (
    "Scheduled", "FailedScheduling", "Pulling", "Pulled", "Created", "Started", "BackOff", "Unhealthy", "FailedMount",
)  # fmt: skip
"""The most frequent events of pods. A selector cannot say "one of", so these are left out and the rest is dropped."""


@dataclass(frozen=True, slots=True)
class Feed:
    """One collection: its path in the API, what narrows it, and what is kept of an object."""

    resource: str
    path: str
    query: Mapping[str, str]
    keep: Callable[[Json], Any]


def feeds(namespace: str | None, selector: str = "") -> list[Feed]:
    """Return the collections of a namespace, or of all; the pods come last, when what is told of them is there."""
    place = f"/namespaces/{namespace}" if namespace is not None else ""
    only = {"labelSelector": selector} if selector else {}
    noise = ",".join(f"reason!={reason}" for reason in _NOISE)
    about = {"fieldSelector": f"involvedObject.kind=Pod,{noise}"}
    return [
        Feed(SLICES, f"/apis/discovery.k8s.io/v1{place}/{SLICES}", {}, facts.endpoints),
        Feed(EVENTS, f"/api/v1{place}/{EVENTS}", about, facts.pod_event),
        Feed(PODS, f"/api/v1{place}/{PODS}", only, facts.pod),
    ]
