"""The servers under test: `drainhook serve` and the Go references, each its own pinned process on a free port.

How they are loaded, and what is read from them, stands elsewhere.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import re
import selectors
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import jsonpatch

from tests.benchmarks import process
from tests.benchmarks.figures import BenchmarkError
from webhook import names

_START_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.02
_ADDRESS: Final = re.compile(r"https://[\w.]+:(\d+)")


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: how to reach it, and the process that pays for it."""

    name: str
    process: subprocess.Popen[str]
    port: int
    ca: Path

    @property
    def pid(self) -> int:
        """The process to measure."""
        return self.process.pid

    def answer(self, review: bytes) -> dict[str, Any]:
        """Send one review on a connection of its own and return what the server says."""
        context = ssl.create_default_context(cafile=self.ca)
        connection = http.client.HTTPSConnection(names.LOCAL_HOST, self.port, timeout=_START_SECONDS, context=context)
        with contextlib.closing(connection):
            connection.request("POST", names.MUTATE_PATH, review, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            body = answer.read()
        if answer.status != http.client.OK:
            raise BenchmarkError(f"{self.name} answered HTTP {answer.status}: {body[:200]!r}.")
        response: dict[str, Any] = json.loads(body)["response"]
        return response

    def patched(self, review: bytes) -> dict[str, Any]:
        """Return the pod that the API server would make of the answer."""
        response = self.answer(review)
        if "patch" not in response:
            raise BenchmarkError(f"{self.name} did not patch the benchmark's pod: {response}.")
        operations = json.loads(base64.b64decode(response["patch"]))
        pod: dict[str, Any] = jsonpatch.apply_patch(json.loads(review)["request"]["object"], operations)
        return pod


@contextlib.contextmanager
def ours(folder: Path) -> Iterator[Server]:
    """Run `drainhook serve` as a user would: a CA in memory, metrics on, log lines written (and thrown away)."""
    ca = folder / "ca.pem"
    command = [*process.drainhook(), "serve", "--port", "0", "--metrics-port", str(free_port()), "--ca-out", str(ca)]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with _running(process.start(process.SERVER_CORE, command, **pipes)) as running:
        found = _ADDRESS.search(_greeting(running))
        if found is None:
            raise BenchmarkError("`drainhook serve` did not say where it listens.")
        yield Server("drainhook", running, int(found[1]), ca)


@contextlib.contextmanager
def reference(name: str, command: Sequence[str], ca: Path) -> Iterator[Server]:
    """Run a reference server; `--port` is added to its command."""
    port = free_port()
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with _running(process.start(process.SERVER_CORE, [*command, "-port", str(port)], **pipes)) as running:
        _wait_for(port, running, name)
        yield Server(name, running, port, ca)


def free_port() -> int:
    """Find a port that nobody uses."""
    with socket.create_server((names.LOCAL_HOST, 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


@contextlib.contextmanager
def _running(running: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    try:
        yield running
    finally:
        process.end(running)
        for pipe in (running.stdout, running.stderr):
            if pipe is not None:
                pipe.close()


def _greeting(running: subprocess.Popen[str]) -> str:
    """Wait for the line that says where the server is; reading it costs the server nothing."""
    stream = running.stderr
    if stream is None:
        raise BenchmarkError("the server has no standard error.")
    end, said = time.monotonic() + _START_SECONDS, ""
    while time.monotonic() < end:
        line = _line(stream, end - time.monotonic())
        said += line
        if _ADDRESS.search(line) or not line:
            break
    if not _ADDRESS.search(said):
        raise BenchmarkError(f"`drainhook serve` did not start: {said.strip()[-500:] or 'it said nothing'}")
    return said


def _line(stream: IO[str], seconds: float) -> str:
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        return stream.readline() if selector.select(seconds) else ""


def _wait_for(port: int, running: subprocess.Popen[str], name: str) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and running.poll() is None:
        try:
            socket.create_connection((names.LOCAL_HOST, port), 1).close()
        except OSError:
            time.sleep(_LOOK_SECONDS)
        else:
            return
    raise BenchmarkError(f"{name} did not start.")
