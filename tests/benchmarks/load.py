"""Load on a server: runs the client beside it and reads what the run cost the server.

The clients are programs of their own: `go/load` where Go is there, else `tests.benchmarks.client`.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from tests.benchmarks import process
from tests.benchmarks.figures import BenchmarkError
from tests.benchmarks.servers import Server
from webhook import names

PYTHON_CLIENT: Final = (sys.executable, "-m", "tests.benchmarks.client")
_LOOK_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent: one review again and again, by so many connections, for a time or a number of requests."""

    review: Path
    concurrency: int
    seconds: float = 1.0
    requests: int = 0

    def arguments(self) -> list[str]:
        """Write the load as the clients read it."""
        return [
            *("-review", str(self.review)),
            *("-concurrency", str(self.concurrency)),
            *("-seconds", str(self.seconds)),
            *("-requests", str(self.requests)),
        ]


@dataclass(frozen=True, slots=True)
class Run:
    """What came of it. `cpu` is what the server used, `client_cpu` what the client used, in seconds."""

    requests: int
    seconds: float
    p50_ms: float
    p99_ms: float
    cpu: float
    client_cpu: float
    peak_mib: float

    @property
    def cpu_per_thousand(self) -> float:
        """CPU seconds of the server for 1,000 reviews."""
        return self.cpu / self.requests * 1000

    @property
    def per_second(self) -> float:
        """Reviews for each second that went by."""
        return self.requests / self.seconds


def run(client: Sequence[str], server: Server, load: Load) -> Run:
    """Put a load on a server: connect and warm up first, then measure. Raises BenchmarkError on any wrong answer."""
    where = ["-address", f"{names.LOCAL_HOST}:{server.port}", "-ca", str(server.ca)]
    with _client([*client, *where, *load.arguments()]) as (running, stdin, stdout):
        if stdout.readline().strip() != "ready":
            raise BenchmarkError(f"the load client could not connect to {server.name}.")
        before = process.cpu_seconds(server.pid), process.cpu_seconds(running.pid)
        stdin.write("go\n")
        stdin.flush()
        peak, client_cpu = process.rss_mib(server.pid), before[1]
        while running.poll() is None:
            peak = max(peak, process.rss_mib(server.pid))
            client_cpu = _still(running, client_cpu)
            time.sleep(_LOOK_SECONDS)
        cpu = process.cpu_seconds(server.pid) - before[0]
        said = stdout.readline()
    result = json.loads(said or '{"error": "the load client ended early", "requests": 0}')
    if result["error"] or not result["requests"]:
        raise BenchmarkError(f"{server.name} under load: {result['error'] or 'no request was answered'}.")
    spent = client_cpu - before[1]
    return Run(result["requests"], result["seconds"], result["p50_ms"], result["p99_ms"], cpu, spent, peak)


def _still(running: subprocess.Popen[str], known: float) -> float:
    """Read the client's CPU seconds while it lives."""
    try:
        return process.cpu_seconds(running.pid) or known
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return known


@contextlib.contextmanager
def _client(command: Sequence[str]) -> Iterator[tuple[subprocess.Popen[str], IO[str], IO[str]]]:
    running = process.start(process.CLIENT_CORE, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    stdin, stdout = running.stdin, running.stdout
    if stdin is None or stdout is None:
        raise BenchmarkError("the load client has no pipes.")
    try:
        yield running, stdin, stdout
    finally:
        process.end(running)
        stdin.close()
        stdout.close()
