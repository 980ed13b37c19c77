"""llama.cpp's own HTTP server (PyPI package `xllamacpp`) as a child process, on a random port of the loopback.

`python -m demo.engine` is that child. It sets no signal handler, so SIGTERM ends it at once and cuts every stream;
what the stand-alone `llama-server` does instead stands in docs/demo.md. Nothing here knows about hooks.
"""

from __future__ import annotations

import argparse
import http.client
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

HOST = "127.0.0.1"
_KEY = "LLAMA_API_KEY"  # as llama-server reads it


class EngineError(Exception):
    """The engine did not start; the message names its log."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the server is started. More requests than `slots` wait in its queue; `key` guards every page but /health."""

    slots: int = 2
    metrics: bool = True
    key: str = ""


class Engine:
    """A running server: a context manager that ends the process if nobody else has."""

    def __init__(self, model: Path, log: Path, options: Options | None = None) -> None:
        """Start the server and return when it listens."""
        log.parent.mkdir(parents=True, exist_ok=True)
        options = options or Options()
        self.key, self.slots = options.key, options.slots
        self._log: IO[bytes] = log.open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "demo.engine", str(model), *_flags(options)],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=Path(__file__).parent.parent,
            env={**os.environ, _KEY: options.key},
        )
        if self.process.stdout is None:
            raise EngineError("the engine has no output to read its port from")
        port = self.process.stdout.readline().strip()
        if not port:
            self.end()
            last = log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise EngineError(f"the llama.cpp server did not start ({last}), see {log}")
        self.port = int(port)

    def __enter__(self) -> Self:
        """Give the engine to the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """End the process."""
        self.end()

    def end(self) -> None:
        """Kill the process if it still runs, and forget it."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._log.close()

    def get(self, path: str) -> tuple[int, str]:
        """Fetch a page: status code and text."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=10)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.key}"} if self.key else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


def _flags(options: Options) -> list[str]:
    metrics = ["--metrics"] if options.metrics else []
    return ["--slots", str(options.slots), *metrics]


def _serve(arguments: argparse.Namespace) -> None:
    """Run the server until a signal ends the process; the first line of the output is the port."""
    import xllamacpp  # noqa: PLC0415  # only the child needs it, and it loads a big library

    parameters = xllamacpp.CommonParams()
    parameters.model.path = arguments.model
    parameters.hostnames = [HOST]
    parameters.port = 0
    parameters.endpoint_metrics = arguments.metrics
    parameters.n_parallel = arguments.slots
    parameters.n_ctx = 4096 * arguments.slots
    parameters.warmup = False
    parameters.ui = False
    parameters.cpuparams.n_threads = 1  # leave a core for the clients and the hook
    if os.environ.get(_KEY):
        parameters.api_keys = [os.environ[_KEY]]
    server = xllamacpp.Server(parameters)
    print(server.listening_address.rsplit(":", 1)[1], flush=True)  # noqa: T201  # the parent reads it
    signal.pause()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m demo.engine", description="llama.cpp's server on a random port")
    parser.add_argument("model")
    parser.add_argument("--slots", type=int, default=Options().slots)
    parser.add_argument("--metrics", action="store_true")
    _serve(parser.parse_args())
