"""The lifespan protocol around applications of every kind."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from starlette.applications import Starlette

from tests.drainable.direct import Serving, together
from webhook.drainable import Drainable

COMPLETE = ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def raises(scope, _receive, _send):
    assert scope["type"] == "http"  # the usual way not to speak the protocol


async def returns(_scope, _receive, _send):
    """Know nothing of it."""


async def hears_and_returns(_scope, receive, _send):
    await receive()


async def returns_once_it_has_started(_scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})


async def starts_unasked(_scope, _receive, send):
    await send({"type": "lifespan.startup.complete"})


async def speaks_it(_scope, receive, send):
    for name in ("startup", "shutdown"):
        assert await receive() == {"type": f"lifespan.{name}"}
        await send({"type": f"lifespan.{name}.complete"})


@pytest.mark.parametrize(
    "inner", [raises, returns, hears_and_returns, returns_once_it_has_started, starts_unasked, speaks_it, Starlette()]
)
@together
async def test_the_server_sees_a_whole_lifespan_and_the_clean_ups_run_once(inner):
    runs = []
    app = Drainable(inner, cleanups=[lambda: runs.append("clean-up")])

    async with Serving(app) as serving:
        assert serving.sent == COMPLETE[:1]
        assert runs == []

    assert (serving.sent, runs) == (COMPLETE, ["clean-up"])


@together
async def test_clean_ups_run_before_the_application_s_own_end():
    order = []

    @asynccontextmanager
    async def own(_app):
        order.append("start")
        yield
        order.append("end")

    async with Serving(Drainable(Starlette(lifespan=own), cleanups=[lambda: order.append("clean-up")])):
        assert order == ["start"]

    assert order == ["start", "clean-up", "end"]


@together
async def test_a_start_that_fails_is_passed_on_and_cleans_up_nothing():
    runs = []

    @asynccontextmanager
    async def own(_app):
        raise LookupError("no model")
        yield

    serving = Serving(Drainable(Starlette(lifespan=own), cleanups=[lambda: runs.append("clean-up")]))
    await serving.step("startup")
    with pytest.raises(LookupError, match="no model"):
        await serving.task

    assert (serving.sent, runs) == (["lifespan.startup.failed"], [])


@together
async def test_a_start_that_raises_after_it_was_asked_is_the_server_s_to_judge():
    async def inner(_scope, receive, _send):
        await receive()
        raise LookupError("no model")

    app = Drainable(inner)
    serving = Serving(app)
    await serving.step("startup")

    with pytest.raises(LookupError, match="no model"):
        await serving.task
    assert serving.sent == []
    app._part()


@together
async def test_an_end_that_fails_is_passed_on_after_the_clean_ups():
    runs = []

    @asynccontextmanager
    async def own(_app):
        yield
        raise LookupError("cannot save")

    serving = Serving(Drainable(Starlette(lifespan=own), cleanups=[lambda: runs.append("clean-up")]))
    await serving.step("startup")
    await serving.step("shutdown")
    with pytest.raises(LookupError, match="cannot save"):
        await serving.task

    assert (serving.sent, runs) == ([COMPLETE[0], "lifespan.shutdown.failed"], ["clean-up"])


@together
async def test_a_lifespan_that_the_server_cancels_ends():
    app = Drainable(speaks_it)
    serving = Serving(app)
    await serving.step("startup")

    serving.task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await serving.task
    app._part()


@together
async def test_the_state_of_a_lifespan_reaches_the_application():
    async def inner(scope, receive, send):
        scope["state"]["model"] = "loaded"
        await speaks_it(scope, receive, send)

    scope = {"type": "lifespan", "state": {}}
    inbox = asyncio.Queue()
    for name in ("startup", "shutdown"):
        inbox.put_nowait({"type": f"lifespan.{name}"})

    async def send(_message):
        """Take no notice."""

    await Drainable(inner)(scope, inbox.get, send)

    assert scope["state"] == {"model": "loaded"}
