"""A real llama.cpp server under streaming load, ended as a kubelet would with the hook that decide() gives its pod."""

from __future__ import annotations

import statistics
import time

import pytest

from demo.kubelet import run_hook
from demo.load import Fate
from demo.story import Load, play, tokens_for
from tests.engine.hooks import PROFILE, HookHere
from tests.engine.load import drain, kept_alive, requests, wait

pytestmark = pytest.mark.engine

# At once more than the two slots, and one more while the pod already ends.
LOAD = Load(at_once=5, late_seconds=(0.3,), seconds=0.8)
PROMPT_SECONDS = 1.5  # design: the hook ends at most that long after the last request
IDLE = PROFILE.metrics.idle_seconds


def test_completes_every_request_with_the_hook(start, tmp_path):
    """Running, queued and late requests all get every token; then SIGTERM follows at once, well within the grace."""
    engine = start()
    here = HookHere(engine.port, tmp_path, "--metrics")

    act = play(engine, LOAD, tokens_for(engine, LOAD), here.hook, here.grace)

    assert [trip.fate for trip in act.trips] == [Fate.COMPLETED] * 6
    assert (act.termination.hook_code, act.termination.killed) == (0, False)
    assert max(trip.ended for trip in act.trips) < act.termination.hook_seconds < here.grace
    assert here.record()["end"] == "idle"


def test_loses_requests_without_a_hook(start):
    """The same load ended by SIGTERM alone: this is what the hook is for."""
    engine = start()

    act = play(engine, LOAD, tokens_for(engine, LOAD), None, 30)

    assert act.count(Fate.LOST) >= 1
    assert act.termination.exit_code == 128 + 15


def test_ends_soon_after_the_last_request(engine, tmp_path):
    """Zero gauges and no connection end the drain at once: within 1.5 s in the median of three drains."""
    here = HookHere(engine.port, tmp_path, "--metrics", settle=0)

    drains = [drain(here.hook, requests(engine, 3)) for _ in range(3)]

    assert {one.fates for one in drains} == {(Fate.COMPLETED,) * 3}
    assert all(one.behind > 0 for one in drains)
    assert statistics.median(one.behind for one in drains) <= PROMPT_SECONDS


def test_waits_the_idle_window_while_a_connection_stays_open(engine, tmp_path):
    """A pooled connection may bring a request that no gauge shows yet, so zeros must span the window, not more."""
    here = HookHere(engine.port, tmp_path, "--metrics", settle=0)

    with kept_alive(engine):
        one = drain(here.hook, requests(engine, 3))

    assert one.fates == (Fate.COMPLETED,) * 3
    assert IDLE - PROMPT_SECONDS <= one.behind <= IDLE + PROMPT_SECONDS
    assert here.record()["end"] == "idle"


def test_never_outlives_its_deadline(start, tmp_path):
    """A request that is longer than the budget does not hold the hook, and its exit code stays 0."""
    engine = start()
    here = HookHere(engine.port, tmp_path, "--metrics", settle=0)
    (stream,) = requests(engine, 1, tokens=3000)
    stream.start()
    wait(lambda: stream.first_token is not None)
    began = time.monotonic()

    code = run_hook(here.hurried(drain=2), deadline_seconds=30)

    # Two seconds of budget; the rest is for a busy test machine, where the request lasts longer, too.
    assert (code, time.monotonic() - began < 4, stream.is_alive()) == (0, True, True)
    assert here.record()["end"] == "deadline"
    engine.end()  # rather than wait for it
    stream.join()


def test_leaves_at_once_when_the_engine_is_dead(start, tmp_path):
    """A crashed engine listens nowhere: a restart must not wait for the settle time."""
    engine = start()
    here = HookHere(engine.port, tmp_path, "--metrics", settle=10)
    engine.process.kill()
    engine.process.wait()

    one = drain(here.hook, [])

    assert one.code == 0
    assert one.seconds <= PROMPT_SECONDS
    assert here.record()["end"] == "not_listening"
