"""The server's log: one JSON object per line, each written by one write.

Objects, patches and values of a user never come here (O3): they may hold secrets. `logging` costs twenty times as much.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import orjson

from webhook.core.profile import Json
from webhook.settings import LEVELS

STDOUT: Final = 1


def to_stdout(line: bytes) -> None:
    """Write a line to standard output; a reader that went away must not fail a request."""
    with contextlib.suppress(OSError):
        os.write(STDOUT, line)


class Log:
    """Writes what is at or above its level."""

    def __init__(self, level: str = "info", write: Callable[[bytes], None] = to_stdout) -> None:
        """Fix the level (one of LEVELS) and where lines go."""
        self._least = LEVELS.index(level)
        self._write = write

    @property
    def is_debug(self) -> bool:
        """True where even the text of an exception may be written, which can hold a user's values."""
        return self._least == 0

    def line(self, level: str, event: str, **fields: Json) -> None:
        """Write one event with its fields; nothing when the level is too low."""
        if LEVELS.index(level) >= self._least:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._write(orjson.dumps({"time": now, "level": level, "event": event, **fields}) + b"\n")
