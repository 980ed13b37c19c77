"""`drainhook drain`: the script of a hook, run by hand: its lines live on standard output, exit code 0."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.cli.samples import program
from webhook.catalog import load
from webhook.cli.drain import target_of
from webhook.core.hook import Target, parameters

PAGE = 'vllm:num_requests_running{engine="0"} 0.0\nvllm:num_requests_waiting{engine="0"} 0.0\n'
PROFILES = load()[0].profiles


class Engine(BaseHTTPRequestHandler):
    """Answers with an idle vLLM's metrics and keeps the paths that were asked for."""

    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, *_):
        """Stay silent."""


@pytest.fixture
def engine():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_idle_engine_is_left_at_once(engine, tmp_path):
    url = f"http://127.0.0.1:{engine.server_port}"
    arguments = ["--backend", "vllm", "--url", url, "--settle", "0", "--drain", "20", "--idle", "1"]
    done = program("drain", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"drainhook")
    assert set(engine.asked) == {"/metrics"}


WHERE = [
    ("vllm", "http://127.0.0.1:8000", Target((8000,), ("http://127.0.0.1:8000/metrics",), "http://127.0.0.1:8000")),
    ("vllm", "http://[::1]:8000/v1/", Target((8000,), ("http://[::1]:8000/v1/metrics",), "http://[::1]:8000/v1")),
    ("vllm", "https://engine.test", Target((), ("https://engine.test/metrics",), "https://engine.test")),
    ("vllm", "http://h:1/p/metrics", Target((), ("http://h:1/p/metrics",), "http://h:1/p")),
    ("triton", "http://localhost:8000", Target((8000,), ("http://localhost:8002/metrics",), "http://localhost:8000")),
    ("ollama", "http://127.0.0.1:11434", Target((11434,), (), "http://127.0.0.1:11434")),
]  # fmt: skip


@pytest.mark.parametrize(("backend", "url", "expected"), WHERE)
def test_the_address_says_what_the_script_looks_at(backend, url, expected):
    profile = PROFILES[backend]
    target = target_of(profile, url)
    assert (target.ports, target.urls, target.base) == (expected.ports, expected.urls, expected.base)
    words = parameters(profile, profile.budget, target)
    assert words[-2:] == ["log=-", "record=none"]


@pytest.mark.parametrize("url", ["engine", "ftp://h", "http://", "http://h:99999", "http://h:0"])
def test_a_wrong_address_is_wrong_usage(drainhook, url):
    done = drainhook("drain", "--backend", "vllm", "--url", url)
    assert done.code == 2
    assert "is no address like http://127.0.0.1:8000" in done.err


def test_an_unknown_backend_is_wrong_usage(drainhook):
    done = drainhook("drain", "--backend", "vlm", "--url", "http://127.0.0.1:1")
    assert (done.code, done.out) == (2, "")
    assert "no profile vlm; known: " in done.err
