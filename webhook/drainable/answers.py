"""Answers of the middleware itself, as ASGI messages."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Answer = Callable[[Send], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

Headers = Iterable[tuple[bytes, bytes]]

PLAIN: Final = "text/plain; charset=utf-8"
CLOSE: Final = (b"connection", b"close")
_RETRY: Final = (b"retry-after", b"1")
_MOST_BYTES, _MOST_SECONDS = 1 << 20, 1.0  # of a body that is read to no purpose
_RESTARTS, _TRY_AGAIN_LATER = 1012, 1013  # codes of RFC 6455 and the IANA registry
_NOT_FOUND: Final = 404


async def answer(send: Send, status: int, text: str, headers: Headers = (), media: str = PLAIN) -> None:
    """Send a whole answer."""
    body = text.encode()
    own = [(b"content-type", media.encode()), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": own})
    await send({"type": "http.response.body", "body": body})


def keeps(scope: Scope) -> bool:
    """Say whether the connection is one that a header can end: HTTP/2 knows none."""
    return str(scope.get("http_version", "1.1")).startswith("1")


def closing(message: Message) -> Message:
    """Give the start of a response as one that ends the connection."""
    headers = [header for header in message.get("headers", ()) if header[0].lower() != b"connection"]
    return {**message, "headers": [*headers, CLOSE]}


async def refuse(scope: Scope, receive: Receive, send: Send, text: str, *, was_read: bool = False) -> None:
    """Say that a retry elsewhere is safe, to a request or to a websocket; was_read: by the application."""
    if scope["type"] == "websocket" and "websocket.http.response" not in (scope.get("extensions") or {}):
        if not was_read:
            await receive()  # the handshake
        await send({"type": "websocket.close", "code": _TRY_AGAIN_LATER, "reason": text})
        return
    prefix = "websocket." if scope["type"] == "websocket" else ""
    if not (prefix or was_read or _waits(scope)):
        await _read_away(receive)
    headers = [(b"content-type", PLAIN.encode()), _RETRY, *[CLOSE] * (keeps(scope) and not prefix)]
    body = text.encode() + b"\n"
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": f"{prefix}http.response.start", "status": 503, "headers": headers})
    await send({"type": f"{prefix}http.response.body", "body": body})


async def cut(scope: Scope, receive: Receive, send: Send, *, started: bool) -> None:
    """End what was cancelled. Where nothing was said a retry is safe; a response that was begun stays incomplete."""
    if not started:
        await refuse(scope, receive, send, "draining", was_read=True)
    elif scope["type"] == "websocket":
        with contextlib.suppress(Exception):  # it was closed already: what a server raises for that is its own
            await send({"type": "websocket.close", "code": _RESTARTS, "reason": "draining"})


def _waits(scope: Scope) -> bool:
    """Say whether the client sends its body only when it is asked for it."""
    return any(name == b"expect" for name, _ in scope.get("headers", ()))


async def _read_away(receive: Receive) -> None:
    """Read the body, within limits: a connection closed before that is reset, and the client never sees the answer."""
    left = _MOST_BYTES
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_MOST_SECONDS):
            while left > 0:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body"):
                    return
                left -= len(message.get("body", b""))


async def else_answer(app: App, scope: Scope, receive: Receive, send: Send, other: Answer) -> None:
    """Let the application answer; where it has no such path, give another answer."""
    missing = False

    async def watch(message: Message) -> None:
        nonlocal missing
        if message["type"] == "http.response.start":
            missing = message["status"] == _NOT_FOUND
        if not missing:
            await send(message)

    await app(scope, receive, watch)
    if missing:
        await other(send)
