"""The parts that measure the server: reviews under load, start, memory.

Each part is one function from a Bench to figures. The command line's parts stand in `commands`, the hook's in `hooks`.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Final

from tests.benchmarks import goals, process, samples, servers
from tests.benchmarks.bench import Bench
from tests.benchmarks.figures import Figure, figure
from tests.benchmarks.load import Load, Run, run

CONCURRENCIES: Final = (1, 10, 50, 200)
BUSY: Final = 200
STEPS: Final = 10  # looks at the memory while 100,000 reviews are answered
MAIN_SIZE: Final = "8 KB"
POINTS: Final = (*itertools.product(samples.SIZES, CONCURRENCIES), (samples.DISTINCT, 10), (samples.DISTINCT, 50))


def reviews(bench: Bench) -> list[Figure]:
    """Measure CPU, latency and throughput for each size and concurrency; rounds go over all of them in turn."""
    runs: dict[tuple[str, int], list[Run]] = defaultdict(list)
    with servers.ours(bench.folder) as server:
        for _ in range(bench.amounts.rounds):
            for size, concurrency in POINTS:
                load = Load(bench.reviews[size], concurrency, bench.amounts.seconds)
                runs[size, concurrency].append(run(bench.client, server, load))
    rows = [row for (size, concurrency), found in runs.items() for row in _rows(f"{size}, {concurrency}", found)]
    client = (one.client_cpu / one.seconds for found in runs.values() for one in found)
    return [*rows, figure("reviews", "CPU of the load client", "cores", client)]


def _rows(name: str, runs: list[Run]) -> list[Figure]:
    part = "reviews"
    return [
        figure(part, f"{name} concurrent: CPU", "s per 1,000", (found.cpu_per_thousand for found in runs)),
        figure(part, f"{name} concurrent: p50", "ms", (found.p50_ms for found in runs)),
        figure(part, f"{name} concurrent: p99", "ms", (found.p99_ms for found in runs)),
        figure(part, f"{name} concurrent: throughput", "reviews/s", (found.per_second for found in runs)),
    ]


def start(bench: Bench) -> list[Figure]:
    """Measure what a start costs until one review is answered, and the memory of an idle server after it."""
    review = bench.reviews[MAIN_SIZE].read_bytes()
    spent, idle = [], []
    for number in range(bench.amounts.rounds + 1):
        with servers.ours(bench.folder) as server:
            server.patched(review)  # a server that does not patch would be quick
            if number:  # the first one wrote byte code and filled the page cache
                spent.append(process.cpu_seconds(server.pid))
                idle.append(process.rss_mib(server.pid))
    return [
        figure("start", "CPU to the first answer", "s", spent, goals.FIRST_ANSWER_SECONDS),
        figure("start", "memory, idle", "MiB", idle, goals.IDLE_MIB),
    ]


def memory(bench: Bench) -> list[Figure]:
    """Measure the highest memory at 200 concurrent, and whether it grows over 100,000 reviews at 10."""
    review, distinct = bench.reviews[MAIN_SIZE], bench.reviews[samples.DISTINCT]
    busy = []
    for _ in range(bench.amounts.rounds):
        with servers.ours(bench.folder) as server:
            busy.append(run(bench.client, server, Load(review, BUSY, bench.amounts.seconds)).peak_mib)
    resident = []
    with servers.ours(bench.folder) as server:
        for _ in range(STEPS):
            run(bench.client, server, Load(distinct, 10, requests=bench.amounts.flat_requests // STEPS))
            resident.append(process.rss_mib(server.pid))
    growth, count = resident[-1] - resident[0], f"{bench.amounts.flat_requests:,}"
    return [
        figure("memory", f"memory, {MAIN_SIZE} at {BUSY} concurrent, highest", "MiB", busy, goals.BUSY_MIB),
        figure("memory", f"memory during {count} reviews, no two alike", "MiB", resident),
        figure(
            "memory",
            f"memory growth from {bench.amounts.flat_requests // STEPS:,} to {count}",
            "MiB",
            [growth],
            goals.GROWTH_MIB,
        ),
    ]
