"""The time line of each pod that ended: what the API server, the kubelet and the hook say, one JSON record per pod.

Times are seconds of the day's clock. Watches of the API: deleted, endpoint_not_ready, gone, and from the pod's status,
where the kubelet writes it: grace_seconds, finished, exit_code, message, restarts. The hook's log lines by the stamps
of the container runtime: hook_starts, hook_end, hook_says; its record: last_request. The runtime's own log: sigterm,
sigkill. What nobody said is null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Any, Final, Self

from tests.cluster.cluster import Cluster
from tests.e2e.lines import Line, Lines
from tests.e2e.workload import NAME, name_of, pods

_LOG: Final = re.compile(r"^\[pod/(?P<pod>[^/]+)/[^\]]+\] (?P<time>\S+) drainhook: (?P<text>.*)$")
_SIGNALS: Final = {  # words of containerd
    "sigterm": re.compile(r'^time="(\S+)" .*msg="Stop container \\"(\w+)\\" with signal terminated"', re.MULTILINE),
    "sigkill": re.compile(r'^time="(\S+)" .*msg="Kill container \\"(\w+)\\""', re.MULTILINE),
}
# A minute at most: nobody may be left to end it.
_UNTIL_IT_ANSWERS: Final = 'n=0; until "$@" 2>/dev/null || [ $n -ge 200 ]; do n=$((n + 1)); sleep 0.2; done'
Record = dict[str, Any]


class Watch:
    """Follows pods, endpoints and logs of a namespace; `with` begins and ends it."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        """Remember what to follow."""
        self._cluster = cluster
        self._namespace = namespace
        self._stack = ExitStack()
        self._logs: list[Lines] = []

    def __enter__(self) -> Self:
        """Begin; only pods that exist now are followed to their end."""
        kubectl = [str(self._cluster.kubectl_path), f"--kubeconfig={self._cluster.kubeconfig}"]
        space = f"namespaces/{self._namespace}"
        slices = f"/apis/discovery.k8s.io/v1/{space}/endpointslices?watch=1"
        self._names = {name_of(pod) for pod in pods(self._cluster, self._namespace)}
        self._pods = self._start([*kubectl, "get", "--raw", f"/api/v1/{space}/pods?watch=1"])
        self._slices = self._start([*kubectl, "get", "--raw", slices])
        self.follow_logs()
        for lines in (self._pods, self._slices):
            lines.wait_for(bool, "what there is now", 30)
        return self

    def __exit__(self, *_: object) -> None:
        """End all followers."""
        self._stack.close()

    def follow_logs(self) -> None:
        """Follow the servers' logs; once more after a restart of the kubelet, which serves them when it is up."""
        kubectl = [str(self._cluster.kubectl_path), f"--kubeconfig={self._cluster.kubeconfig}"]
        follow = ["logs", "-f", "-n", self._namespace, "-l", f"app={NAME}", "-c", "server", "--timestamps", "--prefix"]
        again = ["sh", "-c", _UNTIL_IT_ANSWERS, "sh"] if self._logs else []
        self._logs.append(self._start([*again, *kubectl, *follow, "--max-log-requests=20"]))

    def wait_gone(self, count: int, seconds: float = 240) -> None:
        """Return when so many of the pods have gone."""
        self._wait(_gone, f"{count} pods gone", count, seconds)

    def wait_restarted(self, count: int, seconds: float = 240) -> None:
        """Return when the server of so many pods was restarted."""
        self._wait(_restarted, f"{count} servers restarted", count, seconds)

    def wait_hook(self, seconds: float = 60) -> None:
        """Return when the hook of a pod has begun."""

        def runs(seen: Sequence[Line]) -> bool:
            return any(_hook(seen, name)["hook_starts"] for name in self._names)

        self._logs[-1].wait_for(runs, "a hook", seconds)

    def records(self) -> list[Record]:
        """Give the record of each pod that is gone or was restarted, in the order of their endings."""
        ended = (_gone(self._pods.seen) | _restarted(self._pods.seen)) & self._names
        signals = self._cluster.log("containerd").read_text(errors="replace")
        made = [self._record(name, signals) for name in ended]
        return sorted(made, key=lambda record: record["deleted"] or record["sigterm"] or 0)

    def _start(self, command: list[str]) -> Lines:
        return self._stack.enter_context(Lines(command))

    def _wait(self, which: Callable[[Sequence[Line]], set[str]], what: str, count: int, seconds: float) -> None:
        self._pods.wait_for(lambda seen: len(which(seen) & self._names) >= count, what, seconds)

    def _record(self, name: str, signals: str) -> Record:
        said = [line for lines in self._logs for line in lines.seen]
        record = {"pod": name, **_pod(self._pods.seen, name), **_hook(said, name)}
        record["endpoint_not_ready"] = _endpoint(self._slices.seen, name, record["deleted"])
        record["last_request"] = _last_request(record)
        return {**record, **_signals(signals, record.pop("container"))}


