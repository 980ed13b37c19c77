"""Drain and SIGTERM under the real servers, with work in flight on every worker."""

from __future__ import annotations

import re
import signal
from dataclasses import replace

import pytest

from tests.drainable.servers import APPS, SERVERS, Running, until
from tests.drainable.story import REFUSALS, drain, sigterm, table

QUICK = {("uvicorn-h11", "starlette")}  # the rest takes minutes
CASES = [
    pytest.param(name, app, marks=[] if (name, app) in QUICK else pytest.mark.slow) for name in SERVERS for app in APPS
]
LATEST_MS = 1000  # the promise is 200 on a quiet machine; python -m tests.drainable prints what it is


@pytest.mark.parametrize(("name", "app"), CASES)
def test_a_drain_reaches_every_worker_loses_nothing_and_the_process_ends_with_0(name, app, tmp_path):
    server = SERVERS[name]

    outcome = drain(server, app, tmp_path)

    print(table([outcome]))
    assert (outcome.lost, outcome.refused, outcome.exit_code) == (0, REFUSALS + 1, 0)
    assert outcome.completed >= server.workers + 1
    assert outcome.drain_ms < LATEST_MS
    assert shape(outcome.lines) == [
        f"drain: settle N s, wait up to N s, in flight {outcome.completed}",
        f"drain: new work is refused from now on, in flight {outcome.completed}",
        "drain ends after N s: idle, in flight 0",
        *["SIGTERM: in flight 0, up to N s for it"] * (server.workers if server.is_told else 0),
        *["clean-up bye took N s"] * server.workers,
        *[end(server, 0, refused=REFUSALS + 1)] * server.workers,
    ]


@pytest.mark.parametrize(("name", "app"), CASES)
def test_sigterm_alone_loses_nothing_and_the_process_ends_with_0(name, app, tmp_path):
    server = SERVERS[name]

    outcome = sigterm(server, app, tmp_path)

    assert (outcome.lost, outcome.exit_code) == (0, 0)
    assert outcome.completed >= server.workers
    ends = [line for line in outcome.lines if line.startswith("shutdown")]
    assert len(ends) == server.workers
    assert all(", at the end 0, refused 0" in line for line in ends)
    if server.is_told:
        told = [int(found[1]) for line in outcome.lines if (found := re.match(r"SIGTERM: in flight (\d+),", line))]
        assert sum(told) == outcome.completed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["uvicorn-2", "gunicorn-2", "granian-2"])
def test_workers_that_are_replaced_leave_the_others_serving(name, tmp_path):
    """SIGHUP: the supervisor starts new workers and sends SIGTERM to the old ones."""
    server = SERVERS[name]
    if name.startswith("uvicorn"):  # it keeps the old worker where the new one takes more than 5 s to start
        server = replace(server, command=f"{server.command} --timeout-worker-healthcheck 60")
    with Running(server, "starlette", tmp_path) as running:
        running.ready()
        old = {running.get("/pid")[1] for _ in range(20)}
        running.process.send_signal(signal.SIGHUP)
        until(lambda: running.output.count("bye from") >= 2, "both old workers are gone")
        running.ready()
        answers = [running.get("/pid") for _ in range(20)]
        running.terminate()

        assert {status for status, _ in answers} == {200}
        assert not {pid for _, pid in answers} & old
        assert running.exit_code() == 0


def shape(lines):
    """Put the lines of several workers in the order of their kinds, without what differs each time."""
    kinds = ("drain: settle", "drain: new", "drain ends", "SIGTERM", "clean-up", "shutdown")
    plain = [re.sub(r"\d+(\.\d+)? s\b", "N s", line) for line in lines]
    return sorted(plain, key=lambda line: next(place for place, kind in enumerate(kinds) if line.startswith(kind)))


def end(server, in_flight, *, refused):
    """Give the last line of a worker."""
    at = in_flight if server.is_told else "unknown"
    return f"shutdown took N s: in flight at SIGTERM {at}, at the end 0, refused {refused}"
