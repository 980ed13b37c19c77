"""One act: a real engine under streaming load is ended as a kubelet would, and each request's fate is noted.

Played twice by the demo, without and with the hook. Draws and prints nothing.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from demo.engine import Engine, EngineError
from demo.kubelet import Hook, Termination, terminate
from demo.load import Ask, Fate, Stream, tokens_per_second

_WAIT_SECONDS = 20.0
_MOST_TOKENS = 3000  # prompt and answer must fit into the context of a slot


@dataclass(frozen=True, slots=True)
class Load:
    """How much is asked of the engine: more than it has slots, so that most requests wait in its queue.

    `at_once` requests are sent together, and one more after each of the `late_seconds` of the termination, as routers
    do that have not yet heard of it. Each request lasts about `seconds` in a slot, on any machine. The termination
    begins when one of them has got `head_start` of its tokens.
    """

    at_once: int = 6
    late_seconds: tuple[float, ...] = (1.5, 4.0)
    seconds: float = 3.5
    head_start: float = 0.4


@dataclass(frozen=True, slots=True)
class Trip:
    """What became of one request; times are seconds since the termination began."""

    name: str
    sent: float
    first_token: float | None
    ended: float
    fate: Fate
    tokens: int
    error: str


@dataclass(frozen=True, slots=True)
class Act:
    """One termination under load: what the kubelet did, and each request's trip. `settle` is the hook's own."""

    grace: int
    settle: int
    asked: int
    termination: Termination
    trips: tuple[Trip, ...]
    record: str = ""

    def count(self, fate: Fate) -> int:
        """Say how many requests ended so."""
        return sum(trip.fate is fate for trip in self.trips)

    @property
    def lost_none(self) -> bool:
        """Whether every request that was sent completed."""
        return self.count(Fate.COMPLETED) == len(self.trips)

    @property
    def verdict(self) -> str:
        """Say it in one line."""
        return ", ".join(f"{self.count(fate)} {fate}" for fate in (Fate.COMPLETED, Fate.LOST, Fate.REFUSED))

    def with_record(self, record: str) -> Act:
        """Give the same act with what the hook wrote to the termination message."""
        return replace(self, record=record)

    def summary(self) -> dict[str, Any]:
        """Give the figures of `result.json`."""
        end = self.termination
        last = max((trip.ended for trip in self.trips if trip.fate is Fate.COMPLETED), default=None)
        return {
            "sent": len(self.trips),
            "completed": self.count(Fate.COMPLETED),
            "lost": self.count(Fate.LOST),
            "refused": self.count(Fate.REFUSED),
            "tokens_asked": self.asked * len(self.trips),
            "tokens_received": sum(trip.tokens for trip in self.trips),
            "exit_code": end.exit_code,
            "killed": end.killed,
            "grace_seconds": self.grace,
            "hook_exit_code": end.hook_code,
            "hook_seconds": round(end.hook_seconds, 2),
            "last_completed_seconds": None if last is None else round(last, 2),
            "total_seconds": round(end.total_seconds, 2),
            "record": json.loads(self.record or "null"),
        }


def tokens_for(engine: Engine, load: Load) -> int:
    """Say how many tokens a request must ask for to last as long as `load` wants, with all slots busy."""
    return max(20, min(_MOST_TOKENS, round(tokens_per_second(engine.port, engine.slots, engine.key) * load.seconds)))


def play(engine: Engine, load: Load, asked: int, hook: Hook | None, grace: int) -> Act:
    """Load the engine, end it, and wait until every client has its answer or its error."""
    ask = Ask(asked, engine.key)
    streams = [Stream(f"request {n}", engine.port, ask) for n in range(1, load.at_once + 1)]
    for stream in streams:
        stream.start()
    _wait_for_tokens(streams, round(asked * load.head_start))
    late = [Stream(f"late {n}", engine.port, ask) for n in range(1, len(load.late_seconds) + 1)]
    timers = [threading.Timer(delay, stream.start) for delay, stream in zip(load.late_seconds, late, strict=True)]
    for timer in timers:
        timer.start()
    termination = terminate(engine.process, hook, grace)
    for thread in (*timers, *streams, *late):
        thread.join()
    settle = 0 if hook is None else int(_parameter(hook.command, "settle") or 0)
    return Act(grace, settle, asked, termination, _trips(streams, late, termination.start))


def localise(command: Sequence[str], log: Path, record: Path) -> tuple[str, ...]:
    """Give the hook of a pod's patch as it runs here: log and record go to files, since no container's PID 1 is near.

    Every other word stays as it is in the patch.
    """
    stop = command.index("--") if "--" in command else len(command)  # the user's own hook follows
    kept = [word for word in command[4:stop] if not word.startswith(("log=", "record="))]
    return (*command[:4], f"log={log}", f"record={record}", *kept, *command[stop:])


def _parameter(command: Sequence[str], name: str) -> str:
    return next((word.partition("=")[2] for word in command[4:] if word.startswith(f"{name}=")), "")


def _wait_for_tokens(streams: Sequence[Stream], tokens: int) -> None:
    """Return when a request has got so many; raises EngineError when one fails before, or after a long time."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while max(stream.tokens for stream in streams) < tokens:
        if time.monotonic() > deadline or any(stream.fate in {Fate.LOST, Fate.REFUSED} for stream in streams):
            fates = ", ".join(f"{stream.fate} after {stream.tokens} tokens {stream.error}" for stream in streams)
            raise EngineError(f"the engine did not take the load: {fates}")
        time.sleep(0.01)


def _trips(streams: Sequence[Stream], late: Sequence[Stream], zero: float) -> tuple[Trip, ...]:
    """Give numbers to the requests as the engine took them from its queue, since threads start in any order."""
    queue = sorted(streams, key=lambda stream: stream.first_token or stream.ended)
    first = [_trip(f"request {n}", stream, zero) for n, stream in enumerate(queue, 1)]
    return (*first, *(_trip(stream.name, stream, zero) for stream in late))


def _trip(name: str, stream: Stream, zero: float) -> Trip:
    first = None if stream.first_token is None else stream.first_token - zero
    return Trip(
        name=name,
        sent=stream.sent - zero,
        first_token=first,
        ended=stream.ended - zero,
        fate=stream.fate,
        tokens=stream.tokens,
        error=stream.error,
    )
