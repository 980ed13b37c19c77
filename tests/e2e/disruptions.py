"""What happens to a running Deployment. Each returns at once or when the pods have left; the story counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from tests.cluster.cluster import Cluster
from tests.e2e.workload import NAME, busiest, name_of

Disruption = Callable[[Cluster, str], None]


def delete_pod(cluster: Cluster, namespace: str) -> None:
    """Delete one pod of two; the Deployment makes another."""
    _delete(cluster, namespace)


def restart(cluster: Cluster, namespace: str) -> None:
    """Replace all pods."""
    cluster.kubectl("rollout", "restart", f"deployment/{NAME}", "-n", namespace)
    cluster.kubectl("rollout", "status", f"deployment/{NAME}", "-n", namespace, "--timeout=180s")


def scale_down(cluster: Cluster, namespace: str) -> None:
    """Go from two pods to one; the cost makes the controller take the busiest."""
    pod = name_of(busiest(cluster, namespace))
    cluster.kubectl("annotate", "pod", pod, "-n", namespace, "controller.kubernetes.io/pod-deletion-cost=-1")
    cluster.kubectl("scale", f"deployment/{NAME}", "-n", namespace, "--replicas=1")


def evict(cluster: Cluster, namespace: str) -> None:
    """Evict one pod, as a node drain and an autoscaler do."""
    pod = name_of(busiest(cluster, namespace))
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": namespace},
    }
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
    cluster.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))


def cut_grace(cluster: Cluster, namespace: str) -> None:
    """Delete one pod with a grace period that is shorter than a stream."""
    _delete(cluster, namespace, "--grace-period=1")


def force_delete(cluster: Cluster, namespace: str) -> None:
    """Delete one pod without any grace period."""
    _delete(cluster, namespace, "--grace-period=0", "--force")


def _delete(cluster: Cluster, namespace: str, *options: str) -> None:
    pod = name_of(busiest(cluster, namespace))
    cluster.kubectl("delete", "pod", pod, "-n", namespace, "--wait=false", *options)


PROMISED: Final[dict[str, Disruption]] = {
    "pod-delete": delete_pod,
    "rollout-restart": restart,
    "scale-down": scale_down,
    "eviction": evict,
}
LIMITS: Final[dict[str, Disruption]] = {"grace-cut": cut_grace, "force-delete": force_delete}
