"""The client tells completed, refused and lost apart; held against a server on the loopback that answers as told."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.e2e.client import Client

TOKENS = 3
WHOLE = [*({"choices": [{"delta": {"content": "a"}}]} for _ in range(TOKENS)), {"usage": {"completion_tokens": TOKENS}}]


class Server(ThreadingHTTPServer):
    """Answers every request with `status`, `headers`, the events, and the final one unless `cut`."""

    def __init__(self) -> None:
        """Listen on a free port."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.cut = 200, False
        self.headers: dict[str, str] = {}
        self.events: list[object] = WHOLE


class Handler(BaseHTTPRequestHandler):
    """Keeps connections, as most servers do."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        lines = [json.dumps(event) for event in self.server.events]
        body = "".join(f"data: {line}\n\n" for line in (*lines, "[DONE]"))
        body = body.removesuffix("data: [DONE]\n\n") if self.server.cut else body
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def client(server: Server, *, keeps: bool = False) -> Client:
    return Client(f"127.0.0.1:{server.server_port}", TOKENS, keeps=keeps)


def test_a_whole_stream_is_completed(server: Server) -> None:
    fate = client(server).request()
    assert (fate.name, fate.why, fate.streamed, fate.reused) == ("completed", "", True, False)


def test_a_kept_connection_is_used_again(server: Server) -> None:
    keeping = client(server, keeps=True)
    assert [keeping.request().reused for _ in range(3)] == [False, True, True]
    keeping.close()  # else the server waits for it


def test_the_proxys_server_tells_that_a_connection_was_used(server: Server) -> None:
    server.headers = {"X-Connection-Used": "yes"}
    assert client(server).request().reused


def test_a_stream_without_its_final_event_is_lost(server: Server) -> None:
    server.cut = True
    assert (client(server).request().name, client(server).request().why) == (
        "lost",
        "the stream ended without its final event",
    )


def test_a_stream_with_fewer_tokens_than_asked_for_is_lost(server: Server) -> None:
    server.events = WHOLE[:-1]
    fate = client(server).request()
    assert (fate.name, fate.why) == ("lost", f"the server counts 0 of {TOKENS} tokens")


@pytest.mark.parametrize(
    ("status", "headers", "name"),
    [
        (503, {}, "refused"),
        (429, {}, "refused"),
        (500, {}, "lost"),
        (502, {}, "lost"),
        (502, {"X-Upstream-Connect": "0.001"}, "lost"),
        (502, {"X-Upstream-Connect": "-"}, "refused"),
    ],
)
def test_a_status_is_refused_only_where_nothing_was_accepted(
    server: Server, status: int, headers: dict[str, str], name: str
) -> None:
    server.status, server.headers = status, headers
    fate = client(server).request()
    assert (fate.name, fate.why) == (name, f"HTTP {status}")


def test_no_listener_is_refused() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        fate = Client(f"127.0.0.1:{free.getsockname()[1]}", TOKENS, keeps=False).request()
    assert fate.name == "refused"


def test_a_connection_cut_before_the_answer_is_lost() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_hang_up, args=(listener,))
        thread.start()
        fate = Client(f"127.0.0.1:{listener.getsockname()[1]}", TOKENS, keeps=False).request()
        thread.join()
    assert fate.name == "lost"


def _hang_up(listener: socket.socket) -> None:
    listener.accept()[0].close()
