"""Runs `drainhook drain --listen` and calls it as the kubelet would: the way of the sidecar, beside `hook.py`.

Never here: expectations.
"""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.drain.hook import LIMIT_SECONDS, Ended, Hook, found

ROOT = Path(__file__).parents[2]


class Listening:
    """A listener with the script's parameters, ended with its context."""

    def __init__(self, words: Sequence[str], env: dict[str, str] | None = None) -> None:
        """Start it on a free port of this machine."""
        program = [sys.executable, "-m", "webhook", "drain", "--host=127.0.0.1", "--listen=0", "--", *words]
        self._process = subprocess.Popen(program, env={**(env or {}), "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE)
        assert self._process.stdout
        said = self._process.stdout.readline().decode()
        self.port = int(said.rpartition(" ")[2])

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.communicate()

    @property
    def pid(self) -> int:
        """The listener's process."""
        return self._process.pid

    def get(self, path: str) -> int:
        """Call a path and return the status of the answer."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=LIMIT_SECONDS) as answer:
            return int(answer.status)

    def terminate(self) -> tuple[int, list[str]]:
        """Send SIGTERM, and return the exit code with what was printed."""
        self._process.terminate()
        said, _ = self._process.communicate(timeout=LIMIT_SECONDS)
        return self._process.returncode, said.decode().splitlines()


class SidecarHook(Hook):
    """The hook as the sidecar runs it: parameters at the start, then one blocking call."""

    def run(self, *params: str, argv: Sequence[str] = ()) -> Ended:
        """Call a listener once, to the end."""
        path = self.path()
        (path / "sh").symlink_to(found("dash"))
        where = [f"log={self.folder / 'log'}", f"record={self.folder / 'record'}"]
        chained = ["--", *argv] if argv else []
        with Listening([*where, *params, *chained], {"PATH": str(path)}) as listening:
            began = time.monotonic()
            status = listening.get("/drain")
            at = time.monotonic()
            code, said = listening.terminate()
        assert (status, code) == (200, 0)
        return self.left_behind(0, at - began, at, said)
