"""Series of the observer: what a record counts as, and labels from closed sets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from tests.unit.observe.objects import DIGESTS, drained, records
from webhook.cluster.watch import Why
from webhook.observe.feeds import RESOURCES
from webhook.observe.metrics import Metrics
from webhook.observe.record import Cause

(RECORD,) = records(*drained())
DOCS = (Path(__file__).parents[3] / "docs/observe.md").read_text()


@pytest.fixture
def metrics():
    """Make the series of one observer."""
    return Metrics(DIGESTS, RESOURCES, map(str, Why))


def value(metrics, name, **labels):
    """Return a sample, None where there is none."""
    return metrics.registry.get_sample_value(name, labels)


def test_a_good_shutdown_counts_its_time_and_what_was_in_flight(metrics):
    metrics.recorded(RECORD)
    seconds, in_flight = "drainhook_pod_shutdown_duration_seconds", "drainhook_pod_inflight_at_sigterm"
    told = {"backend": "vllm", "reason": "deleted"}
    assert (value(metrics, f"{seconds}_sum", **told), value(metrics, f"{seconds}_count", **told)) == (15, 1)
    assert value(metrics, f"{in_flight}_bucket", backend="vllm", le="0.0") == 1
    assert value(metrics, "drainhook_pod_killed_by_sigkill_total", **told) == 0
    assert value(metrics, "drainhook_prestop_failed_total", backend="vllm") == 0


def test_a_bad_shutdown_counts_as_killed_and_failed(metrics):
    metrics.recorded(replace(RECORD, sigkill=True, prestop_failed=True, cause=Cause.EVICTED))
    told = {"backend": "vllm", "reason": "evicted"}
    assert value(metrics, "drainhook_pod_killed_by_sigkill_total", **told) == 1
    assert value(metrics, "drainhook_prestop_failed_total", backend="vllm") == 1


def test_what_is_unknown_is_counted_as_unknown_and_never_as_zero(metrics):
    metrics.recorded(replace(RECORD, sigkill=None, hook=None, seconds=None))
    assert value(metrics, "drainhook_observe_unknown_total", backend="vllm", what="inflight") == 1
    assert value(metrics, "drainhook_observe_unknown_total", backend="vllm", what="sigkill") == 1
    assert value(metrics, "drainhook_pod_inflight_at_sigterm_count", backend="vllm") is None
    told = {"backend": "vllm", "reason": "deleted"}
    assert value(metrics, "drainhook_pod_shutdown_duration_seconds_count", **told) is None


def test_unprotected_pods_go_up_and_down(metrics):
    def now():
        return value(metrics, "drainhook_pods_unprotected", backend="tgi", why="old_profile")

    metrics.unprotected({("tgi", "old_profile"): 3})
    assert now() == 3
    metrics.unprotected({})
    assert now() == 0


def test_every_backend_and_reason_is_there_from_the_start(metrics):
    """An alert on a rate needs the zero before it."""
    for backend in (*DIGESTS, "other"):
        for cause in Cause:
            assert value(metrics, "drainhook_pod_killed_by_sigkill_total", backend=backend, reason=str(cause)) == 0


def test_the_documents_name_every_series_and_no_other(metrics):
    """Who writes an alert reads there."""
    page = generate_latest(metrics.registry).decode()
    exported = {line.split()[2] for line in page.splitlines() if line.startswith("# TYPE drainhook")}
    told = {line.split("`")[1].partition("{")[0] for line in DOCS.splitlines() if line.startswith("| `drainhook_")}
    ours = {name for name in exported if not name.endswith("_created")} - {"drainhook_build_info"}
    assert told == ours
    assert {str(cause) for cause in Cause} <= {
        line.split("`")[1] for line in DOCS.splitlines() if line.startswith("| `")
    }
