"""Metrics: closed label sets (row O2), and what is counted."""

from __future__ import annotations

import re

from tests.server.conftest import eventually
from tests.server.reviews import bare_pod, faulty_deployment, pod, review
from webhook import __version__
from webhook.core.decision import Reason
from webhook.server.metrics import DECISIONS, OPERATIONS, OTHER, PATHS, RELOADS

LABELS = {
    "path": {*PATHS},
    "operation": {*OPERATIONS, OTHER},
    "decision": {*DECISIONS},
    "reason": {*map(str, Reason)},
    "result": {*RELOADS},
}


def requests(path, operation, decision):
    return f'drainhook_admission_requests_total{{decision="{decision}",operation="{operation}",path="{path}"}}'


def test_o2_a_thousand_objects_add_no_series(server, client):
    before = server.series().keys()
    for number in range(1000):
        document = pod()
        document["metadata"] |= {"generateName": f"pod-{number}-", "annotations": {"drainhook.dev/port": f"p{number}"}}
        document["spec"]["containers"][0]["image"] = f"registry/{number}:v{number}"
        request = {"namespace": f"ns-{number}", "operation": f"OP{number}" if number % 2 else "CREATE"}
        client.post("/mutate", json=review(document, **request))

    assert server.series().keys() == before


def test_o2_every_label_value_is_of_a_closed_set(server):
    for name in server.series():
        for label, value in re.findall(r'(\w+)="([^"]*)"', name):
            assert label in {"le", "version", "python"} or value in LABELS[label], name


def test_every_decision_is_counted(server, client):
    wanted = [
        ("/mutate", review(pod()), "patch"),
        ("/mutate", review(bare_pod()), "allow"),
        ("/validate", review(faulty_deployment()), "deny"),
    ]
    before = server.series()
    for path, body, _ in wanted:
        client.post(path, json=body)
    client.post("/mutate", json=[])
    after = server.series()

    names = [requests(path.strip("/"), "CREATE", decision) for path, _, decision in wanted]
    names.append(requests("mutate", "other", "fault"))
    assert [after[name] - before[name] for name in names] == [1, 1, 1, 1]


def test_every_reason_is_counted(server, client):
    name = 'drainhook_admission_reasons_total{reason="hook_exec"}'
    before = server.series()[name]
    client.post("/mutate", json=review(pod()))

    assert server.series()[name] == before + 1


def test_o1_the_duration_is_in_seconds_with_buckets_of_milliseconds(server, client):
    client.post("/mutate", json=review(pod()))
    series = server.series()

    assert series['drainhook_admission_duration_seconds_count{path="mutate"}'] >= 1
    assert series['drainhook_admission_duration_seconds_bucket{le="1.0",path="mutate"}'] >= 1
    assert 0 < series['drainhook_admission_duration_seconds_sum{path="mutate"}'] < 60


def test_o1_nothing_is_in_flight_when_all_is_answered(server, client):
    client.post("/mutate", json=review(pod()))

    eventually(lambda: server.series()["drainhook_admission_in_flight"] == 0)


def test_the_build_is_named(server):
    assert 'drainhook_build_info{python="' in server.metrics()
    assert f'version="{__version__}"}} 1.0' in server.metrics()


def test_two_servers_in_one_process_share_no_series(context):
    other = type(context.metrics)()
    context.metrics.proof_failures.inc()

    assert other.registry.get_sample_value("drainhook_patch_proof_failures_total") == 0
