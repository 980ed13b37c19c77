"""Only processes that were started here are ended, and ended they are."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from tests.cluster import processes
from tests.cluster.errors import ClusterError
from tests.cluster.places import Places

STUBBORN = "trap '' TERM; echo up; while :; do sleep 1; done"


@pytest.fixture
def places(tmp_path):
    return Places(tmp_path)


def test_a_started_process_is_found_logs_and_ends(places):
    process = processes.start(places, "one", ["sh", "-c", "echo hello; exec sleep 60"])
    log = places.logs / "one.log"
    processes.wait_until("a line in the log", lambda: log.read_text() == "hello\n", 10, process)
    assert processes.find(places, "one") == process
    processes.end(places, "one")
    assert not process.is_running
    assert processes.find(places, "one") is None


def test_a_process_that_ignores_sigterm_is_killed(places):
    process = processes.start(places, "stubborn", ["sh", "-c", STUBBORN])
    log = places.logs / "stubborn.log"
    processes.wait_until("its trap", lambda: log.read_text() == "up\n", 10, process)
    processes.end(places, "stubborn", signal.SIGTERM, seconds=0.1)
    processes.wait_until("its end", lambda: not process.is_running, 10)


def test_an_id_that_now_belongs_to_somebody_else_is_left_alone(places):
    places.processes.mkdir(parents=True)
    with subprocess.Popen(["sleep", "60"]) as stranger:
        try:
            (places.processes / "old").write_text(json.dumps({"pid": stranger.pid, "started": 1}))
            processes.end(places, "old")
            assert stranger.poll() is None
            assert not (places.processes / "old").exists()
        finally:
            stranger.kill()


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"pid": 1}'])
def test_a_broken_file_names_no_process(places, text):
    places.processes.mkdir(parents=True)
    (places.processes / "broken").write_text(text)
    assert processes.find(places, "broken") is None


def test_waiting_for_what_never_comes_ends_with_a_sentence():
    with pytest.raises(ClusterError, match=r"^rain: not within 0 s$"):
        processes.wait_until("rain", lambda: False, 0)


def test_waiting_ends_at_once_when_the_process_for_it_ended(places):
    process = processes.start(places, "short", [sys.executable, "-c", ""])
    with pytest.raises(ClusterError, match=r"^rain: the process ended$"):
        processes.wait_until("rain", lambda: False, 60, process)


def test_the_child_of_a_process_is_found(places):
    process = processes.start(places, "parent", ["sh", "-c", "sleep 60 & wait"])
    processes.wait_until("a child", lambda: processes.child_of(process.pid) is not None, 10, process)
    child = processes.remember(places, "child", processes.child_of(process.pid))
    for name in ("child", "parent"):
        processes.end(places, name)
    assert not child.is_running
