"""The part that measures the hook: how long after the last request drain.sh ends, against a small fake engine.

The fake has what the hook looks at: a metrics page with vLLM's gauges, and a connection that a client holds.
"""

from __future__ import annotations

import contextlib
import http.client
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from tests.benchmarks import goals, process
from tests.benchmarks.bench import Bench
from tests.benchmarks.figures import BenchmarkError, Figure, figure
from webhook import names
from webhook.catalog import load_script
from webhook.core.profile import IDLE_SECONDS

_GAUGES: Final = ("vllm:num_requests_running", "vllm:num_requests_waiting")
_SETTLE_SECONDS: Final = 1
_DRAIN_SECONDS: Final = 60
_HELD_SECONDS: Final = 2.5  # settle is over by then, and the hook polls
_PHASE_SECONDS: Final = 0.17  # requests end at different points between two polls
_AT_ONCE: Final = 4


class Engine(ThreadingHTTPServer):
    """Answers `/metrics`, and a generation that ends when told to."""

    daemon_threads = True

    def __init__(self) -> None:
        """Listen on a free port."""
        super().__init__((names.LOCAL_HOST, 0), _Handler)
        self.running = 0
        self.finish = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Engine

    def do_GET(self) -> None:
        """Answer the page or the generation."""
        if self.path == names.METRICS_PATH:
            self._say(f'{_GAUGES[0]}{{engine="0"}} {self.server.running:.1f}\n{_GAUGES[1]}{{engine="0"}} 0.0\n')
            return
        self.server.running = 1
        self.server.finish.wait(_DRAIN_SECONDS)
        self.server.running = 0
        self._say("done")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the library's)
        """Say nothing."""

    def _say(self, text: str) -> None:
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


def hooks(bench: Bench) -> list[Figure]:
    """Measure the seconds from the end of the last request to the end of the hook, for both kinds of client."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        closed = list(pool.map(lambda number: _latency(number, keeps=False), range(bench.amounts.hooks)))
        kept = list(pool.map(lambda number: _latency(number, keeps=True), range(bench.amounts.hooks)))
    limit = IDLE_SECONDS + goals.HOOK_OPEN_MORE_SECONDS
    name = f"hook ends after the last request, connection kept open (idle window {IDLE_SECONDS} s)"
    return [
        figure("hook", "hook ends after the last request, connections closed", "s", closed, goals.HOOK_CLOSED_SECONDS),
        figure("hook", name, "s", kept, goals.Goal(limit, limit)),
    ]


def _latency(number: int, *, keeps: bool) -> float:
    with _engine() as engine:
        client = http.client.HTTPConnection(names.LOCAL_HOST, engine.server_port, timeout=_DRAIN_SECONDS)
        with contextlib.closing(client):
            client.request("GET", "/generate")
            hook = subprocess.Popen(_command(engine.server_port), env=process.environment())
            time.sleep(_HELD_SECONDS + number * _PHASE_SECONDS)
            if hook.poll() is not None:
                raise BenchmarkError("the hook ended while a request was in flight.")
            engine.finish.set()
            client.getresponse().read()
            ended = time.monotonic()
            if not keeps:
                client.close()
            hook.wait(_DRAIN_SECONDS)
            return time.monotonic() - ended


@contextlib.contextmanager
def _engine() -> Iterator[Engine]:
    engine = Engine()
    threading.Thread(target=engine.serve_forever, daemon=True).start()
    try:
        yield engine
    finally:
        engine.shutdown()
        engine.server_close()


def _command(port: int) -> list[str]:
    words = [f"settle={_SETTLE_SECONDS}", f"drain={_DRAIN_SECONDS}", f"ports={port}", f"idle={IDLE_SECONDS}"]
    words += [f"url=http://{names.LOCAL_HOST}:{port}{names.METRICS_PATH}", *(f"gauge={gauge}" for gauge in _GAUGES)]
    return ["sh", "-c", load_script(), names.HOOK_NAME, *words, "absent=unknown", "log=none", "record=none"]
