"""What needs Go: the load client, and the reference servers that the webhook is compared with in the same run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.benchmarks import goals, process, samples, servers
from tests.benchmarks.bench import Bench
from tests.benchmarks.figures import BenchmarkError, Figure, MissingError, figure
from tests.benchmarks.load import Load, Run, run
from tests.benchmarks.servers import Server
from webhook import names
from webhook.certificates import issue_ca, issue_leaf

USUAL: Final = "controller-runtime, diffed patch"
BY_HAND: Final = "controller-runtime, patch by hand"
BARE: Final = "bare net/http, by hand"
MISSING: Final = "Go is missing: install Go 1.26 or later (https://go.dev/dl) for this part."
_SOURCE: Final = Path(__file__).with_name("go")
_POINTS: Final = (
    *(("8 KB", 10), ("8 KB", 50), (samples.DISTINCT, 10), (samples.DISTINCT, 50)),
    *(("3 KB", 10), ("60 KB", 10)),
)
_RATIO_GOALS: Final = {USUAL: goals.RATIO_USUAL, BY_HAND: goals.RATIO_BY_HAND, BARE: None}

Point = tuple[str, int]


def build(folder: Path, *programs: str) -> Path | None:
    """Build programs of the Go module and return the folder that holds them; None where there is no Go."""
    if shutil.which("go") is None:
        return None
    out = (folder / "bin").resolve()  # the compiler runs in the folder of its module
    out.mkdir(parents=True, exist_ok=True)
    command = ["nice", "-n", "15", "go", "build", "-o", f"{out}/", *(f"./{program}" for program in programs)]
    built = subprocess.run(
        command, cwd=_SOURCE, capture_output=True, text=True, check=False, env={**os.environ, "GOMAXPROCS": "1"}
    )
    if built.returncode:
        raise BenchmarkError(f"`{' '.join(command)}` failed: {built.stderr.strip()[-500:]}")
    return out


def references(bench: Bench) -> list[Figure]:
    """Measure our server and the references in turn, and compare each with ours of the same round."""
    programs = build(bench.folder, "typed", "bare")
    if programs is None:
        raise MissingError(MISSING)
    runs: dict[tuple[Point, str], list[Run]] = defaultdict(list)
    with ExitStack() as stack:
        ours = stack.enter_context(servers.ours(bench.folder))
        others = [stack.enter_context(start) for start in _starts(bench, programs, ours)]
        idle = {server.name: process.rss_mib(server.pid) for server in (ours, *others)}
        _compare_pods(bench, ours, others)
        for size, concurrency in _POINTS * bench.amounts.rounds:
            for server in (ours, *others):
                load = Load(bench.reviews[size], concurrency, bench.amounts.seconds)
                runs[(size, concurrency), server.name].append(run(bench.client, server, load))
    rows = [row for point in _POINTS for row in _point_rows(point, runs, ours.name)]
    return [*rows, *(figure("go", f"memory, idle: {name}", "MiB", [value]) for name, value in idle.items())]


def _starts(bench: Bench, programs: Path, ours: Server) -> Iterator[Any]:
    """Prepare each reference: certificate, and what it adds to the pod (the values that ours decides)."""
    ca = _certificate(bench.folder)
    addition = bench.folder / "addition.json"
    addition.write_text(json.dumps(_addition(ours.patched(bench.reviews["8 KB"].read_bytes()))))
    shared = ["-addition", str(addition), "-certificates", str(ca.parent)]
    yield servers.reference(USUAL, [str(programs / "typed"), *shared], ca)
    yield servers.reference(BY_HAND, [str(programs / "typed"), "-by-hand", *shared], ca)
    yield servers.reference(BARE, [str(programs / "bare"), *shared], ca)


def _certificate(folder: Path) -> Path:
    """Write a P-256 pair as controller-runtime expects it, and return the CA's path."""
    place = folder / "certificates"
    place.mkdir(mode=0o700, exist_ok=True)
    now = datetime.now(UTC)
    ca = issue_ca(now)
    leaf = issue_leaf(ca, ("localhost", names.LOCAL_HOST), now)
    for name, content in (("ca.crt", ca.certificate), ("tls.crt", leaf.certificate), ("tls.key", leaf.key)):
        path = place / name
        path.touch(mode=0o600)
        path.write_bytes(content)
    return place / "ca.crt"


def _addition(pod: dict[str, Any]) -> dict[str, Any]:
    """Take from our patched pod what the references have to add."""
    server = next(item for item in pod["spec"]["containers"] if samples.IMAGE in item["image"])
    return {
        "labelKey": names.BACKEND,
        "labelValue": pod["metadata"]["labels"][names.BACKEND],
        "image": samples.IMAGE,
        "statusKey": names.STATUS,
        "status": pod["metadata"]["annotations"][names.STATUS],
        "grace": pod["spec"]["terminationGracePeriodSeconds"],
        "preStop": server["lifecycle"]["preStop"],
        "probe": server["readinessProbe"],
    }


def _compare_pods(bench: Bench, ours: Server, others: list[Server]) -> None:
    """Hold the references against ours: a server that does something else must not be compared."""
    for size, path in bench.reviews.items():
        review = path.read_bytes()
        expected = ours.patched(review)
        for other in others:
            found = other.patched(review)
            if found != expected:
                raise BenchmarkError(f"{other.name} makes another pod of the {size} review than drainhook.")


def _point_rows(point: Point, runs: dict[tuple[Point, str], list[Run]], ours: str) -> list[Figure]:
    """Give the CPU of each server, then the ratios of each pair. Goals belong to reviews of 8 KB."""
    size, concurrency = point
    name, has_goals = f"{size}, {concurrency} concurrent", size in ("8 KB", samples.DISTINCT)
    rows = []
    for (at, server), found in runs.items():
        if at == point:
            costs = [one.cpu_per_thousand for one in found]
            rows.append(figure("go", f"{name}: CPU, {server}", "s per 1,000", costs))
            rows.append(figure("go", f"{name}: p99, {server}", "ms", [one.p99_ms for one in found]))
    for server, goal in _RATIO_GOALS.items():
        pairs = list(zip(runs[point, ours], runs[point, server], strict=True))
        works = _ratios(pairs, lambda mine, theirs: theirs.cpu_per_thousand / mine.cpu_per_thousand)
        delays = _ratios(pairs, lambda mine, theirs: mine.p99_ms / theirs.p99_ms)
        delay_goal = goals.P99_BY_HAND if has_goals and server == BY_HAND else None
        rows.append(figure("go", f"{name}: work per CPU s, ours / {server}", "x", works, goal if has_goals else None))
        rows.append(figure("go", f"{name}: paired p99, ours / {server}", "x", delays, delay_goal))
    return rows


def _ratios(pairs: list[tuple[Run, Run]], ratio: Callable[[Run, Run], float]) -> list[float]:
    return [ratio(mine, theirs) for mine, theirs in pairs]