def _signals(log: str, container: str | None) -> Record:
    """Give when the runtime first sent which signal to a container."""
    found = {key: [at for at, which in words.findall(log) if which == container] for key, words in _SIGNALS.items()}
    return {key: min(map(_seconds, stamps), default=None) for key, stamps in found.items()}


def _events(seen: Iterable[Line]) -> Iterable[tuple[float, str, Any]]:
    """Yield time, kind and object of each event of a watch."""
    for at, line in list(seen):
        event = json.loads(line)
        yield at, event["type"], event["object"]


def _gone(seen: Sequence[Line]) -> set[str]:
    return {name_of(pod) for _, kind, pod in _events(seen) if kind == "DELETED"}


def _restarted(seen: Sequence[Line]) -> set[str]:
    """Give the pods whose server was restarted since they were first seen."""
    first: dict[str, int] = {}
    counted = [(name_of(pod), int(_server(pod).get("restartCount", 0))) for _, _, pod in _events(seen)]
    return {name for name, restarts in counted if restarts > first.setdefault(name, restarts)}


def _server(pod: Any) -> Any:
    """Give the status of the server's container, empty before there is one."""
    found = pod.get("status", {}).get("containerStatuses", [])
    return next((status for status in found if status["name"] == "server"), {})


def _pod(seen: Sequence[Line], name: str) -> Record:
    keys = ("deleted", "gone", "grace_seconds", "finished", "exit_code", "message", "restarts", "container")
    record: Record = dict.fromkeys(keys)
    for at, kind, pod in _events(seen):
        if name_of(pod) != name:
            continue
        if "deletionTimestamp" in pod["metadata"] and record["deleted"] is None:
            record["deleted"] = at
            record["grace_seconds"] = pod["metadata"]["deletionGracePeriodSeconds"]
        if kind == "DELETED":
            record["deleted"] = record["deleted"] or at
            record["gone"] = at
        _read_server(_server(pod), record)
    return record


def _read_server(status: Any, record: Record) -> None:
    """Take what the kubelet says of the container that ended, at a restart of the one before."""
    ended = status.get("state", {}).get("terminated") or status.get("lastState", {}).get("terminated")
    record["container"] = record["container"] or _id(status)
    record["restarts"] = status.get("restartCount", record["restarts"])
    if ended:
        record["finished"], record["exit_code"] = _seconds(ended["finishedAt"]), ended["exitCode"]
        record["message"], record["container"] = ended.get("message"), _id(ended) or record["container"]


def _id(status: Any) -> str | None:
    return status.get("containerID", "").rpartition("/")[2] or None


def _endpoint(seen: Sequence[Line], name: str, deleted: float | None) -> float | None:
    """Give when the pod's endpoint was ready no more, or had left the slice, because of the deletion if there was one.

    A pod may miss a probe before. Two watches tell of deletion and endpoint, so theirs may be half a second apart.
    """
    was_ready = False
    for at, _, found in _events(seen):
        of_pod = [one for one in found.get("endpoints") or [] if one.get("targetRef", {}).get("name") == name]
        if not of_pod and found["metadata"]["labels"].get("kubernetes.io/service-name") != NAME:
            continue  # another Service's
        ready = any(one["conditions"].get("ready") for one in of_pod)
        if was_ready and not ready and at >= (deleted or at) - 0.5:
            return at
        was_ready = ready
    return None


def _hook(seen: Iterable[Line], name: str) -> Record:
    record: Record = {"hook_starts": [], "hook_end": None, "hook_says": None}
    for _, line in list(seen):
        said = _LOG.match(line)
        if said is None or said["pod"] != name:
            continue
        at = _seconds(said["time"])
        if said["text"].startswith("settle ") and at not in record["hook_starts"]:
            record["hook_starts"].append(at)
        if said["text"].startswith("end after"):
            record["hook_end"], record["hook_says"] = at, said["text"]
    return record


def _last_request(record: Record) -> float | None:
    """Give when the hook last saw something in flight, by its record in the termination message."""
    said = re.findall(r'"last_busy":([\d.]+)', record["message"] or "")
    return record["hook_starts"][-1] + float(said[-1]) if said and record["hook_starts"] else None


def _seconds(stamp: str) -> float:
    """Read a time stamp of Kubernetes; nanoseconds are cut to what Python reads."""
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d*", r"\1", stamp)).timestamp()
