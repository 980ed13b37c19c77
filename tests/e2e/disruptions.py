"""What happens to a running Deployment. Each returns at once or when the pods have left; the story counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from tests.cluster.cluster import Cluster
from tests.e2e.workload import NAME, name_of, pods

Disruption = Callable[[Cluster, str], None]


def delete_pod(cluster: Cluster, namespace: str) -> None:
    """Delete one pod of two; the Deployment makes another."""
    cluster.kubectl("delete", "pod", _one(cluster, namespace), "-n", namespace, "--timeout=90s")


def restart(cluster: Cluster, namespace: str) -> None:
    """Replace all pods."""
    cluster.kubectl("rollout", "restart", f"deployment/{NAME}", "-n", namespace)
    cluster.kubectl("rollout", "status", f"deployment/{NAME}", "-n", namespace, "--timeout=180s")


def scale_down(cluster: Cluster, namespace: str) -> None:
    """Go from two pods to one."""
    cluster.kubectl("scale", f"deployment/{NAME}", "-n", namespace, "--replicas=1")


def evict(cluster: Cluster, namespace: str) -> None:
    """Evict one pod, as a node drain and an autoscaler do."""
    pod = _one(cluster, namespace)
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": namespace},
    }
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
    cluster.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))


def cut_grace(cluster: Cluster, namespace: str) -> None:
    """Delete one pod with a grace period that is shorter than a stream."""
    cluster.kubectl("delete", "pod", _one(cluster, namespace), "-n", namespace, "--grace-period=1", "--timeout=90s")


def force_delete(cluster: Cluster, namespace: str) -> None:
    """Delete one pod without any grace period."""
    cluster.kubectl("delete", "pod", _one(cluster, namespace), "-n", namespace, "--grace-period=0", "--force")


def _one(cluster: Cluster, namespace: str) -> str:
    return name_of(pods(cluster, namespace)[0])


PROMISED: Final[dict[str, Disruption]] = {
    "pod-delete": delete_pod,
    "rollout-restart": restart,
    "scale-down": scale_down,
    "eviction": evict,
}
LIMITS: Final[dict[str, Disruption]] = {"grace-cut": cut_grace, "force-delete": force_delete}
