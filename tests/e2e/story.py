"""One story, told: a Deployment with the label and one without, both under load, and a disruption of both, repeated.

What the stories are stands in stories.py, what must come out of them in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError
from tests.cluster.objects import Json
from tests.e2e import proxy
from tests.e2e.disruptions import WITH, WITHOUT, Disruption, Scene, delete_pod, nothing
from tests.e2e.load import Lane
from tests.e2e.timeline import Record, Watch
from tests.e2e.traffic import Count, Traffic
from tests.e2e.workload import create, wait_ready, workload

CLIENTS: Final = ("new", "pool", "nginx")
SIDES: Final = (WITH, WITHOUT)


@dataclass(frozen=True, slots=True)
class Story:
    """What happens to which pods. Without `expected_loss` no request of a labelled Deployment may be lost."""

    name: str
    server: Json
    disrupt: Disruption = delete_pod
    restore: Disruption = nothing  # after the pods have gone
    backend: str = "llamacpp"
    annotations: Json = field(default_factory=dict)
    pod: Json = field(default_factory=dict)  # more of the pod's spec
    ended: int = 1  # pods of each side
    restarts: bool = False  # the server is restarted, no pod goes
    cuts: bool = True  # without the label the server cuts its streams
    hook_end: str = "idle"  # how each drain script ends; empty where none runs
    expected_loss: str = ""
    pauses: bool = True  # pool and proxy pause for longer than an idle window between bursts
    ready_seconds: int = 240
    stream_seconds: float = 2.0  # of each stream on the idle server
    alone: bool = False  # concerns the whole node
    short: bool = True  # told in CI too


class NotBegunError(ClusterError):
    """The Deployments did not get ready: nothing was disrupted yet."""


@dataclass(frozen=True, slots=True)
class Told:
    """What came out of one side: the count of each client, the records of the pods that ended."""

    counts: Mapping[str, Count]
    records: list[Record]

    def total(self, fate: str) -> int:
        """Give how many requests of all clients had a fate."""
        return sum(count[fate] for count in self.counts.values())


def made(story: Story, side: str, namespace: str) -> Json:
    """Give the Deployment of a side."""
    backend = story.backend if side == WITH else ""
    return workload(namespace, story.server, backend=backend, annotations=story.annotations, **story.pod)


def tell(cluster: Cluster, story: Story, namespaces: Mapping[str, str], rounds: int) -> dict[str, Told]:
    """Run the story so many times under one load and give what came out of each side."""
    records: dict[str, list[Record]] = {side: [] for side in SIDES}
    try:
        lanes = _stage(cluster, story, namespaces)
    except ClusterError as error:
        raise NotBegunError(str(error)) from error
    with Traffic(cluster, lanes) as traffic:
        for number in range(rounds):
            with _scene(cluster, namespaces) as scene:
                traffic.wait_for_streams()
                for side, seen in _disrupt(story, scene).items():
                    records[side] += [{"round": number, **record} for record in seen]
        traffic.wait_for_streams()  # the clients go on, whatever became of their connections
        counts = traffic.finish()
    return {side: Told({client: counts[f"{side}/{client}"] for client in CLIENTS}, records[side]) for side in SIDES}


def _stage(cluster: Cluster, story: Story, namespaces: Mapping[str, str]) -> list[Lane]:
    """Bring up both sides with their proxies and give the clients of both."""
    targets = {}
    for side, namespace in namespaces.items():
        targets[side] = create(cluster, made(story, side, namespace))
        proxy.create(cluster, namespace, targets[side])
    lanes = []
    for side, namespace in namespaces.items():
        wait_ready(cluster, namespace, seconds=story.ready_seconds)
        cluster.wait_for(f"http://{targets[side]}{story.server['readinessProbe']['httpGet']['path']}")
        lanes += _lanes(story, side, targets[side], proxy.wait(cluster, namespace))
    return lanes


def _lanes(story: Story, side: str, target: str, by_proxy: str) -> list[Lane]:
    """Give the three clients of a side: connections of its own, kept ones, and the proxy's kept ones."""
    steady = Lane(f"{side}/new", target, story.stream_seconds, workers=1, keeps=False, bursts=False)
    pool = Lane(f"{side}/pool", target, story.stream_seconds, workers=2, keeps=True, bursts=story.pauses)
    proxied = Lane(f"{side}/nginx", by_proxy, story.stream_seconds, workers=2, keeps=False, bursts=story.pauses)
    return [steady, pool, proxied]


@contextmanager
def _scene(cluster: Cluster, namespaces: Mapping[str, str]) -> Iterator[Scene]:
    with ExitStack() as stack:
        watches = {side: stack.enter_context(Watch(cluster, space)) for side, space in namespaces.items()}
        yield Scene(cluster, namespaces, watches)


def _disrupt(story: Story, scene: Scene) -> dict[str, list[Record]]:
    """Let it happen, give the records of each side, and return when all is as before."""
    try:
        story.disrupt(scene)
        for watch in scene.watches.values():
            (watch.wait_restarted if story.restarts else watch.wait_gone)(story.ended)
        records = {side: watch.records() for side, watch in scene.watches.items()}
    finally:
        story.restore(scene)
    for space in scene.namespaces.values():
        wait_ready(scene.cluster, space, seconds=story.ready_seconds)
    return records


def summary(told: Mapping[str, Told]) -> dict[str, Any]:
    """Give the counts of both sides, for the message of a failed test."""
    return {side: dict(one.counts) for side, one in told.items()}
