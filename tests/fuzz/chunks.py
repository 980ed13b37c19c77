"""Spreads the pods over processes. A pod's seed names it alone, so that the number of processes changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

from tests.fuzz.laws import Tally, check
from tests.fuzz.oracle import Oracle
from tests.fuzz.pods import pod

CHUNK: Final = 500  # pods that are judged together: few enough to stay in memory


def run(binary: Path, seed: str, count: int, jobs: int | None = None) -> Tally:
    """Check so many pods of a seed."""
    jobs = jobs or os.cpu_count() or 1
    tally = Tally()
    with ProcessPoolExecutor(jobs) as processes:
        for part in processes.map(_share, [binary] * jobs, [seed] * jobs, _shares(count, jobs)):
            tally.add(part)
    return tally


def _shares(count: int, jobs: int) -> Iterator[range]:
    for job in range(jobs):
        yield range(job * count // jobs, (job + 1) * count // jobs)


def _share(binary: Path, seed: str, numbers: range) -> Tally:
    tally = Tally()
    with Oracle(binary) as oracle:
        for start in range(0, len(numbers), CHUNK):
            seeds = [f"{seed}:{number}" for number in numbers[start : start + CHUNK]]
            tally.add(check(oracle, [(name, pod(name)) for name in seeds]))
    return tally
