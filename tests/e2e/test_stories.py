"""With drainhook no streamed request is lost in a disruption; the same Deployment without label loses some."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Final

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.objects import Json
from tests.e2e.disruptions import WITH, WITHOUT
from tests.e2e.stories import own_hook
from tests.e2e.story import NotBegunError, Story, Told, summary, tell
from tests.e2e.timeline import Record
from tests.e2e.workload import GRACE_SECONDS, pods
from webhook import names

pytestmark = pytest.mark.e2e


def test_story(drainhook, namespaces, report, rounds, story: Story):
    told = _told(drainhook, story, namespaces, rounds)
    report.add(story, told)
    for pod in pods(drainhook, namespaces[WITH]):
        PODS.get(story.name, _runs_the_script)(pod["spec"])
    labelled, plain = told[WITH], told[WITHOUT]
    assert labelled.total("completed") > 0, summary(told)
    assert len(labelled.records) == len(plain.records) == story.ended * rounds
    assert labelled.total("lost") == 0 or story.expected_loss, summary(told)
    if story.backend == "fastapi":  # uvicorn keeps connections: the pool and the proxy must have used some again
        assert all(labelled.counts[client]["reused"] > 0 for client in ("pool", "nginx")), summary(told)
    # Else the other half would prove nothing; once may meet a moment without any stream, so a single round is judged
    # over all stories, by `python -m tests.e2e`.
    assert plain.total("lost") > 0 or not story.cuts or rounds < 3, summary(told)
    for record in labelled.records:
        _hold_against(story, record)
        RECORDS.get(story.name, _anything)(record)
    if "lifecycle" not in story.server:
        assert all(not record["hook_starts"] for record in plain.records)


def _told(cluster: Cluster, story: Story, namespaces: Mapping[str, str], rounds: int) -> Mapping[str, Told]:
    """Tell the story, once more where its Deployments did not get ready."""
    try:
        return tell(cluster, story, namespaces, rounds)
    except NotBegunError as error:
        print(f"{story.name} is told again: {error}", file=sys.stderr)
        return tell(cluster, story, namespaces, rounds)


def _hold_against(story: Story, record: Record) -> None:
    """Assert the order of a pod's end, by the clocks of three programs on one machine."""
    if not story.restarts:
        assert record["deleted"] <= record["gone"], record
    if not story.hook_end:
        return
    assert record["hook_says"].split(": ")[1].startswith(f"{story.hook_end} "), record
    assert record["hook_starts"][0] <= record["hook_end"] <= record["sigterm"], record
    assert story.restarts or record["endpoint_not_ready"] < record["hook_end"], record
    assert record["sigkill"] is None, record


def _server(spec: Json) -> Json:
    return next(one for one in spec["containers"] if one["name"] == "server")


def _runs_the_script(spec: Json) -> None:
    assert names.HOOK_NAME in _server(spec)["lifecycle"]["preStop"]["exec"]["command"]
    assert spec["terminationGracePeriodSeconds"] == GRACE_SECONDS
    others = [one for one in (*spec["containers"], *spec.get("initContainers", [])) if one["name"] != "server"]
    assert all("lifecycle" not in one for one in others), "a container that serves nobody got a hook"


def _has_a_sleep(spec: Json) -> None:
    assert _server(spec)["lifecycle"]["preStop"] == {"sleep": {"seconds": 15}}


def _calls_the_server(spec: Json) -> None:
    assert _server(spec)["lifecycle"]["preStop"]["httpGet"]["path"] == "/drain?settle=3&wait=30"


def _has_a_sidecar(spec: Json) -> None:
    assert _server(spec)["lifecycle"]["preStop"]["httpGet"]["port"] == names.SIDECAR_PORT
    (sidecar,) = spec["initContainers"]
    assert (sidecar["name"], sidecar["restartPolicy"]) == (names.SIDECAR, "Always")
    mounts = {mount["mountPath"]: mount["name"] for mount in sidecar["volumeMounts"]}
    assert mounts == {names.TOKEN_PATH: names.SIDECAR_VOLUME}, "the sidecar got a token"


def _has_its_own(spec: Json) -> None:
    assert _server(spec)["lifecycle"] == own_hook(12)
    assert spec["terminationGracePeriodSeconds"] == GRACE_SECONDS


PODS: Final[Mapping[str, Callable[[Json], None]]] = {
    "no-shell-sleep": _has_a_sleep,
    "no-shell-http": _calls_the_server,
    "no-shell-sidecar": _has_a_sidecar,
    "own-hook-kept": _has_its_own,
}


def _sleeps(record: Record) -> None:
    assert record["sigterm"] - record["deleted"] >= 14.5, f"the sleep was cut short: {record}"


def _leaves_at_once(record: Record) -> None:
    assert record["hook_end"] - record["hook_starts"][0] < 2, f"a dead engine was waited for: {record}"
    assert record["restarts"] > 0, record


def _is_cut(record: Record) -> None:
    assert record["gone"] - record["deleted"] < 10, f"no grace was cut: {record}"
    assert record["hook_end"] is None, f"the hook came to its end: {record}"


def _starts_anew(record: Record) -> None:
    """Hold also where the line of the second start was lost: the hook counts its seconds from there."""
    counted = int(record["hook_says"].split()[2])
    took = record["hook_end"] - record["hook_starts"][0]
    assert took > counted + 1, f"the kubelet was not restarted while the hook ran: {record}"


def _ends_without_gauges(record: Record) -> None:
    assert record["hook_starts"], record
    assert record["hook_says"].split(": ")[1].split()[0] in ("no_connections", "deadline"), record
    # Uvicorn then waits for the looks at its metrics that never end, until SIGKILL: no stream is among them.
    assert record["hook_end"] <= record["sigterm"], record


def _says_done(record: Record) -> None:
    assert record["message"] == "done\n", record


def _says_done_and_drains(record: Record) -> None:
    assert record["message"].startswith("done\n{"), record


def _anything(_record: Record) -> None:
    """Hold for any pod."""


RECORDS: Final[Mapping[str, Callable[[Record], None]]] = {
    "no-shell-sleep": _sleeps,
    "dead-engine": _leaves_at_once,
    "hanging-metrics": _ends_without_gauges,
    "grace-cut": _is_cut,
    "force-delete": _is_cut,
    "kubelet-restart": _starts_anew,
    "own-hook-kept": _says_done,
    "own-hook-chained": _says_done_and_drains,
}
