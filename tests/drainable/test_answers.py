"""What a client gets whose work is refused."""

from __future__ import annotations

import asyncio

import pytest

from tests.drainable.direct import Call, drained, figures, hello, together
from webhook.drainable import Drainable
from webhook.drainable.answers import cut

START = "http.response.start"
MANY = 1_000


async def draining():
    """Give an application that has been drained, and never gets anything any more."""

    async def unreachable(scope, receive, send):
        assert scope["path"] in {"/metrics", "/healthz"}
        await hello(scope, receive, send)

    app = Drainable(unreachable)
    await drained(app)
    return app


@pytest.mark.parametrize("version", ["1.0", "1.1", "2"])
@together
async def test_a_request_is_refused_with_503_and_may_be_sent_again(version):
    app = await draining()

    call = await Call(app, http_version=version, method="POST", body=b"{}").done()

    assert (call.status, call.text) == (503, "draining\n")
    assert dict(call.headers) == {
        b"content-type": b"text/plain; charset=utf-8",
        b"retry-after": b"1",
        b"content-length": b"9",
        **({b"connection": b"close"} if version != "2" else {}),
    }


@together
async def test_a_websocket_is_refused_by_a_close_after_the_handshake_was_heard():
    app = await draining()

    call = await Call(app, kind="websocket").done()

    assert call.sent == [{"type": "websocket.close", "code": 1013, "reason": "draining"}]
    assert call.inbox.empty()


@together
async def test_a_websocket_is_refused_by_a_response_where_the_server_can():
    app = await draining()

    call = await Call(app, kind="websocket", extensions={"websocket.http.response": {}}).done()

    assert [message["type"] for message in call.sent] == [f"websocket.{START}", "websocket.http.response.body"]
    assert (call.status, (b"retry-after", b"1") in call.headers) == (503, True)
    assert b"connection" not in dict(call.headers)


@together
async def test_every_refusal_is_counted_once():
    app = await draining()

    await asyncio.gather(*(Call(app).done() for _ in range(MANY)), *(Call(app, kind="websocket").done() for _ in "ab"))

    assert (await figures(app))["requests_rejected_draining_total"] == MANY + 2
    assert (await figures(app))["inflight_requests"] == 0


@together
async def test_the_body_of_a_refused_request_is_read_so_that_the_answer_is_not_lost():
    app = await draining()
    call = Call(app, method="POST")
    call.inbox.get_nowait()
    for _ in range(4):
        call.inbox.put_nowait({"type": "http.request", "body": b"x" * 1000, "more_body": True})
    await asyncio.sleep(0)
    assert call.sent == []

    call.inbox.put_nowait({"type": "http.request", "body": b"x", "more_body": False})
    assert (await call.done()).status == 503


@together
async def test_an_endless_body_of_a_refused_request_is_given_up():
    app = await draining()
    call = Call(app, method="POST")
    call.inbox.get_nowait()
    for _ in range(20):
        call.inbox.put_nowait({"type": "http.request", "body": bytes(1 << 16), "more_body": True})

    assert (await call.done()).status == 503
    assert call.inbox.qsize() == 4


@together
async def test_a_body_that_does_not_come_is_given_up_and_a_client_that_is_gone_at_once():
    app = await draining()
    silent, gone = Call(app, method="POST"), Call(app, method="POST")
    silent.inbox.get_nowait()
    gone.inbox.get_nowait()
    gone.inbox.put_nowait({"type": "http.disconnect"})

    assert (await gone.done()).status == 503
    assert (await silent.done()).status == 503


@together
async def test_a_body_that_waits_to_be_asked_for_is_not_asked_for():
    app = await draining()
    call = await Call(app, method="POST", headers=[("expect", "100-continue")]).done()

    assert (call.status, call.inbox.qsize()) == (503, 1)


@together
async def test_a_websocket_that_is_closed_already_stays_so():
    async def closed(_message):
        raise RuntimeError("Unexpected ASGI message 'websocket.close'")

    await cut({"type": "websocket"}, asyncio.Event().wait, closed, started=True)
