"""The load client for machines without Go: the same flags, the same output, more CPU.

Closed loop: each connection sends its next review when it has the answer to the last one. Nothing of drainhook is used.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_MARKER: Final = b"@" * 8
_LINES: Final = ("POST /mutate?timeout=10s HTTP/1.1", "Host: localhost", "Content-Type: application/json")


class Connection:
    """One connection with its latencies."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
        """Take over an open connection."""
        self._reader = reader
        self._writer = writer
        self._request = request
        self.took: list[float] = []

    async def exchange(self, number: int) -> None:
        """Send one review; raises OSError where the answer is not the one that belongs to it."""
        digits = b"%08d" % number
        started = time.perf_counter()
        self._writer.write(self._request.replace(_MARKER, digits))
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        body = await self._reader.readexactly(int(length))
        if not head.startswith(b"HTTP/1.1 200") or digits not in body or b'"patch":' not in body:
            raise OSError("the answer has no patch, or belongs to another request")
        self.took.append(time.perf_counter() - started)

    async def run(self, counter: Iterator[int], last: int, end: float) -> None:
        """Send reviews until their number or the time has come."""
        for number in counter:
            if number > last if last else time.perf_counter() > end:
                return
            await self.exchange(number)


async def _connect(options: argparse.Namespace) -> list[Connection]:
    body = options.review.read_bytes()
    head = "\r\n".join((*_LINES, f"Content-Length: {len(body)}", "", ""))
    request = head.encode() + body
    context = ssl.create_default_context(cafile=options.ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    host, _, port = options.address.rpartition(":")
    connections = []
    for _ in range(options.concurrency):
        reader, writer = await asyncio.open_connection(host, int(port), ssl=context, limit=1 << 20)
        connections.append(Connection(reader, writer, request))
        await connections[-1].exchange(0)
        connections[-1].took.clear()
    return connections


async def _main(options: argparse.Namespace) -> dict[str, float | str]:
    connections = await _connect(options)
    print("ready", flush=True)
    sys.stdin.readline()  # nothing else runs in this loop yet
    first = int(time.time() * 1000) % 90_000_000  # no two runs may send the same reviews
    last = first + options.requests - 1 if options.requests else 0
    started, counter, error = time.perf_counter(), itertools.count(first), ""
    end = started + options.seconds
    try:
        await asyncio.gather(*(connection.run(counter, last, end) for connection in connections))
    except (OSError, asyncio.IncompleteReadError, ValueError) as failure:
        error = str(failure)
    took = sorted(itertools.chain.from_iterable(connection.took for connection in connections)) or [0.0]
    return {
        "requests": sum(len(connection.took) for connection in connections),
        "seconds": time.perf_counter() - started,
        "p50_ms": took[len(took) // 2] * 1000,
        "p99_ms": took[len(took) * 99 // 100] * 1000,
        "error": error,
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.benchmarks.client", description=__doc__)
    parser.add_argument("-address", required=True)
    parser.add_argument("-ca", required=True, type=Path)
    parser.add_argument("-review", required=True, type=Path)
    parser.add_argument("-concurrency", type=int, default=1)
    parser.add_argument("-seconds", type=float, default=1.0)
    parser.add_argument("-requests", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_main(_options()))), flush=True)
