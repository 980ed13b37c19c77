"""With drainhook no streamed request is lost in a disruption; the same Deployment without label loses some."""

from __future__ import annotations

import pytest

from tests.e2e.disruptions import LIMITS, PROMISED
from tests.e2e.story import tell
from tests.e2e.workload import llama, workload

pytestmark = pytest.mark.e2e

CUT = "the deleter leaves less time than a stream needs"


@pytest.mark.parametrize("name", PROMISED)
def test_a_labelled_deployment_loses_no_request(drainhook, namespace, report, name):
    made = workload(namespace, llama(), backend="llamacpp")
    told = tell(drainhook, made, PROMISED[name], 2 if name == "rollout-restart" else 1)
    report.add(name, told.counts, drainhook=True, expected_loss="")
    report.add_timeline(f"{name}-with", told.records)
    assert told.total("lost") == 0, told.counts
    assert told.total("completed") > 0
    for record in told.records:
        assert record["hook_starts"], record
        assert record["hook_says"].split(": ")[1].startswith("idle"), record
        assert record["endpoint_not_ready"] < record["hook_end"] <= record["gone"], record


@pytest.mark.parametrize("name", PROMISED)
def test_the_same_without_label_loses_requests(drainhook, namespace, report, name):
    """Else the other half would prove nothing."""
    made = workload(namespace, llama())
    told = tell(drainhook, made, PROMISED[name], 2 if name == "rollout-restart" else 1)
    report.add(name, told.counts, drainhook=False, expected_loss="no hook: SIGTERM cuts the streams")
    report.add_timeline(f"{name}-without", told.records)
    assert told.total("lost") > 0, told.counts
    assert all(not record["hook_starts"] for record in told.records)


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("labelled", [True, False], ids=["with", "without"])
def test_no_hook_keeps_what_the_deleter_cuts(drainhook, namespace, report, name, labelled):
    """No promise: the loss is measured and said."""
    made = workload(namespace, llama(), backend="llamacpp" if labelled else "")
    told = tell(drainhook, made, LIMITS[name], 1)
    report.add(name, told.counts, drainhook=labelled, expected_loss=CUT)
    report.add_timeline(f"{name}-{'with' if labelled else 'without'}", told.records)
    assert told.total("completed") > 0
