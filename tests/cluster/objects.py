"""The Kubernetes objects that tests on the cluster create, as plain JSON. What happens to them is the tests' matter."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def container(image: str, port: int, path: str, **fields: Any) -> Json:
    """Give a container of a local image that is ready when it answers."""
    ready = {"httpGet": {"path": path, "port": port}, "periodSeconds": 1}
    return {
        "name": "server",
        "image": image,
        "imagePullPolicy": "Never",
        "ports": [{"containerPort": port, "name": "http"}],
        "readinessProbe": ready,
        **fields,
    }


def deployment(name: str, namespace: str, containers: list[Json], replicas: int = 1) -> Json:
    """Give a Deployment whose pods carry the label app=NAME."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def service(name: str, namespace: str) -> Json:
    """Give the Service of that Deployment, on port 80."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": "http"}]},
    }
