"""The clients of the demo tell a completed request from a lost and a refused one: the verdict rests on it."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from demo.load import Ask, Fate, Stream

PIECE = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
LAST = b'data: {"choices":[{"delta":{}}],"timings":{"predicted_n":2}}\n\n'
DONE = b"data: [DONE]\n\n"


@contextmanager
def server(status: int, body: bytes) -> Iterator[int]:
    """Answer every request with this, then close the connection; gives the port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running.server_port
        running.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("status", "body", "fate", "error"),
    [
        (200, PIECE + PIECE + LAST + DONE, Fate.COMPLETED, ""),
        (200, PIECE + PIECE, Fate.LOST, "the stream ended without its final event"),
        (200, PIECE + LAST.replace(b"2", b"1") + DONE, Fate.LOST, "the engine counts 1 of 2 tokens"),
        (200, b"", Fate.LOST, "the stream ended without its final event"),
        (500, b"", Fate.LOST, "HTTP 500"),
        (503, b"", Fate.REFUSED, "HTTP 503"),
    ],
    ids=["complete", "cut", "short", "empty", "error", "unavailable"],
)
def test_knows_the_fate(status, body, fate, error):
    with server(status, body) as port:
        stream = Stream("one", port, Ask(tokens=2))
        stream.run()

    assert (stream.fate, stream.error) == (fate, error)


def test_is_refused_where_nothing_listens():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    stream = Stream("one", port, Ask(tokens=2))
    stream.run()

    assert stream.fate is Fate.REFUSED
