"""The example's manifests are valid, agree with each other and with the server, and drainhook drains their pods."""

from __future__ import annotations

import ast
import inspect
import re

import kubernetes_validate
import pytest
import yaml

from tests.examples.servers import EXAMPLE, deployment, patched
from webhook.core.patch import look
from webhook.drainable import Drainable

FILES = ("deployment.yaml", "service.yaml")
DEPLOYMENT = deployment()
TEMPLATE = DEPLOYMENT["spec"]["template"]
CONTAINER = TEMPLATE["spec"]["containers"][0]
SERVICE = yaml.safe_load((EXAMPLE / "service.yaml").read_text())
DOCKERFILE = (EXAMPLE / "Dockerfile").read_text()
SUPPORTED = ("1.28", "1.37")


@pytest.mark.parametrize("version", SUPPORTED)
@pytest.mark.parametrize("file", FILES)
def test_every_object_is_valid(file, version):
    """The oldest supported cluster and the newest take it, before drainhook and after."""
    obj = yaml.safe_load((EXAMPLE / file).read_text())
    kubernetes_validate.validate(obj, version, strict=True)


@pytest.mark.parametrize("version", SUPPORTED)
def test_the_patched_deployment_is_valid(version):
    """What `drainhook patch` prints for clusters without the webhook."""
    kubernetes_validate.validate(patched(DEPLOYMENT)[0], version, strict=True)


def test_the_kustomization_lists_what_every_cluster_knows():
    """The ServiceMonitor is apart: without the Prometheus operator its kind is unknown."""
    listed = yaml.safe_load((EXAMPLE / "kustomization.yaml").read_text())["resources"]
    assert listed == list(FILES)
    monitor = yaml.safe_load((EXAMPLE / "servicemonitor.yaml").read_text())
    assert monitor["spec"]["selector"]["matchLabels"].items() <= SERVICE["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] == SERVICE["spec"]["ports"][0]["name"]


def test_the_service_leads_to_the_servers_port():
    """By name; the server, the probes and the image say the same number."""
    (port,) = CONTAINER["ports"]
    assert SERVICE["spec"]["ports"][0]["targetPort"] == port["name"]
    assert SERVICE["spec"]["selector"].items() <= TEMPLATE["metadata"]["labels"].items()
    assert CONTAINER["args"][-1] == str(port["containerPort"])
    assert f"EXPOSE {port['containerPort']}\n" in DOCKERFILE
    assert {CONTAINER[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")} == {
        port["name"]
    }


def test_the_image_starts_what_the_deployment_starts():
    """One command line, and a numeric user that is not root."""
    words = ast.literal_eval(re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[0])
    context = TEMPLATE["spec"]["securityContext"]
    assert words == [*CONTAINER["command"], *CONTAINER["args"]]
    assert f"USER {context['runAsUser']}:{context['runAsGroup']}\n" in DOCKERFILE
    assert "FROM ${BASE_IMAGE}\n" in DOCKERFILE


def test_the_image_holds_what_the_server_imports():
    """Each file that the Dockerfile copies is there, and each package of the imports is required."""
    copied = re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE)
    files = {name for line in copied for name in line.split()} - {"wheels"}
    assert [name for name in files if not (EXAMPLE / name).exists()] == []
    required = set(re.findall(r"^[a-z-]+", (EXAMPLE / "requirements.txt").read_text(), re.MULTILINE))
    assert required == {"fastapi", "gguf", "prometheus-client", "uvicorn", "xllamacpp"}


def test_drainhook_adds_hook_and_grace():
    """One label does it, without a finding; the hook calls the middleware inside the pod."""
    made, decision = patched(DEPLOYMENT)
    spec = made["spec"]["template"]["spec"]
    hook = look(spec, ("containers", 0, "lifecycle", "preStop", "exec", "command"))

    assert decision.findings == ()
    assert "call=http://127.0.0.1:8000/drain?settle=10&wait=95" in hook
    assert spec["terminationGracePeriodSeconds"] == 120
    assert spec["containers"][0]["readinessProbe"] == CONTAINER["readinessProbe"]


def test_probes_ask_what_the_middleware_answers():
    """Readiness by the path that turns 503, liveness and start-up by the one that stays 200 (C6)."""
    options = inspect.signature(Drainable).parameters
    paths = {probe: CONTAINER[f"{probe}Probe"]["httpGet"]["path"] for probe in ("readiness", "liveness", "startup")}
    ready, alive = options["readiness"].default, options["liveness"].default
    assert paths == {"readiness": ready, "liveness": alive, "startup": alive}


def test_the_pod_is_restricted():
    """The restricted pod security standard, and a root file system that nobody writes."""
    context = TEMPLATE["spec"]["securityContext"]
    assert (context["runAsNonRoot"], context["seccompProfile"]) == (True, {"type": "RuntimeDefault"})
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert set(CONTAINER["resources"]) == {"requests", "limits"}


def test_another_pod_is_there_to_take_the_work():
    """Two replicas, and none goes before its successor is ready (C11)."""
    assert DEPLOYMENT["spec"]["replicas"] == 2
    assert DEPLOYMENT["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0}
