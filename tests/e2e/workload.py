"""The workloads of the stories, with and without drainhook's label, and how they get ready."""

from __future__ import annotations

import re
from typing import Any

from tests.cluster import recipes
from tests.cluster.cluster import Cluster
from tests.cluster.objects import Json, container, deployment, service
from webhook import names

NAME = "app"
BUDGET = {names.SETTLE: "3", names.DRAIN: "30"}
STREAM_SECONDS = 2.0
_GAUGES = re.compile(r"^(?:llamacpp:requests_processing|inflight_requests) (\S+)", re.MULTILINE)


def llama(**fields: Any) -> Json:
    """Give llama.cpp's server; without a hook it ends at once on SIGTERM and cuts its streams."""
    return container(recipes.LLAMA, 8080, "/health", args=["--metrics", "-np", "4"], **fields)


def workload(namespace: str, server: Json, *, backend: str = "", annotations: Json | None = None) -> Json:
    """Give a Deployment of two pods; `backend` labels the template and sets the short budget of the stories."""
    made = deployment(NAME, namespace, [server], replicas=2)
    if backend:
        metadata = made["spec"]["template"]["metadata"]
        metadata["labels"][names.BACKEND] = backend
        metadata["annotations"] = {**BUDGET, **(annotations or {})}
    return made


def roll_out(cluster: Cluster, made: Json) -> str:
    """Create the Deployment and its Service, wait until both serve, and give the Service's address."""
    namespace = made["metadata"]["namespace"]
    cluster.apply(made, service(NAME, namespace))
    wait_ready(cluster, namespace)
    address = cluster.get("service", NAME, "-n", namespace)["spec"]["clusterIP"]
    server = made["spec"]["template"]["spec"]["containers"][0]
    cluster.wait_for(f"http://{address}{server['readinessProbe']['httpGet']['path']}")
    return str(address)


def wait_ready(cluster: Cluster, namespace: str) -> None:
    """Return when the rollout is done."""
    cluster.kubectl("rollout", "status", f"deployment/{NAME}", "-n", namespace, "--timeout=180s")


def pods(cluster: Cluster, namespace: str) -> list[Json]:
    """Give the Deployment's pods that are not leaving."""
    found = cluster.get("pods", "-n", namespace, "-l", f"app={NAME}")["items"]
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def busiest(cluster: Cluster, namespace: str) -> Json:
    """Give the pod with the most requests in flight, so that a disruption meets some."""
    return max(pods(cluster, namespace), key=lambda pod: _in_flight(cluster, pod))


def _in_flight(cluster: Cluster, pod: Json) -> float:
    port = pod["spec"]["containers"][0]["ports"][0]["containerPort"]
    page = cluster.run("curl", "-s", "--max-time", "5", f"http://{pod['status']['podIP']}:{port}/metrics").stdout
    return sum(float(value) for value in _GAUGES.findall(page))


def name_of(pod: Json) -> str:
    """Give the name of a pod."""
    return str(pod["metadata"]["name"])
