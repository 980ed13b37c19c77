"""Objects as an API server returns them, and where they are. No claim is made here."""

from __future__ import annotations

from webhook import names

DEPLOYMENTS = "/apis/apps/v1/namespaces/llm/deployments"
PODS = "/api/v1/namespaces/llm/pods"
ENGINE = {"name": "server", "image": "vllm/vllm-openai:v0.11.0", "args": ["--model", "m"]}
OTHER = {"name": "web", "image": "nginx:1"}


def template(label="", container=ENGINE):
    """Return a pod template."""
    labels = {"app": "chat", **({names.BACKEND: label} if label else {})}
    return {"metadata": {"labels": labels}, "spec": {"containers": [container]}}


def workload(name="chat", label="", *, container=ENGINE, **spec):
    """Return a workload; how its pods are replaced is in `spec`."""
    return {
        "metadata": {"name": name, "namespace": "llm"},
        "spec": {"replicas": 3, "template": template(label, container), **spec},
        "status": {"replicas": 3},
    }


def pod(name="p", label="vllm", owner=None, **more):
    """Return a pod that runs and that the webhook did not patch."""
    made = template(label)
    metadata = {**made["metadata"], "name": name, "namespace": "llm"}
    if owner:
        metadata["ownerReferences"] = [{"kind": "ReplicaSet", "name": "x", "uid": owner, "controller": True}]
    metadata |= more.pop("metadata", {})
    return {"metadata": metadata, "spec": made["spec"], "status": {"phase": "Running", **more}}
