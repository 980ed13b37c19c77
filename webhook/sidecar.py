"""The sidecar's listener: `GET /drain` runs the drain script and answers when it has ended.

Standard library only: it stands in every pod that has a sidecar, and what it imports is the memory that it takes.
Nothing about draining is decided here; that is the script's.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from types import FrameType
from typing import Any, Final, NoReturn

from webhook import names

MOST_DRAINS: Final = 2
MOST_THREADS: Final = 64  # one for each connection
READ_SECONDS: Final = 5  # for a request to arrive
_OK, _NOT_FOUND = 200, 404


def command(words: Sequence[str]) -> list[str]:
    """Return the command line of the drain script with its parameters."""
    return ["sh", str(resources.files("drain_scripts").joinpath("drain.sh")), *words]


class Drains:
    """The drains that run. Each call gets one of its own, with a whole settle time; what is too much joins the newest.

    A call that joined a drain whose settle time is over (a stray one, or one of a kubelet that was restarted) could end
    while routers still send, and many drains at once would not fit into the sidecar's memory.
    """

    def __init__(self, words: Sequence[str]) -> None:
        """Keep the script's parameters; nothing runs yet."""
        self._command = command(words)
        self._lock = threading.Lock()
        self._running: list[subprocess.Popen[bytes]] = []

    def wait(self) -> None:
        """Drain, and return when it has ended."""
        with self._lock:
            self._running = [process for process in self._running if process.poll() is None]
            if len(self._running) < MOST_DRAINS:
                self._running.append(subprocess.Popen(self._command, stdin=subprocess.DEVNULL))
            newest = self._running[-1]
        newest.wait()

    def stop(self) -> None:
        """Tell what runs to end; it is not waited for."""
        for process in self._running:
            process.terminate()


class Listener(ThreadingHTTPServer):
    """An HTTP server on a socket that is already bound, with a thread for each connection."""

    def __init__(self, bound: socket.socket, drains: Drains) -> None:
        """Take over the socket; the library's own would look up its host's name, which can take as long as DNS does."""
        super().__init__(bound.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = bound
        self.drains = drains

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Close the connection where too many are open."""
        del request, client_address
        return threading.active_count() <= MOST_THREADS

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about a caller that has gone; anything else is a bug, with its traceback."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: Listener
    timeout = READ_SECONDS

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == names.SIDECAR_PATH:
            self.server.drains.wait()
        self._answer(_OK if path in {names.SIDECAR_PATH, names.HEALTHZ_PATH} else _NOT_FOUND)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the library's name)
        """Log no request: the script's own lines tell what happens."""


def serve(words: Sequence[str], bound: socket.socket, say: Callable[[str], None]) -> NoReturn:
    """Answer until SIGTERM, then leave at once with 0."""
    signal.signal(signal.SIGTERM, _leave)
    drains = Drains(words)
    try:
        with Listener(bound, drains) as listener:
            say(f"drainhook: {names.SIDECAR_PATH} is answered on port {bound.getsockname()[1]}")
            listener.serve_forever()
    finally:
        drains.stop()
    raise SystemExit(0)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)
