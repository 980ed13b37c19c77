"""Applications of three kinds that stream until a file appears, and some that start badly; made drainable.

The file is `$GATE`: work that is in flight ends when it is there. `$GATE.reached` is written by a start that waits.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, WebSocket
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route, WebSocketRoute

from webhook.drainable import Drainable

GATE = Path(os.environ["GATE"])
OPTIONS: dict[str, Any] = {"sigterm_seconds": float(os.environ.get("SIGTERM_SECONDS", "60"))}
_looking: list[asyncio.Future[None]] = []


def bye() -> None:
    """Show that the clean-ups ran."""
    print(f"bye from {os.getpid()}", flush=True)


def is_open() -> bool:
    """Say whether the gate is open."""
    return GATE.exists()


def reached() -> None:
    """Tell the test that the start has come here."""
    Path(f"{GATE}.reached").touch()


async def tokens() -> AsyncIterator[bytes]:
    """Stream a worker's number, then tokens until the gate is open, then the end."""
    yield f"{os.getpid()}\n".encode()
    while not is_open():
        yield b"token\n"
        await asyncio.sleep(0.02)
    yield b"END\n"


async def _opening() -> None:
    """Wait for the gate; all who wait share one task that looks."""
    if not _looking:
        _looking.append(asyncio.ensure_future(_look()))
    await asyncio.shield(_looking[0])


async def _look() -> None:
    while not is_open():  # noqa: ASYNC110 (another process opens it)
        await asyncio.sleep(0.1)


async def _bare(scope: Any, receive: Any, send: Any) -> None:
    assert scope["type"] in {"http", "websocket"}  # no lifespan
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        async for token in tokens():
            await send({"type": "websocket.send", "text": token.decode()})
        await send({"type": "websocket.close", "code": 1000})
        return
    while (await receive()).get("more_body"):
        pass
    if scope["path"] == "/hold":
        await asyncio.Event().wait()
    known = scope["path"] in {"/stream", "/pid", "/wait"}
    headers = [(b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 200 if known else 404, "headers": headers})
    if scope["path"] == "/stream":
        async for token in tokens():
            await send({"type": "http.response.body", "body": token, "more_body": True})
    body = str(os.getpid()).encode() if scope["path"] == "/pid" else b""
    if scope["path"] == "/wait":
        await send({"type": "http.response.body", "body": b"token\n", "more_body": True})
        await _opening()
        body = b"END\n"
    await send({"type": "http.response.body", "body": body})


async def _stream(_request: Any = None) -> StreamingResponse:
    return StreamingResponse(tokens())


async def _pid(_request: Any = None) -> PlainTextResponse:
    return PlainTextResponse(str(os.getpid()))


async def _hold(_request: Any = None) -> PlainTextResponse:
    await asyncio.Event().wait()
    raise AssertionError


async def _socket(websocket: WebSocket) -> None:
    await websocket.accept()
    async for token in tokens():
        await websocket.send_text(token.decode())
    await websocket.close()


def _thread() -> None:
    threading.Event().wait()


_starlette = Starlette(
    routes=[Route("/stream", _stream), Route("/pid", _pid), Route("/hold", _hold), WebSocketRoute("/socket", _socket)]
)
_fastapi = FastAPI()
_fastapi.get("/stream", response_model=None)(lambda: StreamingResponse(tokens()))
_fastapi.get("/pid", response_class=PlainTextResponse)(lambda: str(os.getpid()))
_fastapi.get("/thread")(_thread)
_fastapi.websocket("/socket")(_socket)

bare = Drainable(_bare, cleanups=[bye], **OPTIONS)
starlette = Drainable(_starlette, cleanups=[bye], **OPTIONS)
fastapi = Drainable(_fastapi, cleanups=[bye], **OPTIONS)


@asynccontextmanager
async def _waits(_app: Any) -> AsyncIterator[None]:
    reached()
    while not is_open():  # noqa: ASYNC110 (another process opens it)
        await asyncio.sleep(0.02)
    yield


@asynccontextmanager
async def _blocks(_app: Any) -> AsyncIterator[None]:
    reached()
    while not is_open():
        time.sleep(0.02)  # noqa: ASYNC251 (as a model that is loaded does)
    yield


@asynccontextmanager
async def _fails(_app: Any) -> AsyncIterator[None]:
    raise LookupError("no model")
    yield


waiting = Drainable(Starlette(lifespan=_waits), cleanups=[bye], **OPTIONS)
blocking = Drainable(Starlette(lifespan=_blocks), cleanups=[bye], **OPTIONS)
failing_plain = Starlette(lifespan=_fails)
failing = Drainable(failing_plain, cleanups=[bye], **OPTIONS)
