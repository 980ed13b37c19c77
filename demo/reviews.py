"""Talks to a running `drainhook serve` as an API server would: real AdmissionReviews over TLS, patches applied.

Only what goes over the wire is used; nothing here looks into the webhook's core.
"""

from __future__ import annotations

import base64
import copy
import http.client
import json
import socket
import ssl
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import jsonpatch
import yaml

from webhook import names

_START_SECONDS = 20.0
GRACE_DEFAULT = 30  # seconds: what the API server fills in before it asks webhooks


class WebhookError(Exception):
    """The webhook did not start or did not answer as it must."""


class Webhook:
    """A `drainhook serve` on a random port with a certificate authority of its own: a context manager."""

    def __init__(self, folder: Path) -> None:
        """Start it and return when it is ready; its log and its CA certificate go into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        self.port = _free_port()
        self._ca, self._log_path = folder / "ca.pem", folder / "serve.log"
        self._ca.unlink(missing_ok=True)
        self._log = self._log_path.open("wb")
        flags = ["--port", str(self.port), "--metrics-port", "0", "--ca-out", str(self._ca)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "webhook", "serve", *flags], stdout=self._log, stderr=subprocess.STDOUT
        )
        try:
            self._wait_until_ready()
        except WebhookError:
            self.end()
            raise

    def __enter__(self) -> Self:
        """Give the webhook to the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """End the process."""
        self.end()

    def end(self) -> None:
        """Ask the process to end, and wait for it."""
        self._process.terminate()
        self._process.wait()
        self._log.close()

    def mutate(self, pod: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Send the pod for admission and return it with the patch applied, and the warnings."""
        uid = str(uuid.uuid4())
        response = self._post(names.MUTATE_PATH, _review(uid, pod))["response"]
        if response["uid"] != uid or response["allowed"] is not True:
            raise WebhookError(f"the webhook did not allow the pod: {json.dumps(response)}")
        warnings: list[str] = response.get("warnings", [])
        if "patch" not in response:
            return pod, warnings
        operations = json.loads(base64.b64decode(response["patch"]))
        patched: dict[str, Any] = jsonpatch.apply_patch(pod, operations)
        return patched, warnings

    def _post(self, path: str, review: dict[str, Any]) -> dict[str, Any]:
        status, body = self._exchange("POST", path, json.dumps(review))
        if status != http.client.OK:
            raise WebhookError(f"POST {path} answered {status}: {body[:200].decode(errors='replace')}")
        answer: dict[str, Any] = json.loads(body)
        return answer

    def _exchange(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        context = ssl.create_default_context(cafile=self._ca)
        connection = http.client.HTTPSConnection(names.LOCAL_HOST, self.port, timeout=10, context=context)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            if self._is_ready():
                return
            time.sleep(0.05)
        raise WebhookError(f"drainhook serve did not become ready, see {self._log_path}")

    def _is_ready(self) -> bool:
        try:
            status, _ = self._exchange("GET", names.READYZ_PATH)
        except (OSError, http.client.HTTPException):
            return False
        return status == http.client.OK


def pods(manifest: Path) -> Iterator[dict[str, Any]]:
    """Give the pod that each workload of a manifest would make, as the API server hands it to a webhook."""
    for document in yaml.safe_load_all(manifest.read_text()):
        spec = (document or {}).get("spec", {})
        if "template" in spec:
            yield _pod(document, spec["template"])


def _pod(workload: dict[str, Any], template: dict[str, Any]) -> dict[str, Any]:
    pod = copy.deepcopy(template)
    name = workload["metadata"]["name"]
    namespace = workload["metadata"].get("namespace", "default")
    pod = {"apiVersion": "v1", "kind": "Pod", **pod}
    pod["metadata"] = {**pod.get("metadata", {}), "generateName": f"{name}-", "namespace": namespace}
    pod["spec"] = {"restartPolicy": "Always", "terminationGracePeriodSeconds": GRACE_DEFAULT, **pod["spec"]}
    return pod


def _review(uid: str, pod: dict[str, Any]) -> dict[str, Any]:
    resource = {"group": "", "version": "v1", "resource": "pods"}
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    request = {
        "uid": uid,
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "namespace": pod["metadata"]["namespace"],
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
        "object": pod,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def _free_port() -> int:
    with socket.create_server((names.LOCAL_HOST, 0)) as taken:
        port: int = taken.getsockname()[1]
    return port
