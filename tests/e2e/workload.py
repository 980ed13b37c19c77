"""The workloads of the stories, with and without drainhook's label, and how they get ready."""

from __future__ import annotations

import copy
import re
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import Any, Final

from tests.cluster import recipes
from tests.cluster.cluster import Cluster
from tests.cluster.objects import Json, container, deployment, service
from webhook import names

NAME: Final = "app"
BUDGET: Final = {names.SETTLE: "3", names.DRAIN: "30"}
GRACE_SECONDS: Final = 48  # settle and drain from above, and the reserve of 15 s of the profiles used here
REPLICAS: Final = 2
_GAUGES: Final = re.compile(
    r"^(?:llamacpp:requests_processing|inflight_requests|vllm:num_requests_running\S*) (\S+)", re.MULTILINE
)


def llama(**fields: Any) -> Json:
    """Give llama.cpp's server; without a hook it ends at once on SIGTERM and cuts its streams.

    The limit of its CPU keeps the stories that run at the same time from slowing each other; the clients ask for as
    many tokens as it then streams in the time they want.
    """
    limits = {"resources": {"requests": {"cpu": "50m"}, "limits": {"cpu": "125m"}}}
    return container(recipes.LLAMA, 8080, "/health", args=["--metrics", "-np", "8"], **{**limits, **fields})


def fastapi(image: str = recipes.FASTAPI_APP, *options: str, **environment: str) -> Json:
    """Give a FastAPI application under uvicorn, which keeps connections and lets streams end on SIGTERM.

    Without a share of the CPU a busy machine leaves it none: it answers its metrics no more and nobody's streams end.
    """
    words = ["python3", "-m", "uvicorn", "streaming:app", "--host", "0.0.0.0", "--port", "8000"]  # noqa: S104
    pairs = [{"name": name, "value": value} for name, value in environment.items()]
    share = {"requests": {"cpu": "50m"}}
    return container(image, 8000, "/readyz", command=[*words, *options], env=pairs, resources=share)


def workload(namespace: str, server: Json, *, backend: str = "", annotations: Json | None = None, **pod: Any) -> Json:
    """Give a Deployment of two pods; `backend` labels the template and sets the short budget of the stories.

    `pod` adds fields to the pod's spec; containers are added after the server.
    """
    others = pod.pop("containers", [])
    made = copy.deepcopy(deployment(NAME, namespace, [server, *others], REPLICAS))
    template = made["spec"]["template"]
    template["spec"].update(copy.deepcopy(pod))
    if backend:
        template["metadata"]["labels"][names.BACKEND] = backend
        template["metadata"]["annotations"] = {**BUDGET, **(annotations or {})}
    return made


def create(cluster: Cluster, made: Json) -> str:
    """Create the Deployment and its Service, and give the Service's address."""
    namespace = made["metadata"]["namespace"]
    cluster.apply(made, service(NAME, namespace))
    return address_of(cluster, namespace)


def roll_out(cluster: Cluster, made: Json) -> None:
    """Create the Deployment and its Service, and wait until all pods are ready."""
    create(cluster, made)
    wait_ready(cluster, made["metadata"]["namespace"])


def address_of(cluster: Cluster, namespace: str, name: str = NAME) -> str:
    """Give the address of a Service."""
    return str(cluster.get("service", name, "-n", namespace)["spec"]["clusterIP"])


def wait_ready(cluster: Cluster, namespace: str, name: str = NAME, seconds: int = 240) -> None:
    """Return when the rollout is done."""
    cluster.kubectl("rollout", "status", f"deployment/{name}", "-n", namespace, f"--timeout={seconds}s")


def pods(cluster: Cluster, namespace: str) -> list[Json]:
    """Give the Deployment's pods that are not leaving."""
    found = cluster.get("pods", "-n", namespace, "-l", f"app={NAME}")["items"]
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def busiest(cluster: Cluster, namespace: str) -> Json:
    """Give the pod with the most requests in flight, so that a disruption meets some."""
    found = pods(cluster, namespace)
    with ThreadPoolExecutor(len(found)) as threads:
        counts = threads.map(lambda pod: _in_flight(cluster, pod), found)
    return max(zip(counts, found, strict=True), key=lambda pair: pair[0])[1]


def _in_flight(cluster: Cluster, pod: Json) -> float:
    port = pod["spec"]["containers"][0]["ports"][0]["containerPort"]
    page = cluster.run("curl", "-s", "--max-time", "1.5", f"http://{pod['status']['podIP']}:{port}/metrics").stdout
    return sum(float(value) for value in _GAUGES.findall(page)) if page else inf  # too busy for an answer


def name_of(pod: Json) -> str:
    """Give the name of a pod."""
    return str(pod["metadata"]["name"])
