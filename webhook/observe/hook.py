"""The hook's own record, read back from a container's termination message.

`drain_scripts/drain.sh` writes it as its last act, one line of JSON. A line with a value of another form is
no record; keys that a later hook may add are passed over.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Final

from webhook.core.profile import Json

ENDS: Final = ("called", "idle", "no_connections", "not_listening", "deadline", "slept", "signal")
"""Why the hook ended; a test compares them with the script."""
_NUMBERS: Final = ("inflight_start", "inflight_end", "connections_end", "settle", "last_busy", "seconds")


@dataclass(frozen=True, slots=True)
class HookRecord:
    """What the hook saw; None is what it could not know. `seconds` and `last_busy` count from its start."""

    end: str
    seconds: float
    inflight_start: float | None
    inflight_end: float | None
    connections_end: float | None
    settle: float
    last_busy: float | None

    @property
    def inflight_at_sigterm(self) -> float | None:
        """What was in flight when SIGTERM came, which follows the hook's end at once; unknown where it came earlier."""
        return None if self.end == "signal" else self.inflight_end


def hook_record(message: Json) -> HookRecord | None:
    """Return the last record in a termination message; the engine may have written lines of its own before it."""
    lines = message.splitlines() if isinstance(message, str) else []
    return next((found for line in reversed(lines) if (found := _parse(line))), None)


def _parse(line: str) -> HookRecord | None:
    if not line.startswith('{"drainhook":1,'):
        return None
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    numbers = {key: data.get(key) for key in _NUMBERS}
    is_whole = data.get("end") in ENDS and None not in (numbers["seconds"], numbers["settle"])
    return HookRecord(end=data["end"], **numbers) if is_whole and all(map(_is_count, numbers.values())) else None


def _is_count(value: Json) -> bool:
    """Say whether a value is unknown or a number of something."""
    if value is None:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
