"""The parts that measure the command line: documents per CPU second, and what one short command costs."""

from __future__ import annotations

import subprocess

from tests.benchmarks import goals, process, samples
from tests.benchmarks.bench import Bench
from tests.benchmarks.figures import BenchmarkError, Figure, figure

_PROBED = 8


def patch(bench: Bench) -> list[Figure]:
    """Measure `drainhook patch` over a generated folder in one process, its start included."""
    folder = samples.write_manifests(bench.folder / f"manifests-{bench.amounts.manifests}", bench.amounts.manifests)
    _prove(bench)
    rates = [bench.amounts.manifests / process.cpu_of(_patch(folder)) for _ in range(bench.amounts.rounds)]
    name = f"`drainhook patch`, {bench.amounts.manifests:,} manifests"
    return [figure("patch", name, "documents per CPU s", rates, goals.DOCUMENTS_PER_SECOND)]


def commands(bench: Bench) -> list[Figure]:
    """Measure the CPU time of two short commands."""
    one = samples.write_manifests(bench.folder / "manifests-1", 1)
    timed = {"`drainhook --help`": [*process.drainhook(), "--help"], "`drainhook patch`, one file": _patch(one)}
    rows = []
    for name, command in timed.items():
        process.cpu_of(command)  # byte code and page cache
        spent = [process.cpu_of(command) * 1000 for _ in range(bench.amounts.commands)]
        rows.append(figure("commands", name, "ms CPU", spent, goals.COMMAND_MILLISECONDS))
    return rows


def _patch(folder: object) -> list[str]:
    return [*process.drainhook(), "patch", "-f", str(folder)]


def _prove(bench: Bench) -> None:
    """Look whether a few manifests are really patched: a command that does nothing would be the quickest."""
    folder = samples.write_manifests(bench.folder / f"manifests-{_PROBED}", _PROBED)
    done = subprocess.run(_patch(folder), capture_output=True, text=True, check=False, env=process.environment())
    found = done.stdout.count("preStop:")
    if done.returncode or found != _PROBED:
        raise BenchmarkError(
            f"`drainhook patch` gave {found} hooks for {_PROBED} manifests (exit code {done.returncode}): "
            f"{done.stderr.strip()[-300:]}"
        )
