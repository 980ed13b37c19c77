"""The middleware called directly: what is counted, what is refused, what is answered here."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Mount, Route, WebSocketRoute

from tests.drainable.direct import Call, Held, drained, hello, in_flight, together
from webhook.drainable import Drainable


@pytest.mark.parametrize("kind", ["http", "websocket"])
@together
async def test_a_call_is_counted_until_the_application_is_done_with_it(kind):
    held = Held()
    app = Drainable(held)
    call = Call(app, kind=kind)
    await held.entered.wait()

    assert await in_flight(app) == 1

    held.gate.set()
    await call.done()
    assert await in_flight(app) == 0


@together
async def test_a_background_task_counts_although_the_last_byte_is_out():
    gate = asyncio.Event()

    async def answer(_request):
        return PlainTextResponse("done", background=BackgroundTask(gate.wait))

    app = Drainable(Starlette(routes=[Route("/work", answer)]))
    call = Call(app)
    await call.arrived.wait()
    assert await in_flight(app) == 1

    gate.set()
    await call.done()
    assert (call.text, await in_flight(app)) == ("done", 0)


@together
async def test_a_client_that_is_gone_ends_the_count_when_the_application_notices():
    async def endless():
        while True:
            yield "token "
            await asyncio.sleep(0)

    async def stream(_request):
        return StreamingResponse(endless())

    app = Drainable(Starlette(routes=[Route("/work", stream)]))
    call = Call(app)
    await call.arrived.wait()
    assert await in_flight(app) == 1

    call.inbox.put_nowait({"type": "http.disconnect"})
    await call.done()
    assert await in_flight(app) == 0


@together
async def test_an_exception_is_passed_on_and_no_longer_counted():
    async def broken(scope, receive, send):
        if scope["path"] == "/work":
            raise LookupError("a bug of the application")
        await hello(scope, receive, send)

    app = Drainable(broken)

    with pytest.raises(LookupError, match="a bug of the application"):
        await Call(app).done()
    assert await in_flight(app) == 0


@pytest.mark.parametrize("kind", ["http", "websocket"])
@together
async def test_a_task_that_the_server_cancels_stays_cancelled_and_is_no_longer_counted(kind):
    held = Held()
    app = Drainable(held)
    call = Call(app, kind=kind)
    await held.entered.wait()

    call.task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await call.task

    assert call.task.cancelled()
    assert await in_flight(app) == 0


@pytest.mark.parametrize("path", ["/readyz", "/healthz", "/metrics", "/metrics/"])
@together
async def test_a_page_of_ours_is_not_counted_when_the_application_answers_it(path):
    held = Held(missing=())
    app = Drainable(held)
    call = Call(app, path)
    await held.entered.wait()

    assert app._look().here == 0

    held.gate.set()
    assert (await call.done()).text == "one two"


@together
async def test_two_drains_do_not_wait_for_each_other():
    app = Drainable(hello)

    both = await asyncio.gather(drained(app), drained(app))

    assert [call.text for call in both] == ["idle, in flight 0\n"] * 2


@together
async def test_a_drain_ends_when_the_last_call_has_ended():
    held = Held()
    app = Drainable(held)
    calls = [Call(app), Call(app, kind="websocket")]
    await held.entered.wait()
    drain = Call(app, "/drain?settle=0&wait=60")
    late = await Call(app).done()
    assert (late.status, drain.task.done()) == (503, False)

    held.gate.set()
    await drain.done()

    assert (drain.status, drain.text) == (200, "idle, in flight 0\n")
    assert (b"connection", b"close") in drain.headers
    assert [call.task.done() for call in calls] == [True, True]
    assert [call.sent[-1]["type"] for call in calls] == ["http.response.body", "websocket.close"]


@together
async def test_a_drain_answers_at_its_deadline_with_what_is_left():
    held = Held()
    app = Drainable(held)
    call = Call(app)
    await held.entered.wait()

    assert (await drained(app, "settle=0&wait=1")).text == "deadline, in flight 1\n"

    held.gate.set()
    await call.done()


@together
async def test_while_it_settles_work_is_taken_and_it_is_ready_and_then_no_more():
    app = Drainable(hello)
    drain = Call(app, "/drain?settle=1&wait=5")
    await asyncio.sleep(0)
    during = [(await Call(app, path).done()).status for path in ("/work", "/readyz", "/healthz")]
    await drain.done()
    after = [(await Call(app, path).done()).status for path in ("/work", "/readyz", "/healthz")]

    assert during == [200, 200, 200]
    assert after == [503, 503, 200]


@together
async def test_a_shorter_settle_time_of_a_second_drain_counts_and_a_longer_one_does_not():
    app = Drainable(hello)
    first = Call(app, "/drain?settle=300&wait=5")
    await asyncio.sleep(0)
    assert (await Call(app).done()).status == 200

    await drained(app, "settle=0&wait=5")
    await drained(app, "settle=300&wait=5")
    assert (await Call(app).done()).status == 503
    await first.done()


@together
async def test_from_the_drain_s_start_http_1_responses_end_their_connection():
    app = Drainable(hello)
    drain = Call(app, "/drain?settle=1&wait=5")
    await asyncio.sleep(0)
    calls = {version: await Call(app, http_version=version).done() for version in ("1.0", "1.1", "2", "3")}
    await drain.done()

    close = [(b"connection", b"close")]
    assert {version: call.headers for version, call in calls.items()} == {"1.0": close, "1.1": close, "2": [], "3": []}
    assert {call.status for call in calls.values()} == {200}


@together
async def test_an_application_s_own_connection_header_does_not_contradict():
    held = Held()
    app = Drainable(held)
    held.gate.set()
    before = await Call(app).done()
    drain = Call(app, "/drain?settle=1&wait=5")
    await asyncio.sleep(0)
    during = await Call(app).done()
    await drain.done()

    assert before.headers == [(b"Connection", b"keep-alive")]
    assert during.headers == [(b"connection", b"close")]


@together
async def test_an_application_below_another_drainable_one_counts_once_and_has_one_drain():
    held = Held()
    app = Drainable(Drainable(held), drain="/outer")
    call = Call(app)
    await held.entered.wait()
    assert await in_flight(app) == 1

    held.gate.set()
    assert (await call.done()).text == "one two"
    assert (await Call(app, "/drain?settle=0").done()).text == "one two"  # a path like any other
    assert (await Call(app, "/outer?settle=0&wait=1").done()).text == "idle, in flight 0\n"


@together
async def test_a_mounted_application_is_drained_below_its_mount_and_the_rest_is_not():
    async def other(_request):
        return PlainTextResponse("other")

    below = Drainable(hello)
    app = Starlette(routes=[Route("/other", other), Mount("/below", below)])

    assert (await Call(app, "/below/drain?settle=0&wait=1").done()).text == "idle, in flight 0\n"
    assert (await Call(app, "/below/work").done()).status == 503
    assert (await Call(app, "/below/readyz").done()).status == 503
    assert (await Call(app, "/other").done()).text == "other"


@together
async def test_mounts_of_a_drainable_application_are_counted_with_it():
    held = Held()
    app = Drainable(Starlette(routes=[Mount("/below", Drainable(held)), WebSocketRoute("/socket", hello)]))
    call = Call(app, "/below/work")
    await held.entered.wait()

    assert await in_flight(app) == 1

    held.gate.set()
    await call.done()


@pytest.mark.parametrize(
    ("path", "root"), [("/api/drain", "/api"), ("/drain", "/api"), ("/drain", ""), ("/api/drain/", "/api")]
)
@together
async def test_the_drain_is_found_below_a_root_path(path, root):
    app = Drainable(hello)

    call = await Call(app, f"{path}?settle=0&wait=1", root_path=root).done()

    assert call.text == "idle, in flight 0\n"


@pytest.mark.parametrize("path", ["/drainage", "/api/drain", "//drain", "/DRAIN"])
@together
async def test_another_path_is_work(path):
    app = Drainable(hello)

    assert (await Call(app, path).done()).text == "hello"
    assert (await Call(app).done()).status == 200


@together
async def test_a_websocket_on_the_drain_s_path_is_work():
    held = Held()
    held.gate.set()
    app = Drainable(held)

    assert (await Call(app, "/drain", kind="websocket").done()).sent[0] == {"type": "websocket.accept"}


@together
async def test_the_drain_says_what_it_does(caplog):
    caplog.set_level(logging.INFO, "drainhook")
    held = Held()
    app = Drainable(held)
    call = Call(app)
    await held.entered.wait()
    drain = Call(app, "/drain?settle=0&wait=60")
    while len(caplog.messages) < 2:  # noqa: ASYNC110 (a log line sets no event)
        await asyncio.sleep(0.01)
    held.gate.set()
    await asyncio.gather(call.done(), drain.done())

    *first, last = caplog.messages
    assert first == [
        "drain: settle 0 s, wait up to 60 s, in flight 1",
        "drain: new work is refused from now on, in flight 1",
    ]
    assert last.startswith("drain ends after ")
    assert last.endswith(" s: idle, in flight 0")
