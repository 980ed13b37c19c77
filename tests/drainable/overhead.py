"""`python -m tests.drainable.overhead`: what the middleware costs a request and a streamed chunk, in this process.

The bare application and the drainable one take turns in one run; each figure is the median of the differences of their
turns. Exit code 1 where a goal is missed.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any, Final

from webhook.drainable import Drainable

REQUEST_GOAL_US: Final = 15.0
CHUNK_GOAL_US: Final = 2.0
TURNS: Final = 21
REQUESTS, CHUNKS = 1_000, 10_000  # of a turn


@dataclass(frozen=True)
class Overhead:
    """Microseconds that the middleware adds, beside what the bare application takes in the same loop."""

    request_us: float
    bare_request_us: float
    chunk_us: float
    bare_chunk_us: float

    @property
    def holds(self) -> bool:
        """Say whether both goals are met."""
        return self.request_us <= REQUEST_GOAL_US and self.chunk_us <= CHUNK_GOAL_US


async def _application(scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(scope["chunks"]):
        await send({"type": "http.response.body", "body": b"token", "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _receive() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _send(_message: Any) -> None:
    """Take it."""


async def _turn(app: Any, requests: int, chunks: int) -> float:
    """Give the seconds of processor time of some requests, one after the other: what else runs does not count."""
    began = time.process_time()
    for _ in range(requests):
        scope = {"type": "http", "path": "/v1/completions", "http_version": "1.1", "root_path": "", "chunks": chunks}
        await app(scope, _receive, _send)
    return time.process_time() - began


async def _compare(requests: int, chunks: int, pieces: int) -> tuple[float, float]:
    """Give the microseconds of a piece that are added, and those of the bare application."""
    drainable = Drainable(_application)
    added, bare = [], []
    for turn in range(TURNS):
        pair = [_application, drainable] if turn % 2 else [drainable, _application]
        took = {app: await _turn(app, requests, chunks) for app in pair}
        added.append(took[drainable] - took[_application])
        bare.append(took[_application])
    return 1e6 * statistics.median(added) / pieces, 1e6 * statistics.median(bare) / pieces


def measure() -> Overhead:
    """Measure both."""
    gc.disable()
    try:
        request = asyncio.run(_compare(REQUESTS, 0, REQUESTS))
        chunk = asyncio.run(_compare(1, CHUNKS, CHUNKS))
    finally:
        gc.enable()
    return Overhead(*request, *chunk)


def main() -> int:
    """Print the figures beside their goals."""
    found = measure()
    print(f"a request: {found.request_us:+.2f} us (bare {found.bare_request_us:.2f} us), goal {REQUEST_GOAL_US:g} us")
    print(f"a chunk: {found.chunk_us:+.3f} us (bare {found.bare_chunk_us:.3f} us), goal {CHUNK_GOAL_US:g} us")
    return 0 if found.holds else 1


if __name__ == "__main__":
    sys.exit(main())
