"""Remembers decisions: the replicas of one template are decided and proven once, however many a rollout creates.

What a decision depends on is known by its digest only; no object is kept (O3). What a digest may leave out is held by
a test: no decision reads it. Nothing is decided here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import orjson

from webhook.core.decision import Request
from webhook.core.profile import Json

# What the API server makes different in each pod of one template: the name, and the volume with the pod's token.
OWN_METADATA: Final = ("name", "generateName", "uid", "resourceVersion", "creationTimestamp", "managedFields")
OWN_VOLUMES: Final = "volumes"
OWN_MOUNTS: Final = "volumeMounts"
GROUPS: Final = ("containers", "initContainers")
MOST: Final = 256  # templates; a few KB each

Answer = TypeVar("Answer")


class Recall(Generic[Answer]):
    """A function of a request whose answers are remembered; the oldest one is forgotten first."""

    def __init__(self, answer: Callable[[Request], Answer], most: int = MOST) -> None:
        """Wrap a function that depends on nothing but the request, and not on its uid, name, user or dry run."""
        self._answer = answer
        self._most = most
        self._known: dict[bytes, Answer] = {}

    def __call__(self, request: Request) -> Answer:
        """Answer, from memory where a request that is decided alike was answered before."""
        key = digest(request)
        if key is None:
            return self._answer(request)
        if key not in self._known:
            found = self._answer(request)
            if len(self._known) >= self._most:
                del self._known[next(iter(self._known))]
            self._known[key] = found
        return self._known[key]


def digest(request: Request) -> bytes | None:
    """Return what stands for all that a decision depends on; None where it must not be remembered.

    Only the creation of a plain pod is: all else is rare, and an update depends on the old object too.
    """
    pod = request.object
    if request.operation != "CREATE" or request.old is not None or not isinstance(pod, dict):
        return None
    metadata, spec = pod.get("metadata"), pod.get("spec")
    if pod.get("kind") != "Pod" or not isinstance(metadata, dict) or not isinstance(spec, dict):
        return None
    groups = {group: spec[group] for group in GROUPS if spec.get(group) is not None}
    if not all(isinstance(items, list) for items in groups.values()):
        return None
    alike = {group: [_mounted_alike(item) for item in items] for group, items in groups.items()}
    seen = {**pod, "metadata": _without(metadata, OWN_METADATA), "spec": {**_without(spec, (OWN_VOLUMES,)), **alike}}
    rest = [request.subresource, request.namespace, request.kind, request.labels, request.annotations]
    try:
        return hashlib.sha256(orjson.dumps([seen, rest])).digest()
    except TypeError:  # nested deeper than the encoder goes
        return None


def _mounted_alike(container: Json) -> Json:
    """Leave out the mounts of a container; what is no list of mounts stays, since it is a mistake that is found."""
    if isinstance(container, dict) and isinstance(container.get(OWN_MOUNTS), list):
        return _without(container, (OWN_MOUNTS,))
    return container


def _without(mapping: dict[str, Json], keys: tuple[str, ...]) -> dict[str, Json]:
    return {key: value for key, value in mapping.items() if key not in keys}
