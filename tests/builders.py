"""The shortest valid objects, with what matters overridden. Nothing is asserted here."""

from __future__ import annotations

import copy

from webhook import names

VLLM = "vllm/vllm-openai:v0.32.0"
UID = "0b4f1a5e-0000-4000-8000-00000000c0de"


def container(name="server", image=VLLM, **fields):
    """Return a container that the profile vllm recognises by its image."""
    return {"name": name, "image": image, "args": ["--model", "m"], **fields}


def pod(*containers, backend="vllm", labels=None, annotations=None, **spec):
    """Return a pod that asks for a backend; `backend=None` leaves the label out."""
    marks = {names.BACKEND: backend} if backend else {}
    metadata = {"name": "llm", "labels": {**marks, **(labels or {})}}
    if annotations:
        metadata["annotations"] = {f"{names.DOMAIN}/{key}": value for key, value in annotations.items()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": list(containers) or [container()], **spec},
    }


def workload(template, kind="Deployment", api="apps/v1", **spec):
    """Return a workload around the metadata and spec of a pod."""
    inner = {"metadata": template["metadata"], "spec": template["spec"]}
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": "llm", "namespace": "team-a"},
        "spec": {"selector": {"matchLabels": {}}, "template": inner, **spec},
    }


def child(template, namespace="team-a"):
    """Return the pod that a ReplicaSet makes of a template."""
    metadata = copy.deepcopy(template.get("metadata") or {})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "llm-5d4f", "uid": UID, "controller": True}
    if isinstance(metadata, dict):
        metadata |= {"generateName": "llm-5d4f-", "namespace": namespace, "ownerReferences": [owner]}
    return {**copy.deepcopy(template), "apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def review(document, operation="CREATE", old=None):
    """Return an admission review as the API server sends it."""
    group, _, version = str(document.get("apiVersion")).rpartition("/")
    metadata = document.get("metadata") if isinstance(document.get("metadata"), dict) else {}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": UID,
            "kind": {"group": group, "version": version, "kind": document.get("kind")},
            "name": metadata.get("name", ""),
            "namespace": metadata.get("namespace", "default"),
            "operation": operation,
            "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
            "object": document,
            "oldObject": old,
            "dryRun": False,
        },
    }


def filled_in(document):
    """Return a pod as the API server fills it in before the next webhook sees it (the fields that decide here)."""
    full = copy.deepcopy(document)
    spec = full["spec"]
    _fill(spec, terminationGracePeriodSeconds=30, restartPolicy="Always")
    for item in spec["containers"]:
        _fill(item, terminationMessagePath="/dev/termination-log", imagePullPolicy="IfNotPresent", resources={})
        for port in item.get("ports") or []:
            _fill(port, protocol="TCP")
        probes = [item[key] for key in ("readinessProbe", "livenessProbe", "startupProbe") if item.get(key)]
        for probe in probes:
            _fill(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
        hooks = [(item.get("lifecycle") or {}).get(key) or {} for key in ("preStop", "postStart")]
        for handler in (*probes, *hooks):
            if handler.get("httpGet"):
                _fill(handler["httpGet"], scheme="HTTP")
    return full


def _fill(mapping, **defaults):
    for key, value in defaults.items():
        if mapping.get(key) is None:
            mapping[key] = value
