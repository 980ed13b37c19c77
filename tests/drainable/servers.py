"""The real servers: their command lines as data, and one that runs."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

ROOT: Final = Path(__file__).parents[2]
APPS: Final = ("bare", "starlette", "fastapi")
PATIENCE: Final = 90.0  # seconds; a machine may be busy


@dataclass(frozen=True)
class Server:
    """A command line; {app} and {port} are filled in.

    is_told: each worker gets SIGTERM and says so. keeps_websockets: it lets them end after SIGTERM.
    """

    name: str
    workers: int
    command: str
    is_told: bool = True
    keeps_websockets: bool = True


_GUNICORN: Final = "gunicorn {app} -b 127.0.0.1:{port} -k uvicorn_worker.UvicornWorker --graceful-timeout 70"
_HYPERCORN: Final = "hypercorn {app} -b 127.0.0.1:{port} --graceful-timeout 70"
_GRANIAN: Final = "granian --interface asgi {app} --host 127.0.0.1 --port {port}"
_UVICORN: Final = "uvicorn {app} --port {port}"
SERVERS: Final = {
    server.name: server
    for server in (
        Server("uvicorn", 1, f"{_UVICORN} --http httptools --loop uvloop"),
        Server("uvicorn-h11", 1, f"{_UVICORN} --http h11 --loop asyncio"),
        Server("uvicorn-2", 2, f"{_UVICORN} --http httptools --loop uvloop --workers 2"),
        Server("uvicorn-h11-2", 2, f"{_UVICORN} --http h11 --loop asyncio --workers 2"),
        Server("gunicorn-2", 2, f"{_GUNICORN} -w 2"),
        Server("gunicorn-preload-2", 2, f"{_GUNICORN} -w 2 --preload"),
        Server("hypercorn", 1, _HYPERCORN, is_told=False),
        Server("hypercorn-2", 2, f"{_HYPERCORN} -w 2", is_told=False),
        Server("granian", 1, _GRANIAN, keeps_websockets=False),
        Server("granian-2", 2, f"{_GRANIAN} --workers 2", keeps_websockets=False),
    )
}


def until(claim: Callable[[], Any], said: str) -> Any:
    """Look until a claim holds and give what it gave."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := claim():
            return found
        time.sleep(0.02)
    raise TimeoutError(f"{said}: not within {PATIENCE:g} s")


class Running:
    """A server that runs an application of apps.py."""

    def __init__(self, server: Server, app: str, folder: Path, *prefix: str, **environment: str) -> None:
        """Start it; app: a name of apps.py, or module:name."""
        self.server = server
        self.gate = folder / "gate"
        self._log = folder / "log"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        module = app if ":" in app else f"tests.drainable.apps:{app}"
        words = server.command.format(app=module, port=self.port).split()
        own = {"GATE": str(self.gate), "PYTHONPATH": str(ROOT), **environment}
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*prefix, str(Path(sys.executable).parent / words[0]), *words[1:]],
                cwd=ROOT, env=os.environ | own, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def __enter__(self) -> Self:
        """Leave no process, whatever happens."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it by force where it still runs."""
        if self.process.poll() is None:
            for pid in (*children(self.process.pid), self.process.pid):
                os.kill(pid, signal.SIGKILL)
            self.process.wait(30)

    @property
    def output(self) -> str:
        """Give all that it has written."""
        return self._log.read_text(errors="replace")

    @property
    def lines(self) -> list[str]:
        """Give the middleware's lines, without their prefix."""
        return [line.partition("drainhook: ")[2] for line in self.output.splitlines() if "drainhook: " in line]

    def ready(self) -> Self:
        """Wait until every worker serves."""
        pids: set[str] = set()

        def all_serve() -> bool:
            assert self.process.poll() is None, f"ended with {self.process.returncode}: {self.output}"
            try:
                status, text = self.get("/pid")
            except (OSError, http.client.HTTPException):
                return False
            assert status == 200, text
            pids.add(text)
            return len(pids) >= self.server.workers

        until(all_serve, f"{self.server.name} serves with {self.server.workers} workers")
        return self

    def get(self, path: str) -> tuple[int, str]:
        """Ask on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def metric(self, name: str) -> float:
        """Read a metric from whichever worker answers."""
        page = self.get("/metrics")[1]
        return next(float(line.split()[1]) for line in page.splitlines() if line.startswith(f"{name} "))

    def open_gate(self) -> None:
        """Let all that is in flight end."""
        self.gate.touch()

    def said(self, text: str, times: int = 1) -> None:
        """Wait for a line."""
        until(
            lambda: sum(text in line for line in self.lines) >= times, f"{self.server.name} says {text!r} {times} times"
        )

    def terminate(self) -> None:
        """Send SIGTERM to the one process that a kubelet knows."""
        self.process.send_signal(signal.SIGTERM)

    def exit_code(self) -> int:
        """Wait for the end."""
        return self.process.wait(PATIENCE)


def children(pid: int) -> list[int]:
    """Give the processes below one."""
    try:
        direct = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [below for child in direct for below in (child, *children(child))]
