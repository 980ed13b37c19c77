"""`drainhook drain`: the script of a hook, by hand or behind a port: its lines live on standard output, exit code 0."""

from __future__ import annotations

import subprocess
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.cli.samples import ENVIRONMENT, PROGRAM, program
from webhook import names
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


WRONG = [
    (["--url", "http://h"], "say what to drain: --backend and --url"),
    (["--backend", "vllm"], "say what to drain: --backend and --url"),
    (["--listen", "0"], "say what to drain: --backend and --url"),
    (["--", "settle=1"], "parameters of the script go with --listen, and with no other option but --host"),
    (
        ["--listen", "0", "--settle", "0", "--", "ports=1"],
        "parameters of the script go with --listen, and with no other option but --host",
    ),
    (["--backend", "vllm", "--url", "http://h", "--host", "::1"], "--host goes with --listen"),
    (["--listen", "65536", "--", "ports=1"], "65536 is not in the range 0<=x<=65535"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_what_does_not_go_together_is_wrong_usage(drainhook, arguments, message):
    done = drainhook("drain", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_a_port_that_is_taken_is_said(drainhook, engine):
    taken = str(engine.server_port)
    done = drainhook("drain", "--host", "127.0.0.1", "--listen", taken, "--", "ports=1")
    assert (done.code, done.out) == (2, "")
    assert f"--listen: cannot listen on 127.0.0.1, port {taken}: Address already in use" in done.err


def test_without_a_shell_nothing_is_begun(drainhook, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = drainhook("drain", "--listen", "0", "--", "ports=1")
    assert (done.code, done.out) == (2, "")
    assert "the drain script needs a POSIX shell: no sh is found" in done.err


def test_a_named_engine_is_drained_behind_a_port_too(engine):
    address = f"--url=http://127.0.0.1:{engine.server_port}"
    options = ["--backend=vllm", address, "--settle=0", "--drain=20", "--idle=1", "--host=127.0.0.1", "--listen=0"]
    with subprocess.Popen([*PROGRAM, "drain", *options], env=ENVIRONMENT, stdout=subprocess.PIPE) as listener:
        port = int(listener.stdout.readline().rpartition(b" ")[2])
        assert engine.asked == []
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{names.SIDECAR_PATH}", timeout=60) as answer:
            assert answer.status == 200
        assert set(engine.asked) == {"/metrics"}
        listener.terminate()
        assert listener.stdout.readlines()[0].startswith(b"drainhook: settle 0 s")
    assert listener.returncode == 0


def test_an_unknown_backend_is_wrong_usage(drainhook):
    done = drainhook("drain", "--backend", "vlm", "--url", "http://127.0.0.1:1")
    assert (done.code, done.out) == (2, "")
    assert "no profile vlm; known: " in done.err
