"""One listening socket: how it is bound, served by uvicorn, and drained without losing a request.

When to stop, and what is served, is not decided here.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import uvicorn

from webhook import sockets

KEEP_ALIVE_SECONDS: Final = 120  # above the API server's 90 s, else it sends into a connection being closed (R3)
LINGER_SECONDS: Final = 1.0  # a connection without a request may still send the one that is on its way
FLUSH_SECONDS: Final = 1.0  # for the last bytes of closed connections to leave
LOOK_SECONDS: Final = 0.02
CLOSE: Final = (b"connection", b"close")


class StartError(Exception):
    """The server cannot start; the message is a plain sentence that says what to change."""


@dataclass(slots=True)
class Stop:
    """How the server is told to stop: the first call asks, the second one hurries."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    hurried: asyncio.Event = field(default_factory=asyncio.Event)

    def signal(self) -> None:
        """Do what SIGTERM and SIGINT do."""
        (self.hurried if self.asked.is_set() else self.asked).set()

    async def wait(self, seconds: float) -> None:
        """Wait, unless hurried."""
        try:
            await asyncio.wait_for(self.hurried.wait(), seconds)
        except TimeoutError:
            return


class Listener(uvicorn.Server):
    """One listening socket with uvicorn's protocol behind it, opened and drained by us instead of by its signals."""

    def __init__(
        self, app: Callable[..., Any], listening: socket.socket, context: ssl.SSLContext | None = None
    ) -> None:
        """Configure uvicorn for speed and for silence: no access log, no headers of its own, no guessed proxies."""
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                http="httptools",
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="error",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                ssl_context_factory=None if context is None else lambda _config, _default: context,
            )
        )
        self._listening = listening

    async def open(self) -> None:
        """Begin to accept connections."""
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup(sockets=[self._listening])

    def announce_close(self) -> None:
        """Put `Connection: close` on every answer from now on, also of requests that are already in flight."""
        self.server_state.default_headers.append(CLOSE)

    async def drain(self, stop: Stop, seconds: float, *, linger: float = LINGER_SECONDS) -> int:
        """Accept no more, answer what is in flight, and return how many requests were cut off after the seconds."""
        for server in self.servers:
            server.close()
        self._listening.close()
        await self._until(lambda: not self.server_state.connections, stop, linger)
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self._until(lambda: not self._busy(), stop, seconds)
        cut = self._busy()
        await self._until(lambda: not self.server_state.connections, stop, FLUSH_SECONDS)
        return cut

    def _busy(self) -> int:
        return sum(not connection.transport.is_closing() for connection in self.server_state.connections)

    @staticmethod
    async def _until(reached: Callable[[], bool], stop: Stop, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not reached() and not stop.hurried.is_set() and time.monotonic() < end:  # noqa: ASYNC110 (see below)
            await asyncio.sleep(LOOK_SECONDS)  # uvicorn has no event for the end of a connection


def bind(host: str | None, port: int, flag: str) -> socket.socket:
    """Bind a port as `webhook.sockets` does. Raises StartError, which names the flag."""
    try:
        return sockets.bind(host, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise StartError(f"Port {port} is taken by another process; choose another one with {flag}.") from None
        raise StartError(
            f"Cannot listen on {host or 'all addresses'}, port {port} ({flag}): {error.strerror}."
        ) from None
