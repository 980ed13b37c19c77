"""Other hooks than the drain script alone: an image without a shell, a preStop hook of the user's own."""

from __future__ import annotations

import pytest

from tests.cluster import recipes
from tests.cluster.objects import container
from tests.e2e.disruptions import delete_pod
from tests.e2e.story import tell
from tests.e2e.workload import llama, pods, workload
from webhook import names

pytestmark = pytest.mark.e2e

KEEPS = container(recipes.FASTAPI_APP, 8000, "/readyz")


def test_an_image_without_shell_sleeps_and_loses_no_request(drainhook, namespace, report):
    budget = {names.IMAGE_TOOLS: "none", names.SETTLE: "3", names.DRAIN: "12"}
    server = container(recipes.FASTAPI_BARE, 8000, "/readyz")
    told = tell(drainhook, workload(namespace, server, backend="fastapi", annotations=budget), delete_pod, 1)
    assert pods(drainhook, namespace)[0]["spec"]["containers"][0]["lifecycle"]["preStop"] == {"sleep": {"seconds": 15}}
    report.add("no-shell", told.counts, drainhook=True, expected_loss="")
    report.add_timeline("no-shell", told.records)
    assert told.total("lost") == 0, told.counts
    assert told.counts["pool"]["reused"] > 0, "no connection was kept: the pool shows nothing"
    (record,) = told.records
    assert record["gone"] - record["deleted"] >= 14.5, "the sleep was cut short"


def test_kept_connections_lose_no_request(drainhook, namespace, report):
    """Uvicorn keeps connections, as llama.cpp does not; here the pool really uses them again."""
    told = tell(drainhook, workload(namespace, KEEPS, backend="fastapi"), delete_pod, 1)
    report.add("kept-connections", told.counts, drainhook=True, expected_loss="")
    report.add_timeline("kept-connections", told.records)
    assert told.total("lost") == 0, told.counts
    assert told.counts["pool"]["reused"] > 0, "no connection was kept: the pool shows nothing"
    assert told.records[0]["hook_says"].split(": ")[1].startswith("idle"), told.records


def own_hook(seconds: int) -> dict[str, object]:
    """Give a preStop hook as users write it."""
    return {"preStop": {"exec": {"command": ["sh", "-c", f"sleep {seconds}; echo done >/dev/termination-log"]}}}


def test_a_hook_of_the_users_own_is_kept(drainhook, namespace, report):
    """It outlives the streams here, so nothing is lost; what a weak one loses is its own."""
    own = own_hook(12)
    told = tell(drainhook, workload(namespace, llama(lifecycle=own), backend="llamacpp"), delete_pod, 1)
    (spec, *_) = (pod["spec"] for pod in pods(drainhook, namespace))
    assert spec["containers"][0]["lifecycle"] == own
    assert spec["terminationGracePeriodSeconds"] == 48
    report.add("own-hook-kept", told.counts, drainhook=True, expected_loss="")
    report.add_timeline("own-hook-kept", told.records)
    assert told.total("lost") == 0, told.counts
    assert told.records[0]["message"] == "done\n"


def test_a_hook_of_the_users_own_is_chained_on_request(drainhook, namespace, report):
    chain = {names.EXISTING_HOOK: "chain"}
    made = workload(namespace, llama(lifecycle=own_hook(1)), backend="llamacpp", annotations=chain)
    told = tell(drainhook, made, delete_pod, 1)
    report.add("own-hook-chained", told.counts, drainhook=True, expected_loss="")
    report.add_timeline("own-hook-chained", told.records)
    assert told.total("lost") == 0, told.counts
    (record,) = told.records
    assert record["message"].startswith("done\n{"), record
    assert record["hook_says"], record
