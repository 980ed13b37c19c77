"""The real vLLM loses what is in flight on SIGTERM; with drainhook it loses none. `make e2e ENGINE=vllm` tells it."""

from __future__ import annotations

import pytest

from tests.cluster import vllm
from tests.cluster.errors import ClusterError
from tests.e2e.disruptions import WITH, WITHOUT
from tests.e2e.story import Story, summary, tell

pytestmark = [pytest.mark.e2e, pytest.mark.vllm]


def test_vllm_keeps_its_streams(drainhook, namespaces, report, rounds):
    try:
        volumes = vllm.volumes(vllm.environment(drainhook.places))
    except ClusterError as error:
        pytest.skip(str(error))
    # Four servers and their successors share two cores: each start takes minutes.
    about = Story("vllm", vllm.server(), backend="vllm", pod={"volumes": volumes}, ready_seconds=900, stream_seconds=8)
    told = tell(drainhook, about, namespaces, rounds)
    report.add(about, told)
    assert told[WITH].total("completed") > 0, summary(told)
    assert told[WITH].total("lost") == 0, summary(told)
    assert told[WITHOUT].total("lost") > 0, summary(told)  # else the other half would prove nothing
    assert len(told[WITH].records) == len(told[WITHOUT].records) == rounds
    for record in told[WITH].records:
        assert record["hook_says"].split(": ")[1].startswith("idle "), record
        assert record["endpoint_not_ready"] < record["hook_end"] <= record["sigterm"], record
        assert record["hook_starts"][0] < record["last_request"], record  # something was in flight
        assert record["sigkill"] is None, record
