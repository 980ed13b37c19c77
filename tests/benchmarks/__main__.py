"""`make bench`: measures every part, prints each figure beside its goal, writes a table and JSON. It is no gate.

The exit code is 0 whatever the figures are, and 1 where a part could not be measured.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.benchmarks import commands, golang, hooks, parts, report, samples
from tests.benchmarks.bench import FULL, QUICK, Bench
from tests.benchmarks.figures import BenchmarkError, Figure, MissingError
from tests.benchmarks.load import PYTHON_CLIENT

PARTS: Final[dict[str, Callable[[Bench], list[Figure]]]] = {
    "start": parts.start,
    "memory": parts.memory,
    "reviews": parts.reviews,
    "patch": commands.patch,
    "commands": commands.commands,
    "hook": hooks.hooks,
    "go": golang.references,
}
FOLDER: Final = Path("build/bench")


def main() -> int:
    """Run the parts that are asked for."""
    options = _options()
    if not Path("/proc/self/stat").exists():
        print("The benchmark reads /proc: it needs Linux.")
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = {"quick": options.quick, "machine": report.machine()}
    try:
        bench, client = _bench(options)
    except BenchmarkError as error:
        print(error)
        return 1
    chosen = options.only or [name for name in PARTS if name != "go" or options.go]
    figures, left_out, faults = _measure(bench, chosen)
    load = f"load average: {about['machine']['load_average']:.1f} at the start, {os.getloadavg()[0]:.1f} at the end"
    notes = [f"load client: {client}", load, *left_out, *faults]
    report.write(FOLDER / "table.md", report.markdown(figures))
    report.write(options.json, report.document(figures, notes, about))
    print(report.table(figures))
    print(*notes, f"Written: {options.json}, {FOLDER / 'table.md'}", sep="\n")
    return 1 if faults else 0


def _measure(bench: Bench, chosen: list[str]) -> tuple[list[Figure], list[str], list[str]]:
    """Run one part after the other; what cannot be measured is said and does not end the others."""
    figures: list[Figure] = []
    left_out: list[str] = []
    faults: list[str] = []
    for name in chosen:
        started = time.monotonic()
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        try:
            figures += PARTS[name](bench)
        except MissingError as error:
            left_out.append(f"left out: {name}: {error}")
        except BenchmarkError as error:
            faults.append(f"not measured: {name}: {error}")
            print(faults[-1], file=sys.stderr)
        print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    return figures, left_out, faults


def _bench(options: argparse.Namespace) -> tuple[Bench, str]:
    """Prepare inputs and client; without Go the Python client loads, and the figures say so."""
    programs = golang.build(FOLDER, "load")
    client = PYTHON_CLIENT if programs is None else (str(programs / "load"),)
    named = "asyncio (Go is missing; throughput and latency are partly the client's)" if programs is None else "Go"
    reviews = samples.write_reviews(FOLDER)
    return Bench(FOLDER, client, reviews, QUICK if options.quick else FULL), named


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short look: few rounds, small numbers")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="measure this part only; repeatable")
    parser.add_argument("--json", type=Path, default=FOLDER / "result.json", metavar="FILE", help="where JSON goes")
    is_asked = os.environ.get("GO", "") not in ("", "0")
    parser.add_argument("--go", action="store_true", default=is_asked, help="also the Go reference servers (GO=1)")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
