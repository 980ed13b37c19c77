"""What does not end in its time: cut, hurried by a second SIGTERM, or left to hang; the process ends with 0."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from tests.drainable.servers import SERVERS, Running
from tests.drainable.streams import Stream


@pytest.fixture
def start(tmp_path):
    """Start servers that are ended in any case."""
    made = []

    def one(server, app, **environment):
        made.append(Running(server, app, tmp_path, **environment))
        return made[-1].ready()

    yield one
    for running in made:
        running.__exit__()


def answer(running, path):
    """Ask in a thread; give where the answer will be."""
    found = []
    threading.Thread(target=lambda: found.append(running.get(path)), daemon=True).start()
    return found


def in_flight(running, count):
    """Wait until that many are in flight."""
    deadline = time.monotonic() + 60
    while running.metric("inflight_requests") != count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("name", ["uvicorn-h11", pytest.param("uvicorn", marks=pytest.mark.slow)])
def test_after_its_time_what_is_in_flight_is_cut(name, start):
    running = start(SERVERS[name], "bare", SIGTERM_SECONDS="1")
    stream, websocket = Stream(running).began(), Stream(running, "/socket").began()
    held = answer(running, "/hold")
    in_flight(running, 3)

    running.terminate()

    assert running.exit_code() == 0
    assert not stream.ended().is_whole
    assert websocket.ended().close_code == 1012
    assert held == [(503, "draining\n")]
    assert any(line.startswith("3 in flight are cut after ") for line in running.lines)
    assert running.lines[-1].endswith(": in flight at SIGTERM 3, at the end 0, refused 0")
    assert "bye from" in running.output


def test_a_second_sigterm_hurries_but_one_at_once_does_not(start):
    running = start(SERVERS["uvicorn-h11"], "bare")
    stream = Stream(running).began()

    running.terminate()
    running.terminate()
    running.said("SIGTERM: in flight 1")
    time.sleep(1.1)  # within a second it is the same order, sent twice
    assert not any("second" in line for line in running.lines)
    running.terminate()

    assert running.exit_code() == 0
    assert not stream.ended().is_whole
    assert "a second SIGTERM: what is in flight is cut" in running.lines


@pytest.mark.parametrize(
    "name", ["uvicorn-h11", *(pytest.param(n, marks=pytest.mark.slow) for n in SERVERS if n != "uvicorn-h11")]
)
def test_an_endpoint_that_hangs_in_a_thread_holds_the_process_up_to_its_budget_only(name, start):
    server = replace(SERVERS[name], command=SERVERS[name].command.replace("-timeout 70", "-timeout 1"))
    if name.startswith("gunicorn"):
        server = SERVERS[name]  # it kills its workers then
    running = start(server, "fastapi", SIGTERM_SECONDS="1")
    answer(running, "/thread")
    in_flight(running, 1)
    began = time.monotonic()
    running.terminate()

    assert running.exit_code() == 0
    print(f"{name}: {time.monotonic() - began:.1f} s")
    assert "bye from" in running.output
    # No line comes after it from the worker that hangs; another one may end later.
    assert any(line.startswith("the server did not stop by itself: in flight ") for line in running.lines)
