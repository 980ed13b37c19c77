"""The observer's port: its metrics, and whether its loop still runs. Nothing is counted here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from webhook import names
from webhook.sockets import bind


class Page(ThreadingHTTPServer):
    """A small server in a thread of its own. `is_alive` says whether the loop runs."""

    daemon_threads = True

    def __init__(self, registry: CollectorRegistry, is_alive: Callable[[], bool], port: int, *, is_open: bool) -> None:
        """Listen on this machine only, or on every address of both families. Raises OSError."""
        super().__init__((names.LOCAL_HOST, port), _Handler, bind_and_activate=False)
        self.socket.close()
        self.registry = registry
        self.is_alive = is_alive
        self.socket = bind(None if is_open else names.LOCAL_HOST, port)
        self.server_address = self.socket.getsockname()
        self.port: int = self.server_address[1]

    def start(self) -> None:
        """Begin to answer."""
        threading.Thread(target=self.serve_forever, name="metrics", daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: Page

    def do_GET(self) -> None:
        """Answer one page."""
        path = self.path.partition("?")[0]
        if path == names.METRICS_PATH:
            self._answer(200, CONTENT_TYPE_LATEST, generate_latest(self.server.registry))
        elif path == names.HEALTHZ_PATH:
            is_alive = self.server.is_alive()
            self._answer(200 if is_alive else 503, "text/plain", b"ok\n" if is_alive else b"the loop stands still\n")
        else:
            self._answer(404, "text/plain", f"The metrics are under {names.METRICS_PATH}.\n".encode())

    def _answer(self, status: int, media: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay silent."""
