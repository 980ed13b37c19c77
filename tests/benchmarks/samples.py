"""Inputs: admission reviews of a vLLM pod in three sizes, and a folder of Deployments. Made, never measured, here."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any, Final

from webhook import names

SIZES: Final = {"3 KB": 3_000, "8 KB": 8_000, "60 KB": 60_000}  # bytes of the whole request body
DISTINCT: Final = "8 KB, no two alike"  # every pod is of another template, so that no decision can be remembered
IMAGE: Final = "vllm/vllm-openai"
MARKER: Final = "@" * 8  # the load client writes the number of the request here
_NAME: Final = "llama-3-1-8b-instruct"
_OWNER: Final = "replicaset-controller"

_DEPLOYMENT: Final = Path(__file__).with_name("deployment.template")
_FIELDS: Final = ("backend", "image", "port", "command")
_ENGINES: Final = (
    ("vllm", "vllm/vllm-openai:v0.33.0", "8000", "[vllm, serve, meta-llama/Llama-3.1-8B-Instruct, --port=8000]"),
    (
        "sglang",
        "lmsysorg/sglang:v0.5.6",
        "30000",
        "[python3, -m, sglang.launch_server, --port=30000, --enable-metrics]",
    ),
    ("tgi", "ghcr.io/huggingface/text-generation-inference:3.3.4", "80", "[text-generation-launcher, --port=80]"),
    ("llamacpp", "ghcr.io/ggml-org/llama.cpp:server", "8080", "[/app/llama-server, --port=8080, --metrics]"),
)

Json = dict[str, Any]


def review(size: int, revision: str = "7") -> bytes:
    """Return a review as an API server sends it, grown by environment variables up to a size in bytes.

    Those of one size are replicas of one template, unless the revision of the template is the marker.
    """
    count = 1
    while len(body := _encode(_review(_pod(count, size, revision)))) < size:
        count += max(1, (size - len(body)) // 400)
    return body


def write_reviews(folder: Path) -> dict[str, Path]:
    """Write one review of each kind and return their paths."""
    bodies = {name: review(size) for name, size in SIZES.items()} | {DISTINCT: review(SIZES["8 KB"], MARKER)}
    paths = {name: folder / f"review-{number}.json" for number, name in enumerate(bodies)}
    for name, path in paths.items():
        path.write_bytes(bodies[name])
    return paths


def write_manifests(folder: Path, count: int) -> Path:
    """Write `count` Deployments of 2 KB, one for each file, with comments and different engines."""
    folder.mkdir(parents=True, exist_ok=True)
    template = string.Template(_DEPLOYMENT.read_text())
    for number in range(count):
        values = dict(zip(_FIELDS, _ENGINES[number % len(_ENGINES)], strict=True))
        text = template.substitute(values, number=f"{number:05}", label=names.BACKEND)
        (folder / f"server-{number:05}.yaml").write_text(text)
    return folder


def _encode(document: Json) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _review(pod: Json) -> Json:
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    account = f"system:serviceaccount:kube-system:{_OWNER}"
    request = {
        "uid": f"705ab4f5-6393-11e8-b7cc-4201{MARKER}",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "namespace": "serving",
        "operation": "CREATE",
        "userInfo": {
            "username": account,
            "uid": "0b7c4c4e-8a5a-4a2e-9d3d-5f0c1f6b8f11",
            "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
            "extra": {"authentication.kubernetes.io/credential-id": ["JTI=4f1c9a52-6a4d-4c69-9b43-3a1f0f3f2b9e"]},
        },
        "object": pod,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def _pod(variables: int, size: int, revision: str) -> Json:
    """Build the pod; larger ones have an exporter and a model downloader beside the server."""
    containers, downloaders = [_server(variables)], []
    if size > SIZES["3 KB"]:
        containers.append(_sidecar("gpu-exporter", "nvcr.io/nvidia/k8s/dcgm-exporter:4.2.3-4.1.3-ubuntu22.04"))
    if size > SIZES["8 KB"]:
        containers.append(_sidecar("log-shipper", "docker.io/fluent/fluent-bit:4.0.3"))
        downloaders.append(_sidecar("download-model", "ghcr.io/huggingface/hub-cli:1.2.0"))
    token = {"name": f"kube-api-access-{MARKER}", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    if size > SIZES["3 KB"]:  # the smallest pod has automountServiceAccountToken: false
        for container in containers:
            container["volumeMounts"].append({**token, "readOnly": True})
    spec = {
        "volumes": [*_volumes(), *([_token_volume(token["name"])] if size > SIZES["3 KB"] else [])],
        **({"initContainers": downloaders} if downloaders else {}),
        "containers": containers,
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "llm",
        "serviceAccount": "llm",
        "securityContext": {"fsGroup": 2000},
        "schedulerName": "default-scheduler",
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    return {"kind": "Pod", "apiVersion": "v1", "metadata": _metadata(containers, revision), "spec": spec, "status": {}}


def _metadata(containers: list[Json], revision: str) -> Json:
    return {
        "generateName": f"{_NAME}-7d9c5b8f64-",
        "namespace": "serving",
        "labels": {
            "app.kubernetes.io/name": _NAME,
            "app.kubernetes.io/part-of": "chat",
            names.BACKEND: "vllm",
            "pod-template-hash": "7d9c5b8f64",
        },
        "annotations": {"prometheus.io/scrape": "true", "example.com/revision": revision},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": f"{_NAME}-7d9c5b8f64",
                "uid": "2d6f1c8a-3c11-4a43-9a0d-0c6f5d1b7e55",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        "managedFields": [
            {
                "manager": "kube-controller-manager",
                "operation": "Update",
                "apiVersion": "v1",
                "time": "2026-11-30T09:12:44Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": _fields(containers),
            }
        ],
    }


def _fields(containers: list[Json]) -> Json:
    """Mirror the containers as managedFields do: this is what makes real reviews large."""
    owned: Json = {
        f'k:{{"name":"{container["name"]}"}}': {
            ".": {},
            "f:env": {
                ".": {},
                **{
                    f'k:{{"name":"{variable["name"]}"}}': {".": {}, "f:name": {}, "f:value": {}}
                    for variable in container["env"]
                },
            },
            **{f"f:{key}": {} for key in container if key != "env"},
        }
        for container in containers
    }
    labels: Json = {".": {}, "f:app.kubernetes.io/name": {}, f"f:{names.BACKEND}": {}, "f:pod-template-hash": {}}
    return {"f:metadata": {"f:generateName": {}, "f:labels": labels}, "f:spec": {"f:containers": owned}}


def _server(variables: int) -> Json:
    model = "meta-llama/Llama-3.1-8B-Instruct"
    flags = [f"--model={model}", "--port=8000", "--max-model-len=32768", "--gpu-memory-utilization=0.92"]
    env = [{"name": f"SERVING_OPTION_{number}", "value": f"value-of-option-{number}"} for number in range(variables)]
    return {
        "name": "vllm",
        "image": f"{IMAGE}:v0.33.0",
        "args": flags,
        "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
        "env": [{"name": "HF_HOME", "value": "/models"}, *env],
        "resources": {
            "limits": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"},
            "requests": {"cpu": "4", "memory": "48Gi", "nvidia.com/gpu": "1"},
        },
        "volumeMounts": [{"name": "models", "mountPath": "/models"}, {"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 (a mount)
        **_common(),
    }


def _sidecar(name: str, image: str) -> Json:
    return {
        "name": name,
        "image": image,
        "args": ["--collect-interval=5000", f"--instance={name}", "--log-level=info"],
        "env": [{"name": "INTERVAL", "value": "5s"}, {"name": "TARGET", "value": "localhost"}],
        "resources": {"limits": {"memory": "256Mi"}, "requests": {"cpu": "50m", "memory": "128Mi"}},
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        **_common(),
    }


def _common() -> Json:
    """Fill in what the API server fills in before it asks webhooks."""
    return {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


def _volumes() -> list[Json]:
    return [
        {"name": "models", "persistentVolumeClaim": {"claimName": "models"}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}},
        {"name": "scratch", "emptyDir": {}},
    ]


def _token_volume(name: str) -> Json:
    """Return the volume that the API server adds to each pod, under a name of its own."""
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 420}}
