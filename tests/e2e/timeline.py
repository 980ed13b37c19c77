"""The time line of each pod that ended: what the API server, the kubelet and the hook say, one JSON record per pod.

Times are seconds of the day's clock. Observed here: deleted, endpoint_not_ready, gone. Said by the hook's log lines
with the time stamps of the container runtime: hook_starts, hook_end. Said by the kubelet: finished, exit_code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Any, Self

from tests.cluster.cluster import Cluster
from tests.e2e.lines import Line, Lines
from tests.e2e.workload import NAME, name_of, pods

_LOG = re.compile(r"^\[pod/(?P<pod>[^/]+)/[^\]]+\] (?P<time>\S+) drainhook: (?P<text>.*)$")


class Watch:
    """Follows pods, endpoints and logs of a namespace; `with` begins and ends it."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        """Remember what to follow."""
        self._cluster = cluster
        self._namespace = namespace
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Begin; only pods that exist now are followed to their end."""
        kubectl = [str(self._cluster.kubectl_path), f"--kubeconfig={self._cluster.kubeconfig}"]
        space = f"namespaces/{self._namespace}"
        slices = f"/apis/discovery.k8s.io/v1/{space}/endpointslices?watch=1"
        self._names = {name_of(pod) for pod in pods(self._cluster, self._namespace)}
        self._pods = self._start([*kubectl, "get", "--raw", f"/api/v1/{space}/pods?watch=1"])
        self._slices = self._start([*kubectl, "get", "--raw", slices])
        follow = ["logs", "-f", "-n", self._namespace, "-l", f"app={NAME}", "--timestamps", "--prefix"]
        self._logs = self._start([*kubectl, *follow, "--max-log-requests=20"])
        return self

    def __exit__(self, *_: object) -> None:
        """End all followers."""
        self._stack.close()

    def wait_gone(self, count: int, seconds: float = 120) -> None:
        """Return when so many of the pods have gone."""
        self._pods.wait_for(lambda seen: len(_gone(seen) & self._names) >= count, f"{count} pods gone", seconds)

    def records(self) -> list[dict[str, Any]]:
        """Give the record of each pod that is gone, in the order of their deletion."""
        gone = _gone(self._pods.seen) & self._names
        made = [self._record(name) for name in gone]
        return sorted(made, key=lambda record: record["deleted"])

    def _start(self, command: list[str]) -> Lines:
        return self._stack.enter_context(Lines(command))

    def _record(self, name: str) -> dict[str, Any]:
        record: dict[str, Any] = {"pod": name, **_pod(self._pods.seen, name), **_hook(self._logs.seen, name)}
        record["endpoint_not_ready"] = _endpoint(self._slices.seen, name)
        return record


def _gone(seen: Sequence[Line]) -> set[str]:
    events = (json.loads(line) for _, line in list(seen))
    return {name_of(event["object"]) for event in events if event["type"] == "DELETED"}


def _pod(seen: Sequence[Line], name: str) -> dict[str, Any]:
    record: dict[str, Any] = {"finished": None, "exit_code": None, "message": None}
    for at, line in seen:
        event = json.loads(line)
        pod = event["object"]
        if name_of(pod) != name:
            continue
        if "deletionTimestamp" in pod["metadata"]:
            record.setdefault("deleted", at)
            record.setdefault("grace_seconds", pod["metadata"]["deletionGracePeriodSeconds"])
        for status in pod["status"].get("containerStatuses", []):
            ended = status["state"].get("terminated")
            if ended:
                record["finished"] = _seconds(ended["finishedAt"])
                record["exit_code"], record["message"] = ended["exitCode"], ended.get("message")
        if event["type"] == "DELETED":
            record.setdefault("deleted", at)
            record["gone"] = at
    return record


def _endpoint(seen: Sequence[Line], name: str) -> float | None:
    """Give when the pod's endpoint was ready no more, or had left the slice."""
    was_ready = False
    for at, line in seen:
        endpoints = json.loads(line)["object"].get("endpoints") or []
        of_pod = [one for one in endpoints if one.get("targetRef", {}).get("name") == name]
        ready = any(one["conditions"].get("ready") for one in of_pod)
        if was_ready and not ready:
            return at
        was_ready = ready
    return None


def _hook(seen: Sequence[Line], name: str) -> dict[str, Any]:
    record: dict[str, Any] = {"hook_starts": [], "hook_end": None, "hook_says": None}
    for _, line in seen:
        said = _LOG.match(line)
        if said is None or said["pod"] != name:
            continue
        at = _seconds(said["time"])
        if said["text"].startswith("settle "):
            record["hook_starts"].append(at)
        if said["text"].startswith("end after"):
            record["hook_end"], record["hook_says"] = at, said["text"]
    return record


def _seconds(stamp: str) -> float:
    """Read a time stamp of Kubernetes; nanoseconds are cut to what Python reads."""
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d*", r"\1", stamp)).timestamp()
