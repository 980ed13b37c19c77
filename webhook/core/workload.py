"""Where the pod templates sit in each kind, which is the table KINDS, and which of their fields may be written.

What stands in a template is looked at in `webhook.core.soundness`. No field is changed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from webhook.core.patch import Tokens, field_path, look
from webhook.core.profile import Json


@dataclass(frozen=True, slots=True)
class Kind:
    """Where templates sit in a kind (`*` is any list index).

    `labels` is the only place that may be written where the kind lacks fields of a pod; `workers` are the paths whose
    pods are members of a group that another pod leads; `batch` kinds are left alone.
    """

    templates: tuple[str, ...] = ()
    labels: str = ""
    workers: tuple[str, ...] = ()
    batch: bool = False


_TEMPLATE = Kind(templates=("spec.template",))
_BATCH = Kind(batch=True)
_RAY = ("headGroupSpec.template", "workerGroupSpecs.*.template")

KINDS: dict[tuple[str, str], Kind] = {
    ("", "Pod"): Kind(templates=("",)),
    ("", "PodTemplate"): Kind(templates=("template",)),
    ("", "ReplicationController"): _TEMPLATE,
    ("apps", "Deployment"): _TEMPLATE,
    ("apps", "StatefulSet"): _TEMPLATE,
    ("apps", "ReplicaSet"): _TEMPLATE,
    ("apps", "DaemonSet"): _TEMPLATE,
    ("argoproj.io", "Rollout"): _TEMPLATE,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): Kind(
        templates=("spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"),
        workers=("spec.leaderWorkerTemplate.workerTemplate",),
    ),
    ("ray.io", "RayCluster"): Kind(
        templates=tuple(f"spec.{path}" for path in _RAY), workers=("spec.workerGroupSpecs.*.template",)
    ),
    ("ray.io", "RayService"): Kind(
        templates=tuple(f"spec.rayClusterConfig.{path}" for path in _RAY),
        workers=("spec.rayClusterConfig.workerGroupSpecs.*.template",),
    ),
    # No container lifecycle in Knative's Service, no grace period in KServe's runtimes: only the label is written.
    ("serving.knative.dev", "Service"): Kind(labels="spec.template.metadata.labels"),
    ("serving.kserve.io", "ServingRuntime"): Kind(labels="spec.labels"),
    ("serving.kserve.io", "ClusterServingRuntime"): Kind(labels="spec.labels"),
    ("serving.kserve.io", "InferenceService"): Kind(labels="spec.predictor.labels"),
    ("batch", "Job"): _BATCH,
    ("batch", "CronJob"): _BATCH,
    ("ray.io", "RayJob"): _BATCH,
    ("jobset.x-k8s.io", "JobSet"): _BATCH,
}

_SEARCH_DEPTH = 8
_LISTS = 8  # Lists within Lists


@dataclass(frozen=True, slots=True)
class Template:
    """A pod template: its place, the place of its labels, and what the kind allows.

    `writable` is False where only the label may be written, `worker` True for a member that another pod leads,
    `guessed` True where the kind is unknown and the template was found by its shape.
    """

    tokens: Tokens
    labels: Tokens
    writable: bool = True
    worker: bool = False
    guessed: bool = False

    @property
    def path(self) -> str:
        """The field path of the template; empty for a Pod."""
        return field_path(self.tokens)


def kind_of(obj: Json) -> tuple[str, str]:
    """Return (API group, kind) of an object; the version does not matter."""
    version = str(obj.get("apiVersion") or "")
    return (version.rpartition("/")[0], str(obj.get("kind") or ""))


def is_batch(obj: Json) -> bool:
    """Say whether the object is a Job of some kind: it ends by itself and is left alone."""
    kind = KINDS.get(kind_of(obj))
    return kind is not None and kind.batch


def is_list(obj: Json) -> bool:
    """Say whether the object is a List of others."""
    return kind_of(obj)[1].endswith("List") and isinstance(obj.get("items"), list)


def members(obj: Json, at: Tokens = ()) -> Iterator[tuple[Tokens, Json]]:
    """Yield the object, or the objects of a List, with their places."""
    if not is_list(obj) or len(at) >= _LISTS * 2:
        yield at, obj
        return
    for index, item in enumerate(obj["items"]):
        if isinstance(item, dict):
            yield from members(item, (*at, "items", index))


def templates(obj: Json) -> list[Template]:
    """Return the pod templates of one object that is no List, in the order of the table."""
    kind = KINDS.get(kind_of(obj))
    if kind is None:
        return [Template(at, (*at, "metadata", "labels"), guessed=True) for at in _search(obj, ())]
    if kind.labels:
        at = tuple(kind.labels.split("."))
        return [Template(at[:-1], at, writable=False)]
    found = []
    for path in kind.templates:
        places = _places(obj, path.split(".") if path else [], ())
        found += [Template(at, (*at, "metadata", "labels"), worker=path in kind.workers) for at in places]
    return found


def _places(obj: Json, path: list[str], at: Tokens) -> Iterator[Tokens]:
    """Follow a path of the table; `*` goes through a list."""
    if not path:
        if isinstance(obj, dict):
            yield at
    elif path[0] == "*":
        for index, item in enumerate(obj if isinstance(obj, list) else []):
            yield from _places(item, path[1:], (*at, index))
    elif isinstance(obj, dict):
        yield from _places(obj.get(path[0]), path[1:], (*at, path[0]))


def _search(obj: Json, at: Tokens) -> Iterator[Tokens]:
    """Find what has the shape of a pod template: `spec.containers` with names and images, below some key."""
    if not isinstance(obj, dict) or len(at) > _SEARCH_DEPTH:
        return
    containers = look(obj, ("spec", "containers"))
    if at and isinstance(containers, list) and containers:
        if all(isinstance(item, dict) and "name" in item and "image" in item for item in containers):
            yield at
        return
    for key, value in obj.items():
        if not isinstance(key, str):
            continue
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from _search(item, (*at, key, index))
        else:
            yield from _search(value, (*at, key))


def owners(obj: Json) -> list[Json]:
    """Return the owner references of an object; what is no such thing counts as absent."""
    found = look(obj, ("metadata", "ownerReferences"))
    return [owner for owner in found if isinstance(owner, dict)] if isinstance(found, list) else []
