"""The time line reads what API server, kubelet, hook and container runtime say.

The words are those of Kubernetes 1.37.2 and containerd 1.6.
"""

from __future__ import annotations

import json
from typing import Any

from tests.e2e import timeline
from tests.e2e.lines import Line

MESSAGE = '{"drainhook":1,"inflight_start":4,"last_busy":6.80,"seconds":7,"end":"idle"}\n'
LOG = [
    "[pod/app-1/server] 2026-12-01T11:16:42.768461000Z drainhook: settle 3 s, drain up to 30 s",
    "[pod/app-1/server] 2026-12-01T11:16:43.000000000Z the engine's own words",
    "[pod/app-2/server] 2026-12-01T11:16:44.000000000Z drainhook: settle 3 s, drain up to 30 s",
    "[pod/app-1/server] 2026-12-01T11:16:50.156260000Z drainhook: end after 7 s: idle (in flight 0, connections 0)",
]
RUNTIME = """\
time="2026-12-01T11:16:50.180603000Z" level=info msg="StopContainer for \\"abc\\" with timeout 40 (s)"
time="2026-12-01T11:16:50.190000000Z" level=info msg="Stop container \\"abc\\" with signal terminated"
time="2026-12-01T11:17:30.000000000Z" level=info msg="Kill container \\"abc\\""
"""


def lines(*texts: str) -> list[Line]:
    return [(float(number), text) for number, text in enumerate(texts)]


def pod(kind: str, *, leaving: bool = False, **status: Any) -> str:
    metadata = {"name": "app-1", **({"deletionTimestamp": "x", "deletionGracePeriodSeconds": 48} if leaving else {})}
    server = {"name": "server", "state": {}, **status}
    return json.dumps({"type": kind, "object": {"metadata": metadata, "status": {"containerStatuses": [server]}}})


def ended(container: str = "abc") -> dict[str, Any]:
    stamp = "2026-12-01T11:16:50Z"
    return {"exitCode": 143, "finishedAt": stamp, "message": MESSAGE, "containerID": f"containerd://{container}"}


def test_a_pod_is_followed_from_its_deletion_to_its_end() -> None:
    terminated = {"terminated": ended()}
    seen = lines(pod("ADDED"), pod("MODIFIED", leaving=True), pod("MODIFIED", leaving=True, state=terminated),
                 pod("DELETED", leaving=True))  # fmt: skip
    record = timeline._pod(seen, "app-1")
    assert (record["deleted"], record["gone"], record["grace_seconds"]) == (1.0, 3.0, 48)
    assert (record["exit_code"], record["message"], record["container"]) == (143, MESSAGE, "abc")
    assert timeline._gone(seen) == {"app-1"}


def test_a_restarted_server_has_the_end_of_the_one_before() -> None:
    fresh = {"containerID": "containerd://new", "restartCount": 1, "lastState": {"terminated": ended("old")}}
    seen = lines(pod("ADDED"), pod("MODIFIED", **fresh))
    record = timeline._pod(seen, "app-1")
    assert (record["restarts"], record["container"], record["gone"]) == (1, "old", None)
    assert timeline._restarted(seen) == {"app-1"}
    assert timeline._restarted(seen[1:]) == set(), "a restart before the first look counts"


def test_the_hooks_lines_are_those_of_one_pod() -> None:
    record = timeline._hook(lines(*LOG), "app-1")
    assert (len(record["hook_starts"]), record["hook_says"]) == (
        1,
        "end after 7 s: idle (in flight 0, connections 0)",
    )
    assert round(record["hook_end"] - record["hook_starts"][0], 3) == 7.388
    assert round(timeline._last_request({**record, "message": MESSAGE}) - record["hook_starts"][0], 2) == 6.8
    assert timeline._last_request({**record, "message": None}) is None


def test_signals_are_those_of_one_container() -> None:
    signals = timeline._signals(RUNTIME, "abc")
    assert round(signals["sigkill"] - signals["sigterm"], 2) == 39.81
    assert timeline._signals(RUNTIME, "other") == {"sigterm": None, "sigkill": None}


def endpoints(*, ready: bool, service: str = "app", name: str = "app-1") -> str:
    one = {"targetRef": {"name": name}, "conditions": {"ready": ready}}
    labels = {"kubernetes.io/service-name": service}
    return json.dumps({"type": "MODIFIED", "object": {"metadata": {"labels": labels}, "endpoints": [one]}})


def test_an_endpoint_counts_from_when_it_was_ready() -> None:
    unready = lines(endpoints(ready=False), endpoints(ready=True), endpoints(ready=False))
    assert timeline._endpoint(unready, "app-1", None) == 2.0
    other = lines(endpoints(ready=True), endpoints(ready=True, service="proxy", name="proxy-1"))
    assert timeline._endpoint(other, "app-1", None) is None


def test_a_probe_that_was_missed_before_the_deletion_is_not_its_effect() -> None:
    seen = lines(*(endpoints(ready=ready) for ready in (True, False, True, False)))
    assert timeline._endpoint(seen, "app-1", 2.9) == 3.0
    assert timeline._endpoint(seen, "app-1", 9.0) is None
