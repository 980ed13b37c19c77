"""A fake engine: an HTTP server on loopback whose metrics page, status and manners a test scripts look by look.

Never here: knowledge of the hook. A real engine proves what this one cannot (the end-to-end tests drain llama.cpp).
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

BACKLOG = 64
HEAD = "HTTP/1.1 {} Said\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: body, status, and how it is sent.

    Whole: "plain", "chunked". Broken: "cut" and "cut chunks" before their end, "hang", "reset".
    """

    body: str = ""
    status: int = 200
    manner: str = "plain"


@dataclass(frozen=True, slots=True)
class Look:
    """One request that reached the engine."""

    path: str
    header: str
    at: float


@dataclass
class Engine:
    """Answers GET requests: `answers` one per look at the page, the last one for ever; `routes` for other paths."""

    answers: Sequence[Answer] = (Answer(),)
    routes: dict[str, Answer] = field(default_factory=dict)
    host: str = "127.0.0.1"
    tls: ssl.SSLContext | None = None
    key: str = ""
    on_look: Callable[[int], None] = lambda _number: None
    looks: list[Look] = field(default_factory=list)

    def __enter__(self) -> Self:
        """Listen on a free port."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server((self.host, 0), family=family, backlog=BACKLOG)
        self.port: int = self._listener.getsockname()[1]
        self._ended = threading.Event()
        self._turn = threading.Lock()
        self._threads = [self._thread(self._accept)]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Die, and leave no thread behind."""
        self.die()
        for thread in self._threads:
            thread.join()

    def die(self) -> None:
        """End as a killed process does: the port closes and every connection with it."""
        self._ended.set()
        self.stop_listening()
        for connection in list(self._open):
            self.drop(connection)

    def stop_listening(self) -> None:
        """Close the port and keep the connections, as a server does that finishes its work."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def drop(self, connection: socket.socket) -> None:
        """Close one connection at once, without waiting for the other side."""
        self._open.discard(connection)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()

    def hold(self) -> socket.socket:
        """Open a client's connection that stays open until the client closes it."""
        return socket.create_connection((self.host, self.port))

    def url(self, path: str = "/metrics", host: str = "") -> str:
        """Return the address of a path, optionally by another host name."""
        shown = host or (f"[{self.host}]" if ":" in self.host else self.host)
        return f"http{'s' if self.tls else ''}://{shown}:{self.port}{path}"

    def _thread(self, target: Callable[..., None], *args: object) -> threading.Thread:
        thread = threading.Thread(target=target, args=args, daemon=True)
        thread.start()
        return thread

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed, or the machine is short of files for a moment
                if self._listener.fileno() < 0:
                    return
                continue
            self._threads.append(self._thread(self._serve, connection))

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            self._open.add(connection)
            header = _header(connection)
            if header:
                self._answer(connection, header)
        self.drop(connection)

    def _answer(self, connection: socket.socket, header: str) -> None:
        path = header.split(" ")[1]
        with self._turn:
            self.looks.append(Look(path, header, time.monotonic()))
            number = sum(look.path not in self.routes for look in self.looks)
        answer = self.routes.get(path) or self.answers[min(number, len(self.answers)) - 1]
        if path not in self.routes:
            self.on_look(number)
        if self.key and f"Authorization: Bearer {self.key}\r\n" not in header:
            answer = Answer("no key", 401)
        if answer.manner == "hang":
            self._ended.wait()
        elif answer.manner == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            connection.sendall(_bytes(answer))


def _header(connection: socket.socket) -> str:
    """Read the request up to the blank line; empty when the client only connected and left."""
    text = b""
    while b"\r\n\r\n" not in text:
        part = connection.recv(65536)
        if not part:
            return ""
        text += part
    return text.decode()


def _bytes(answer: Answer) -> bytes:
    body = answer.body.encode()
    head = HEAD.format(answer.status)
    if answer.manner in {"chunked", "cut chunks"}:
        half = len(body) // 2
        parts = b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in (body[:half], body[half:]) if part)
        last = b"0\r\n\r\n" if answer.manner == "chunked" else b""
        return f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + parts + last
    missing = 10 if answer.manner == "cut" else 0
    return f"{head}Content-Length: {len(body) + missing}\r\n\r\n".encode() + body
