"""`python -m tests.fuzz`: generates pods, checks the laws in process and by dry runs on the cluster.

Exit code 1 where a law was broken or nothing was accepted, 2 where a part is missing, like the cluster: `--live 0`
leaves the dry runs out. Installs drainhook on the cluster where it is not, and removes it then.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tests.cluster.build import oracle
from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError
from tests.cluster.pins import KUBERNETES
from tests.cluster.places import Places
from tests.e2e.product import installed
from tests.fuzz import live
from tests.fuzz.chunks import run
from tests.fuzz.laws import Fault, Tally

FOLDER: Final = Path("build/fuzz")
MOST_SHOWN: Final = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the check and return its exit code."""
    options = _options(arguments)
    started = time.monotonic()
    for old in FOLDER.glob("*.json"):
        old.unlink()
    try:
        binary = oracle(Places.of())
        print(f"k8soracle was ready after {time.monotonic() - started:.1f} s; seed {options.seed}")
    except ClusterError as error:
        print(error)
        return 2
    began = time.monotonic()
    tally = run(binary, options.seed, options.count, options.jobs)
    code = _report(tally, "in-process", KUBERNETES, time.monotonic() - began)
    lived = dry_runs(options.seed, options.live) if options.live else 0
    return code or lived


def dry_runs(seed: str, most: int) -> int:
    """Check so many pods on the cluster and give the exit code."""
    try:
        cluster = Cluster.attach()
        with installed(cluster):
            began = time.monotonic()
            tally = live.run(cluster, seed, most)
    except ClusterError as error:
        print(f"Dry runs: not run: {error}")
        return 2
    return _report(tally, "live", cluster.version, time.monotonic() - began)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="how many pods (20000; the long form: 100000)")
    parser.add_argument("--seed", default="1", help="any text; the same one gives the same pods (1)")
    parser.add_argument("--jobs", type=int, help="processes (one per core)")
    parser.add_argument("--live", type=int, default=2_000, help="how many as dry runs on the cluster, 0: none (2000)")
    return parser.parse_args(arguments)


def _report(tally: Tally, way: str, version: str, seconds: float) -> int:
    """Print what was seen, write the faults, and give the exit code."""
    print(f"Kubernetes {version} {way}: {tally.seen} objects in {seconds:.1f} s")
    refused = ", ".join(f"{stage} {count}" for stage, count in tally.refusals.most_common())
    print(f"  accepted {tally.accepted}, refused {tally.seen - tally.accepted} ({refused or 'none'})")
    hooks = ", ".join(f"{kind} {count}" for kind, count in tally.hooks.most_common())
    print(f"  patched {tally.patched} (hook: {hooks or 'none'})")
    print(f"  left alone: {', '.join(f'{reason} {count}' for reason, count in tally.left.most_common()) or 'none'}")
    for number, fault in enumerate(tally.faults):
        _write(f"{way}-{fault.law}-{number}", fault, is_shown=number < MOST_SHOWN)
    print(f"  laws broken: {len(tally.faults)}" + (f", written to {FOLDER}/" if tally.faults else ""))
    if not tally.accepted or not tally.patched:
        print("  nothing was shown: no object was accepted and patched")
        return 1
    return 1 if tally.faults else 0


def _write(name: str, fault: Fault, *, is_shown: bool) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(asdict(fault), indent=1))
    if is_shown:
        print(f"  {path} ({fault.form}, Kubernetes {fault.kubernetes}): {fault.text[:300]}")


if __name__ == "__main__":
    sys.exit(main())
