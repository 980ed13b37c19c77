"""Pages of metrics as they look: the sums, and what two readings differ by."""

from __future__ import annotations

from tests.latency.counters import Spent, reading, total

WEBHOOK = """# HELP drainhook_admission_requests_total Admission reviews answered.
# TYPE drainhook_admission_requests_total counter
drainhook_admission_requests_total{decision="patch",operation="CREATE",path="mutate"} 3.0
drainhook_admission_requests_total{decision="allow",operation="CREATE",path="mutate"} 1.0
drainhook_admission_requests_total{decision="allow",operation="UPDATE",path="validate"} 9.0
drainhook_admission_requests_created{decision="patch",operation="CREATE",path="mutate"} 1.7e+09
drainhook_admission_duration_seconds_bucket{le="0.1",path="mutate"} 4.0
drainhook_admission_duration_seconds_count{path="mutate"} 4.0
drainhook_admission_duration_seconds_sum{path="mutate"} 0.002
"""
NAME = "pods.drainhook.dev"
SERIES = "apiserver_admission_webhook_admission_duration_seconds"
SERVER = f"""etcd_requests_total{{operation="get"}} 7
{SERIES}_bucket{{name="{NAME}",operation="CREATE",rejected="false",type="admit",le="0.5"}} 4
{SERIES}_sum{{name="{NAME}",operation="CREATE",rejected="false",type="admit"}} 0.01
{SERIES}_count{{name="{NAME}",operation="CREATE",rejected="false",type="admit"}} 4
"""


def test_series_are_summed_by_the_labels_asked_for():
    assert total(WEBHOOK, "drainhook_admission_requests_total", path="mutate") == 4
    assert total(WEBHOOK, "drainhook_admission_requests_total", operation="DELETE") == 0


def test_the_pages_of_all_replicas_count():
    found = reading([WEBHOOK, WEBHOOK], SERVER)
    assert found.creates == {"mutate": 8, "validate": 0}
    assert found.inside == {"mutate": Spent(8, 0.004), "validate": Spent(0, 0)}
    assert found.seen == {NAME: Spent(4, 0.01)}


def test_a_later_reading_gives_what_was_added():
    added = reading([WEBHOOK, WEBHOOK], SERVER).since(reading([WEBHOOK], ""))
    assert added.creates == {"mutate": 4, "validate": 0}
    assert added.inside["mutate"].mean_ms == 0.5
    assert added.seen == {NAME: Spent(4, 0.01)}
    assert added.inside["validate"].mean_ms == 0
