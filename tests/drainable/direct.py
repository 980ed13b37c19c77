"""An ASGI application called without a server: what it receives and what it sends."""

from __future__ import annotations

import asyncio
import functools
from typing import Any, Self

from webhook.drainable import Drainable

LOOPBACK = ("127.0.0.1", 50_000)


def together(test: Any) -> Any:
    """Run a coroutine function as a test, and let it leave no task."""

    @functools.wraps(test)
    def run(**arguments: Any) -> None:
        async def alone() -> None:
            await test(**arguments)
            assert asyncio.all_tasks() == {asyncio.current_task()}

        asyncio.run(alone())

    return run


class Call:
    """One connection; the application runs as a task of its own, as under a server."""

    def __init__(self, app: Any, path: str = "/work", *, kind: str = "http", body: bytes = b"", **scope: Any) -> None:
        """Call it; further names are of the scope."""
        query = path.partition("?")[2]
        headers = [(name.encode(), value.encode()) for name, value in scope.pop("headers", [])]
        self.scope = {
            "type": kind,
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path.partition("?")[0],
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": headers,
            "client": LOOPBACK,
            "server": ("127.0.0.1", 8000),
            "subprotocols": [],
            **scope,
        }
        self.sent: list[dict[str, Any]] = []
        self.arrived = asyncio.Event()  # the first message
        self.inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        if kind == "http":
            self.inbox.put_nowait({"type": "http.request", "body": body, "more_body": False})
        if kind == "websocket":
            self.inbox.put_nowait({"type": "websocket.connect"})
        self.task = asyncio.ensure_future(app(self.scope, self.inbox.get, self._send))

    async def _send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)
        self.arrived.set()

    async def done(self) -> Self:
        """Wait until the application has returned, or raise what it raised."""
        async with asyncio.timeout(20):
            await asyncio.shield(self.task)
        return self

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        return list(self.sent[0]["headers"])

    @property
    def text(self) -> str:
        return b"".join(message.get("body", b"") for message in self.sent).decode()


class Held:
    """An application whose every call waits to be let go; it answers with two chunks."""

    def __init__(self, missing: tuple[str, ...] = ("/metrics",)) -> None:
        """Answer 404 on some paths."""
        self.missing = missing
        self.entered = asyncio.Event()
        self.gate = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            self.entered.set()
            await self.gate.wait()
            await send({"type": "websocket.close", "code": 1000})
            return
        if scope["path"] in self.missing:
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b"not found"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"Connection", b"keep-alive")]})
        await send({"type": "http.response.body", "body": b"one ", "more_body": True})
        self.entered.set()
        await self.gate.wait()
        await send({"type": "http.response.body", "body": b"two"})


async def hello(scope: Any, _receive: Any, send: Any) -> None:
    """Answer 200 to /work alone, as an application without probes does."""
    status = 200 if scope["path"].removeprefix(scope.get("root_path", "")) == "/work" else 404
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


async def figures(app: Drainable) -> dict[str, float]:
    """Read the metrics page."""
    page = await Call(app, "/metrics").done()
    return {
        line.split()[0]: float(line.split()[1]) for line in page.text.splitlines() if line and not line.startswith("#")
    }


async def in_flight(app: Drainable) -> int:
    """Read the one figure."""
    return int((await figures(app))["inflight_requests"])


async def drained(app: Drainable, query: str = "settle=0&wait=5") -> Call:
    """Drain it to the end."""
    return await Call(app, f"/drain?{query}").done()


class Serving:
    """The lifespan of an application, driven as a server drives it."""

    def __init__(self, app: Any) -> None:
        """Begin; nothing is sent yet."""
        self.sent: list[str] = []
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._told = asyncio.Event()
        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        self.task = asyncio.ensure_future(app(scope, self._inbox.get, self._send))

    async def _send(self, message: dict[str, Any]) -> None:
        self.sent.append(message["type"])
        self._told.set()

    async def step(self, name: str) -> None:
        """Send one event and wait for its answer, or for the application's end."""
        self._told.clear()
        self._inbox.put_nowait({"type": f"lifespan.{name}"})
        told = asyncio.ensure_future(self._told.wait())
        async with asyncio.timeout(20):
            await asyncio.wait({told, self.task}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        await asyncio.wait({told})

    async def __aenter__(self) -> Self:
        """Start it."""
        await self.step("startup")
        return self

    async def __aexit__(self, *_: object) -> None:
        """End it and wait for its return."""
        await self.step("shutdown")
        async with asyncio.timeout(20):
            await self.task
