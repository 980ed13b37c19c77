"""The cluster does what the stories build on: pods of the local images, Services, the door, a kubelet's restart."""

from __future__ import annotations

import json

import pytest

from tests.cluster import recipes
from tests.cluster.cluster import Cluster
from tests.cluster.objects import Json, container, deployment, service

pytestmark = pytest.mark.cluster

TOKENS = 50
LLAMA = container(recipes.LLAMA, 8080, "/health", args=["--metrics"])


def roll_out(cluster: Cluster, namespace: str, server: Json) -> str:
    """Create a Deployment with its Service, wait until it is ready, and give the Service's address."""
    cluster.apply(deployment("app", namespace, [server]), service("app", namespace))
    cluster.kubectl("rollout", "status", "deployment/app", "-n", namespace, "--timeout=120s")
    address = cluster.get("service", "app", "-n", namespace)["spec"]["clusterIP"]
    cluster.wait_for(f"http://{address}{server['readinessProbe']['httpGet']['path']}")
    return address


def stream(cluster: Cluster, address: str) -> list[str]:
    """Stream one chat completion through the Service and give its events."""
    ask = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": TOKENS, "ignore_eos": True}
    ask |= {"stream": True, "stream_options": {"include_usage": True}}
    url = f"http://{address}/v1/chat/completions"
    header = "Content-Type: application/json"
    done = cluster.run("curl", "-sSfN", "--max-time", "60", "-H", header, "-d", json.dumps(ask), url)
    assert done.returncode == 0, done.stderr
    return [line.removeprefix("data: ") for line in done.stdout.splitlines() if line.startswith("data: ")]


@pytest.mark.parametrize(
    "server",
    [
        pytest.param(LLAMA, id="llama"),
        pytest.param(container(recipes.LLAMA_SERVER, 8080, "/health"), id="llama-server"),
        pytest.param(container(recipes.FASTAPI_APP, 8000, "/readyz"), id="fastapi"),
        pytest.param(container(recipes.FASTAPI_BARE, 8000, "/readyz"), id="fastapi-bare"),
    ],
)
def test_an_engine_streams_through_its_service(cluster, namespace, server):
    if server["image"] == recipes.LLAMA_SERVER and cluster.archive_of(recipes.LLAMA_SERVER) is None:
        pytest.skip("Debian's unstable suite gave no llama-server when the images were made")
    events = stream(cluster, roll_out(cluster, namespace, server))
    assert events[-1] == "[DONE]"
    assert json.loads(events[-2])["usage"]["completion_tokens"] == TOKENS


def test_the_cluster_tells_by_what_its_product_was_made(cluster):
    assert cluster.archive_of(recipes.PRODUCT).name.split("-")[0] in {"dockerfile", "product"}


def test_the_llama_image_shows_its_gauges_to_the_tools_of_the_hook(cluster, namespace):
    roll_out(cluster, namespace, LLAMA)
    for command in ("curl -s", "python3 -c 'import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read())'"):
        script = f"{command} http://127.0.0.1:8080/metrics"
        page = cluster.kubectl("exec", "-n", namespace, "deployment/app", "--", "sh", "-c", script)
        assert "llamacpp:requests_processing 0" in page


def test_sigterm_ends_the_llama_server_at_once(cluster, namespace):
    """The figure of the row without drainhook rests on this: streams are cut, the pod does not sit out its grace."""
    roll_out(cluster, namespace, LLAMA)
    cluster.kubectl("delete", "pod", "-n", namespace, "-l", "app=app", "--timeout=15s")  # its grace period is 30 s


def test_a_pod_reaches_another_pod_through_a_service(cluster, namespace):
    """Without the bridge filter of the kernel this fails on a bridge; pods are routed here."""
    address = roll_out(cluster, namespace, container(recipes.FASTAPI_APP, 8000, "/readyz"))
    command = ["kubectl", "run", "client", "-n", namespace, f"--image={recipes.BUSYBOX}", "--image-pull-policy=Never"]
    command += ["--restart=Never", "-i", "--rm", "--quiet", "--", "wget", "-qO-", f"http://{address}/readyz"]
    assert '{"status":"ok"}' in cluster.kubectl(*command[1:])


def test_nginx_answers_with_its_mounted_configuration(cluster, namespace):
    config = "events {} http { server { listen 80; location / { return 200 here; } } }"
    server = container(recipes.NGINX, 80, "/", volumeMounts=[{"name": "config", "mountPath": "/etc/nginx/nginx.conf"}])
    server["volumeMounts"][0]["subPath"] = "nginx.conf"
    workload = deployment("app", namespace, [server])
    workload["spec"]["template"]["spec"]["volumes"] = [{"name": "config", "configMap": {"name": "config"}}]
    metadata = {"name": "config", "namespace": namespace}
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"nginx.conf": config}})
    cluster.apply(workload)
    cluster.kubectl("rollout", "status", "deployment/app", "-n", namespace, "--timeout=60s")


def test_the_image_of_the_product_runs_it(cluster, namespace):
    command = ["run", "product", "-n", namespace, f"--image={recipes.PRODUCT}", "--image-pull-policy=Never"]
    command += ["--restart=Never", "-i", "--rm", "--quiet", "--", "--version"]
    assert "drainhook" in cluster.kubectl(*command)


def test_the_door_and_the_inside_lead_to_the_same_api_server(cluster):
    certificate, key = map(str, cluster.client)
    words = ["--cacert", str(cluster.authority), "--cert", certificate, "--key", key]
    inside = cluster.run("curl", "-sSf", *words, f"{cluster.url_inside}/version")
    assert inside.returncode == 0, inside.stderr
    assert json.loads(inside.stdout) == json.loads(cluster.kubectl("get", "--raw=/version"))
    assert json.loads(inside.stdout)["gitVersion"] == f"v{cluster.version}"


def test_a_pod_outlives_a_restart_of_the_kubelet(cluster, namespace):
    address = roll_out(cluster, namespace, LLAMA)
    cluster.restart_kubelet()
    assert stream(cluster, address)[-1] == "[DONE]"
    cluster.kubectl("delete", "pod", "-n", namespace, "-l", "app=app", "--timeout=60s")
    cluster.kubectl("rollout", "status", "deployment/app", "-n", namespace, "--timeout=120s")
    pods = cluster.get("pods", "-n", namespace)["items"]
    assert [pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods] == [0]
