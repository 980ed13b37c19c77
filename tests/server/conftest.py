"""The real server as a process of its own on random ports, and clients that trust its CA."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from webhook.catalog import load
from webhook.certificates import issue_ca
from webhook.core.decision import Policy
from webhook.server.app import Context, Health
from webhook.server.log import Log
from webhook.server.metrics import Metrics

START_SECONDS = 30


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def eventually(claim: Callable[[], object], seconds: float = 10):
    """Look until the claim holds, and return what it said."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(httpx.TransportError, OSError):
            if found := claim():
                return found
        threading.Event().wait(0.01)
    raise AssertionError("it did not come true in time")


@dataclass
class Running:
    """A server process: where it is, what it logs, and how to reach it."""

    process: subprocess.Popen[str]
    greeting: str
    port: int
    metrics_port: int
    ca: Path
    log: Path

    @property
    def url(self):
        return f"https://localhost:{self.port}"

    def context(self, **versions):
        context = ssl.create_default_context(cafile=self.ca)
        for name, value in versions.items():
            setattr(context, name, value)
        return context

    def client(self, **options):
        return httpx.Client(base_url=self.url, verify=self.context(), timeout=20, **options)

    def connect(self):
        """Open one TLS connection that speaks bytes."""
        plain = socket.create_connection(("127.0.0.1", self.port), 10)
        return self.context().wrap_socket(plain, server_hostname="localhost")

    def lines(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def metrics(self):
        return httpx.get(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=20).text

    def series(self):
        found = (line.rsplit(" ", 1) for line in self.metrics().splitlines() if not line.startswith("#"))
        return {name: float(value) for name, value in found}

    def ready(self):
        with self.client() as client:
            return client.get("/readyz").status_code


@contextlib.contextmanager
def serving(folder: Path, *arguments: str, ca: Path | None = None, **environment: str):
    """Start `drainhook serve`, wait for its greeting, and end it."""
    port, log = free_port(), folder / "log"
    mine = ca is None
    ca = ca or folder / "ca.crt"
    command = [
        sys.executable,
        "-c",
        "from webhook.cli.serve import serve; serve()",
        "--port=0",
        f"--metrics-port={port}",
        *arguments,
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, f"--ca-out={ca}"] if mine else command,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
    try:
        greeting = process.stderr.readline()
        found = re.search(r"https://\S+:(\d+)", greeting)
        assert found, greeting + process.stderr.read()
        yield Running(process, greeting, int(found[1]), port, ca, log)
    finally:
        process.kill()
        process.wait(10)
        process.stderr.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client


@pytest.fixture
def start(tmp_path):
    """Start servers of the test's own."""
    with contextlib.ExitStack() as stack:
        yield lambda *arguments, **options: stack.enter_context(serving(tmp_path, *arguments, **options))


@pytest.fixture(scope="session")
def catalog():
    return load()[0]


@pytest.fixture
def lines():
    """Collect what the routes of `context` log."""
    return []


@pytest.fixture
def context(catalog, lines):
    """Make the routes' surroundings in this process."""
    log = Log("info", lambda line: lines.append(json.loads(line)))
    return Context(catalog, Policy("0.0.0"), Metrics(), log, Health())


@pytest.fixture(scope="session")
def authority():
    """Make one CA for all tests that need one."""
    return issue_ca(datetime.now(UTC))
