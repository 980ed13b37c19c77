"""The end of a process: clean-ups and SIGTERM, as a server in this process would see them. Cuts: test_cut.py."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import signal
import threading

import pytest

from tests.drainable.direct import Call, Held, Serving, figures, hello, together
from webhook.drainable import Cleanup, Drainable


@pytest.fixture
def seen():
    """Stand in for a server's handler, and give what it saw."""
    numbers = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: numbers.append(number))
    yield numbers
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(autouse=True)
def lines(caplog):
    """Give the log lines, read as a whole."""
    caplog.set_level(logging.INFO, "drainhook")
    return caplog


def sync_one():
    """End well."""


async def async_one():
    """End well too."""


def broken():
    raise LookupError("no such file")


async def broken_later():
    raise LookupError("no such file")


def leaves():
    raise SystemExit(3)


async def leaves_later():
    raise SystemExit(3)


async def cancels_itself():
    raise asyncio.CancelledError


def gives_an_awaitable():
    return asyncio.sleep(0)


class Closer:
    """An object that is called, as clients of libraries are."""

    async def __call__(self):
        await asyncio.sleep(0)

    def __repr__(self):
        """Give a name."""
        return "Closer()"


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (sync_one, "clean-up sync_one took "),
        (async_one, "clean-up async_one took "),
        (gives_an_awaitable, "clean-up gives_an_awaitable took "),
        (Closer(), "clean-up Closer() took "),
        (functools.partial(async_one), "clean-up functools.partial("),
        (broken, "clean-up broken failed: LookupError('no such file')"),
        (broken_later, "clean-up broken_later failed: LookupError('no such file')"),
        (leaves, "clean-up leaves failed: RuntimeError('raised SystemExit(3)')"),
        (leaves_later, "clean-up leaves_later failed: RuntimeError('raised SystemExit(3)')"),
        (cancels_itself, "clean-up cancels_itself failed: it cancelled itself"),
    ],
)
@together
async def test_every_clean_up_has_one_line_and_the_next_one_runs(call, line, lines, seen):
    ran = []
    async with Serving(Drainable(hello, cleanups=[call, lambda: ran.append(call)])) as serving:
        pass

    first, second, last = lines.messages
    assert first.startswith(line)
    assert "lambda> took " in second
    assert last == "shutdown without a drain: in flight at SIGTERM unknown, at the end 0, refused 0"
    assert (ran, serving.sent[-1], seen) == ([call], "lifespan.shutdown.complete", [])


@pytest.mark.parametrize("kind", ["sync", "async", "stubborn"])
@together
async def test_a_clean_up_that_hangs_is_left_behind_after_its_time(kind, lines, seen):
    gate = threading.Event()
    enough = asyncio.Event()

    async def stubborn():
        while not enough.is_set():
            try:
                await enough.wait()
            except asyncio.CancelledError:
                continue

    calls = {"sync": gate.wait, "async": asyncio.Event().wait, "stubborn": stubborn}
    async with Serving(Drainable(hello, cleanups=[Cleanup(calls[kind], 0.1), sync_one], cleanup_seconds=20)):
        pass

    assert lines.messages[0].endswith(" did not end within 0.1 s")
    assert lines.messages[1].startswith("clean-up sync_one took ")
    gate.set()
    enough.set()
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait({task})
    for thread in threading.enumerate():
        if thread.name == "drainhook-clean-up":
            thread.join(20)
    assert seen == []


@together
async def test_at_sigterm_the_server_is_told_and_new_work_is_refused(lines, seen):
    held = Held()
    app = Drainable(held)
    async with Serving(app):
        call = Call(app)
        await held.entered.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        assert seen == [signal.SIGTERM]
        assert (await Call(app).done()).status == 503
        assert (await figures(app))["draining"] == 1
        held.gate.set()
        assert (await call.done()).text == "one two"

    assert lines.messages[0] == "SIGTERM: in flight 1, up to 10 s for it"
    assert lines.messages[-1].endswith(" s: in flight at SIGTERM 1, at the end 0, refused 1")
    assert len(lines.messages) == 2


