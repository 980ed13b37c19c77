"""Surroundings that a middleware is not written for: no task, another thread, HTTP/2, an application that resists."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading

import httpx
import pytest

from tests.drainable.direct import Call, Held, Serving, hello, in_flight, together
from tests.drainable.servers import SERVERS, Running
from tests.drainable.streams import on_every_worker
from webhook.drainable import Drainable


@together
async def test_a_server_that_runs_the_application_outside_of_any_task_is_served():
    """As granian does with --task-impl rust."""
    app = Drainable(hello)
    call = Call(app)
    await call.done()
    sent, tasks = [], []

    async def send(message):
        tasks.append(asyncio.current_task())
        sent.append(message)

    done = asyncio.Event()

    def drive():
        with contextlib.suppress(StopIteration):
            app(call.scope | {"path": "/work"}, asyncio.Event().wait, send).send(None)
        done.set()

    del call.scope["drainhook.drainable"]
    asyncio.get_running_loop().call_soon(drive)
    await done.wait()

    assert (sent[0]["status"], tasks) == (200, [None, None])
    assert await in_flight(app) == 0


@together
async def test_the_metrics_are_right_when_another_thread_reads_them():
    """prometheus-client's start_http_server answers in a thread."""
    held = Held()
    app = Drainable(held)
    async with Serving(app):
        call = Call(app)
        await held.entered.wait()
        families = await asyncio.to_thread(lambda: list(app.collector.collect()))
        held.gate.set()
        await call.done()

    assert families[0].samples[0].value == 1


@together
async def test_a_log_line_is_not_written_by_the_signal_handler_itself(caplog):
    """The signal may come in the midst of a line: writing to the same stream there raises RuntimeError."""
    caplog.set_level(logging.INFO, "drainhook")
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    try:
        async with Serving(Drainable(hello)):
            os.kill(os.getpid(), signal.SIGTERM)
            assert caplog.messages == []
            await asyncio.sleep(0)
            assert caplog.messages == ["SIGTERM: in flight 0, up to 10 s for it"]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_signals_at_any_moment_do_not_disturb_the_count():
    """A handler runs between any two steps of the program: 300 signals while 2,000 calls are made."""
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: seen.append(number))

    async def serve():
        app = Drainable(hello)
        over = threading.Event()

        def disturb():
            for _ in range(300):
                os.kill(os.getpid(), signal.SIGTERM)
                over.wait(0.0005)

        async with Serving(app):
            thread = threading.Thread(target=disturb)
            thread.start()
            statuses = [(await Call(app).done()).status for _ in range(2_000)]
            over.set()
            await asyncio.to_thread(thread.join)
            assert app._look().here == 0
            assert app._look().rejected == statuses.count(503)
            assert statuses == sorted(statuses)  # 200 until the first signal, 503 from then on

    try:
        asyncio.run(serve())
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hypercorn", "granian"])
def test_over_http_2_work_is_refused_without_a_header_that_it_does_not_know(name, tmp_path):
    with Running(SERVERS[name], "starlette", tmp_path) as running:
        running.ready()
        with httpx.Client(http1=False, http2=True, base_url=f"http://127.0.0.1:{running.port}") as client:
            before = client.get("/pid")
            drain = client.get("/drain?settle=0&wait=5", timeout=30)
            after = client.get("/pid")
        running.terminate()

        assert {answer.http_version for answer in (before, drain, after)} == {"HTTP/2"}
        assert [answer.status_code for answer in (before, drain, after)] == [200, 200, 503]
        assert not any("connection" in answer.headers for answer in (before, drain, after))
        assert after.headers["retry-after"] == "1"
        assert running.exit_code() == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="granian has --task-impl rust up to Python 3.11 only")
def test_granian_without_tasks_drains_and_ends(tmp_path):
    server = SERVERS["granian"]
    without = type(server)("granian-rust", 1, f"{server.command} --task-impl rust")
    with Running(without, "bare", tmp_path) as running:
        running.ready()
        streams = on_every_worker(running, websocket=False)
        running.terminate()
        running.said(f"SIGTERM: in flight {len(streams)}")
        running.open_gate()

        assert all(stream.ended().is_whole for stream in streams)
        assert running.exit_code() == 0
