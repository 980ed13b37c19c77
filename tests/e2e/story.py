"""One story: a Deployment under load, a disruption, the time lines and the fates of all requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.cluster.cluster import Cluster
from tests.cluster.objects import Json
from tests.e2e.disruptions import Disruption
from tests.e2e.timeline import Watch
from tests.e2e.traffic import Traffic
from tests.e2e.workload import STREAM_SECONDS, roll_out, wait_ready


@dataclass(frozen=True, slots=True)
class Told:
    """What came out: counts per client, records of the pods that ended."""

    counts: dict[str, dict[str, Any]]
    records: list[dict[str, Any]]

    def total(self, fate: str) -> int:
        """Give how many requests of both clients had a fate."""
        return sum(count[fate] for count in self.counts.values())


def tell(cluster: Cluster, made: Json, disruption: Disruption, ended: int, seconds: float = STREAM_SECONDS) -> Told:
    """Run the story; `ended` is how many pods the disruption ends."""
    namespace = made["metadata"]["namespace"]
    address = roll_out(cluster, made)
    with Watch(cluster, namespace) as watch, Traffic(cluster, address, seconds) as traffic:
        traffic.wait_for_streams()
        disruption(cluster, namespace)
        watch.wait_gone(ended)
        wait_ready(cluster, namespace)
        traffic.wait_for_streams(bursts=2)  # the pool goes on, whatever became of its connections
        return Told(traffic.finish(), watch.records())
