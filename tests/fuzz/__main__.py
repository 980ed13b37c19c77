"""`python -m tests.fuzz`: generates pods, checks the laws, prints what was seen; `--live`: by the real webhook too.

Exit code 1 where a law was broken or nothing was accepted, 2 where a part is missing.
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
from tests.fuzz import live
from tests.fuzz.chunks import run
from tests.fuzz.laws import Fault, Tally

FOLDER: Final = Path("build/fuzz")
MOST_SHOWN: Final = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the check and return its exit code."""
    options = _options(arguments)
    started = time.monotonic()
    try:
        binary = oracle(Places.of())
        built = time.monotonic()
        tally = run(binary, options.seed, options.count, options.jobs)
        code = _report(tally, f"Kubernetes {KUBERNETES} in process, seed {options.seed}", time.monotonic() - built)
        print(f"  k8soracle was ready after {built - started:.1f} s")
        if options.live:
            cluster, began = Cluster.attach(), time.monotonic()
            tally = live.run(cluster, options.seed, options.live)
            code |= _report(tally, f"Kubernetes {cluster.version} by dry runs", time.monotonic() - began)
    except ClusterError as error:
        print(error)
        return 2
    return code


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="how many pods (20000; the long form: 100000)")
    parser.add_argument("--seed", default="1", help="any text; the same one gives the same pods (1)")
    parser.add_argument("--jobs", type=int, help="processes (one per core)")
    parser.add_argument("--live", type=int, nargs="?", const=2_000, help="also so many on the running cluster (2000)")
    return parser.parse_args(arguments)


def _report(tally: Tally, title: str, seconds: float) -> int:
    """Print what was seen, write the faults, and give the exit code."""
    print(f"{title}: {tally.seen} objects in {seconds:.1f} s")
    refused = ", ".join(f"{stage} {count}" for stage, count in tally.refusals.most_common())
    print(f"  accepted {tally.accepted}, refused {tally.seen - tally.accepted} ({refused or 'none'})")
    hooks = ", ".join(f"{kind} {count}" for kind, count in tally.hooks.most_common())
    print(f"  patched {tally.patched} (hook: {hooks or 'none'})")
    print(f"  left alone: {', '.join(f'{reason} {count}' for reason, count in tally.left.most_common()) or 'none'}")
    for number, fault in enumerate(tally.faults):
        _write(number, fault)
    print(f"  laws broken: {len(tally.faults)}" + (f", written to {FOLDER}/" if tally.faults else ""))
    if not tally.accepted or not tally.patched:
        print("  nothing was shown: no object was accepted and patched")
        return 1
    return 1 if tally.faults else 0


def _write(number: int, fault: Fault) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{fault.law}-{number}.json"
    path.write_text(json.dumps(asdict(fault), indent=1))
    if number < MOST_SHOWN:
        print(f"  {path} ({fault.form}, Kubernetes {fault.kubernetes}): {fault.text[:300]}")


if __name__ == "__main__":
    sys.exit(main())