@together
async def test_a_drain_that_waits_at_sigterm_still_ends_when_all_is_done(seen):
    held = Held()
    app = Drainable(held)
    async with Serving(app):
        call = Call(app)
        await held.entered.wait()
        drain = Call(app, "/drain?settle=300&wait=5")
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGTERM)
        held.gate.set()
        await call.done()
        assert (await drain.done()).text == "idle, in flight 0\n"
    assert seen == [signal.SIGTERM]


@together
async def test_a_second_sigterm_at_once_is_passed_on_and_hurries_nobody(lines, seen):
    held = Held()
    app = Drainable(held)
    async with Serving(app):
        call = Call(app)
        await held.entered.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0)
        held.gate.set()
        assert (await call.done()).text == "one two"

    assert seen == [signal.SIGTERM, signal.SIGTERM]
    assert not any("second" in line or "cut" in line for line in lines.messages)


@together
async def test_after_the_end_nothing_of_it_is_left_and_a_second_life_begins_fresh(seen):
    threads = set(threading.enumerate())
    handler = signal.getsignal(signal.SIGTERM)
    app = Drainable(hello, cleanups=[sync_one])
    async with Serving(app):
        assert signal.getsignal(signal.SIGTERM) != handler
        await Call(app, "/drain?settle=0&wait=1").done()
    assert signal.getsignal(signal.SIGTERM) == handler

    async with Serving(app):
        assert (await Call(app).done()).status == 200
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN  # a supervisor's second one changes nothing

    for thread in set(threading.enumerate()) - threads:
        thread.join(20)
    assert set(threading.enumerate()) <= threads  # of an earlier test one may have ended since
    assert seen == [signal.SIGTERM]


@together
async def test_a_start_that_fails_leaves_the_server_s_handler(seen):
    async def fails(_scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no model"})

    handler = signal.getsignal(signal.SIGTERM)
    serving = Serving(Drainable(fails, cleanups=[broken]))
    await serving.step("startup")
    await serving.task

    assert serving.sent == ["lifespan.startup.failed"]
    assert signal.getsignal(signal.SIGTERM) == handler
    assert seen == []


@together
async def test_where_no_server_handles_sigterm_it_stays_as_it_is(lines):
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL

    async with Serving(Drainable(hello)):
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL

    assert lines.messages[0].startswith("the server handles no SIGTERM")


def test_a_server_in_another_thread_serves_without_the_signal(seen, lines):
    handler = signal.getsignal(signal.SIGTERM)
    served = []

    async def serve():
        app = Drainable(hello, cleanups=[async_one])
        async with Serving(app):
            served.append((await Call(app).done()).status)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    thread.join(20)

    assert (served, signal.getsignal(signal.SIGTERM), seen) == ([200], handler, [])
    assert lines.messages[0].startswith("clean-up async_one took ")


class Uvicorn:
    """What of uvicorn's server the handler meets: a signal came while the application was imported."""

    def __init__(self):
        """Be told to end already."""
        self.should_exit = True
        self._captured_signals = [signal.SIGINT, signal.SIGTERM]

    def handle_exit(self, number, _frame):
        raise AssertionError(f"was told of {number}: it would raise it again")


@together
async def test_a_sigterm_from_before_the_start_is_taken_over_from_uvicorn(seen, lines):
    server = Uvicorn()
    signal.signal(signal.SIGTERM, server.handle_exit)
    app = Drainable(hello)

    async with Serving(app):
        assert (await Call(app).done()).status == 503
        os.kill(os.getpid(), signal.SIGTERM)

    assert server._captured_signals == [signal.SIGINT]
    assert lines.messages[0] == "SIGTERM: in flight 0, up to 10 s for it"
    assert seen == []


@together
async def test_uvicorn_is_told_when_the_last_websocket_has_ended(seen):
    """It closes them the moment that it stops."""
    server = Uvicorn()
    server.should_exit, server._captured_signals = False, []
    signal.signal(signal.SIGTERM, server.handle_exit)
    held = Held()
    app = Drainable(held)
    async with Serving(app):
        call = Call(app, kind="websocket")
        await held.entered.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        assert not server.should_exit
        held.gate.set()
        await call.done()
        assert server.should_exit
    assert seen == []
