"""A child whose lines are read as they come, each with its time of arrival. What they mean is others' matter."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Self

Line = tuple[float, str]


class Lines:
    """A running command; `with` ends it. `seen` holds (time of day, line) of standard output so far."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start the command."""
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment, start_new_session=True
        )
        self._changed = threading.Condition()
        self._ended = False
        self.seen: list[Line] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the command and its children if it still runs."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
        self._finish(10)

    def wait_for(self, holds: Callable[[Sequence[Line]], bool], what: str, seconds: float) -> None:
        """Return when the lines fulfil a condition; raise when they never will, or not in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or holds(self.seen), seconds)
            if not holds(self.seen):
                raise TimeoutError(f"{what}: not within {seconds} s, or the program ended")

    def close_input(self, seconds: float) -> int:
        """Close standard input, wait for the end, and give the exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._finish(seconds)

    def _finish(self, seconds: float) -> int:
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            raise
        self._reader.join(seconds)
        for stream in (self._process.stdin, self._process.stdout):
            _close(stream)
        return code

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self.seen.append((time.time(), line))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def _close(stream: IO[str] | None) -> None:
    if stream is not None and not stream.closed:
        stream.close()
