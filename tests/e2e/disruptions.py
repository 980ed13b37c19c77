"""What happens to the running Deployments of a story. Each returns at once or when the pods have left."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from tests.cluster.cluster import Cluster
from tests.cluster.objects import Json
from tests.cluster.pins import NODE
from tests.e2e.lines import Lines
from tests.e2e.timeline import Watch
from tests.e2e.workload import NAME, REPLICAS, busiest, name_of, pods

WITH: Final = "with"  # drainhook's label
WITHOUT: Final = "without"


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a story plays: the namespace with the labelled Deployment and the one without label, and their watches."""

    cluster: Cluster
    namespaces: Mapping[str, str]
    watches: Mapping[str, Watch]

    def on_both(self, act: Callable[[str], object]) -> None:
        """Do something in the namespaces of both sides at the same time."""
        with ThreadPoolExecutor(len(self.namespaces)) as threads:
            list(threads.map(act, self.namespaces.values()))

    def on_busiest(self, act: Callable[[str, str], object]) -> None:
        """Do something to the busiest pod of each side, by namespace and name, at the same time."""
        self.on_both(lambda space: act(space, name_of(busiest(self.cluster, space))))


Disruption = Callable[[Scene], None]


def delete_pod(scene: Scene) -> None:
    """Delete one pod of two; the Deployment makes another."""
    _delete(scene)


def restart(scene: Scene) -> None:
    """Replace all pods."""
    scene.on_both(lambda space: scene.cluster.kubectl("rollout", "restart", f"deployment/{NAME}", "-n", space))


def scale_down(scene: Scene) -> None:
    """Go from two pods to one; the cost makes the controller take the busiest."""

    def lower(space: str, pod: str) -> None:
        scene.cluster.kubectl("annotate", "pod", pod, "-n", space, "controller.kubernetes.io/pod-deletion-cost=-1")
        _scale(scene, space, 1)

    scene.on_busiest(lower)


def scale_up(scene: Scene) -> None:
    """Go back to all pods."""
    scene.on_both(lambda space: _scale(scene, space, REPLICAS))


def evict(scene: Scene) -> None:
    """Evict one pod, as an autoscaler does."""

    def ask(space: str, pod: str) -> None:
        metadata = {"name": pod, "namespace": space}
        eviction = json.dumps({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata})
        path = f"/api/v1/namespaces/{space}/pods/{pod}/eviction"
        scene.cluster.kubectl("create", "--raw", path, "-f", "-", stdin=eviction)

    scene.on_busiest(ask)


def drain_node(scene: Scene) -> None:
    """Drain the only node of the story's pods under a budget of one pod at a time; it takes pods again after the first.

    `kubectl drain` waits for the successor of one pod before it evicts the next.
    """
    for space in scene.namespaces.values():
        scene.cluster.apply(_budget(space))
    with Lines(_drain(scene)) as drain:
        for watch in scene.watches.values():
            watch.wait_gone(1)
        uncordon(scene)
        code = drain.close_input(240)
    assert code == 0, f"kubectl drain ended with {code}"


def drain_node_at_once(scene: Scene) -> None:
    """Evict all pods of the story together and wait until they have gone; there is no other node for new ones."""
    with Lines(_drain(scene)) as drain:
        code = drain.close_input(240)
    assert code == 0, f"kubectl drain ended with {code}"


def uncordon(scene: Scene) -> None:
    """Let the node take pods again."""
    scene.cluster.kubectl("uncordon", NODE)


def kill_engine(scene: Scene) -> None:
    """Let the busiest server stop listening while its process lives; the liveness probe finds it."""

    def kill(space: str, pod: str) -> None:
        scene.cluster.kubectl("exec", pod, "-n", space, "-c", "server", "--", "sh", "-c", "kill -USR1 1")

    scene.on_busiest(kill)


def replace_restarted(scene: Scene) -> None:
    """Delete the pods whose server was restarted: the next restart of the same one would wait for its back-off."""
    for space in scene.namespaces.values():
        for pod in pods(scene.cluster, space):
            if any(status["restartCount"] for status in pod["status"].get("containerStatuses", [])):
                scene.cluster.kubectl("delete", "pod", name_of(pod), "-n", space, "--timeout=120s")


def restart_kubelet(scene: Scene) -> None:
    """Delete one pod and restart the kubelet while its hook runs."""
    _delete(scene)
    scene.watches[WITH].wait_hook()
    scene.cluster.restart_kubelet()
    for watch in scene.watches.values():
        watch.follow_logs()


def cut_grace(scene: Scene) -> None:
    """Delete one pod with a grace period that is shorter than a stream."""
    _delete(scene, "--grace-period=1")


def force_delete(scene: Scene) -> None:
    """Delete one pod without any grace period."""
    _delete(scene, "--grace-period=0", "--force")


def nothing(_scene: Scene) -> None:
    """Leave all as it is."""


def _drain(scene: Scene) -> list[str]:
    words = ["drain", NODE, f"--pod-selector=app={NAME}", "--delete-emptydir-data", "--timeout=200s"]
    return [str(scene.cluster.kubectl_path), f"--kubeconfig={scene.cluster.kubeconfig}", *words]


def _budget(space: str) -> Json:
    """Give a PodDisruptionBudget that lets one pod of two go."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": NAME}}}
    metadata = {"name": NAME, "namespace": space}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}


def _delete(scene: Scene, *options: str) -> None:
    def delete(space: str, pod: str) -> None:
        scene.cluster.kubectl("delete", "pod", pod, "-n", space, "--wait=false", *options)

    scene.on_busiest(delete)


def _scale(scene: Scene, space: str, replicas: int) -> None:
    scene.cluster.kubectl("scale", f"deployment/{NAME}", "-n", space, f"--replicas={replicas}")
