"""A large cluster: 5,000 patched pods and 50 deletions a second within 256 MiB, nothing lost."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.unit.observe import objects
from tests.unit.observe.command import EVENTS, PODS, observing
from tests.unit.observe.objects import ended, event, message, running
from tests.unit.observe.watchserver import WatchServer
from webhook.catalog import load

PODS_THERE, RATE, SECONDS, MOST_MIB = 5_000, 50, 6, 256
SCRIPT = load()[0].script
FIELDS = [{"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:status": "x" * 3_000}}]


def pod(number, *statuses, **changes):
    """Return a pod of the size that a patched one has: the whole script in its hook, and the managed fields."""
    made = objects.pod(*statuses, uid=f"u{number}", name=f"chat-5d9f7c8b6-{number}", **changes)
    made["metadata"]["managedFields"] = FIELDS
    hook = {"preStop": {"exec": {"command": ["sh", "-c", SCRIPT, "drainhook", "settle=10"]}}}
    made["spec"]["containers"] = [{"name": "server", "image": "vllm/vllm-openai:v0.11.0", "lifecycle": hook}]
    return made


def shut_down(server, number, asked):
    """Let a pod end as the kubelet tells it: asked, event, ended, gone; and its successor come."""
    last = ended(asked, text=message(), instance=f"i{number}")
    server.put(PODS, pod(number, running(instance=f"i{number}"), asked=asked))
    told = event("Killing", asked, uid=f"u{number}", name=f"chat-5d9f7c8b6-{number}")
    server.put(EVENTS, {**told, "metadata": {**told["metadata"], "uid": f"e{number}"}})
    server.put(PODS, pod(number, last, asked=asked))
    server.remove(PODS, pod(number, last, asked=asked, now=asked))
    server.put(PODS, pod(PODS_THERE + number, running(instance=f"n{number}")))


def memory(process, key):
    """Return a value of the kernel's account of a process, in MiB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:")) / 1024


@pytest.mark.slow
def test_five_thousand_pods_and_fifty_deletions_a_second(tmp_path):
    """Peak memory counts the first list too."""
    with WatchServer() as server:
        for number in range(PODS_THERE):
            server.put(PODS, pod(number, running(instance=f"i{number}")))
        size = len(json.dumps(pod(0, running())))
        with observing(server, tmp_path, "-o", "json") as command:
            begin, after_list = time.monotonic(), memory(command.process, "VmHWM")
            for number in range(RATE * SECONDS):
                time.sleep(max(0.0, begin + number / RATE - time.monotonic()))  # the rate is what is tested
                shut_down(server, number, int(time.time()))
            took = time.monotonic() - begin
            seen = [json.loads(command.line())["uid"] for _ in range(RATE * SECONDS)]
            peak, now = memory(command.process, "VmHWM"), memory(command.process, "VmRSS")
            assert command.end() == 0
    print(f"{PODS_THERE} pods of {size} bytes, {RATE * SECONDS / took:.0f} deletions/s: peak {peak:.0f} MiB "
          f"(after the list {after_list:.0f}), at the end {now:.0f}")  # fmt: skip
    assert sorted(seen) == sorted(f"u{number}" for number in range(RATE * SECONDS)), "each pod once"
    assert peak <= MOST_MIB
