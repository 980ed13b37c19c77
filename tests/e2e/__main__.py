"""`python -m tests.e2e`: installs drainhook, tells all stories, some at a time, and prints what became of all requests.

Stories of the whole node or of the webhook run alone, at the end. Exit code 1 where one failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Final

from tests.cluster import vllm
from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError
from tests.cluster.pins import ROOT
from tests.e2e import product
from tests.e2e.report import FOLDER, Report, Row, proves_nothing, summary_table, table

_PYTEST: Final = [sys.executable, "-m", "pytest", "tests/e2e", "-q", "-p", "no:cacheprovider"]
_NO_TEST: Final = 5  # pytest's code where none was selected


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell the stories and return the exit code."""
    options = _options(arguments)
    report = Report()
    began = time.monotonic()
    failures = []
    try:
        report.clear()
        cluster = Cluster.attach()
        if options.engine:
            vllm.prepare(cluster)
        with product.installed(cluster):
            failures += ["a story failed, or none was told"] if _tell(options) else []
    except ClusterError as error:
        failures.append(str(error))
        if not report.ended():
            print(error, file=sys.stderr)
            return 2
    rows = report.merge()
    failures += _shown(report, rows, (time.monotonic() - began) / 60)
    failures += _too_little(options, rows, report.ended())
    print("\n".join(failures))
    return 1 if failures else 0


def _shown(report: Report, rows: Sequence[Row], minutes: float) -> list[str]:
    """Print what came out and give what the stories do not show."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "summary.md").write_text(summary_table(rows) + "\n")
    print("\n" + table(rows))
    print(f"\n{_totals(rows)}, {report.ended()} endings under load in {minutes:.1f} min")
    print(f"rows: {(FOLDER / 'result.json').relative_to(ROOT)}; beside it time lines, and a short table in summary.md")
    return [nothing] if (nothing := proves_nothing(rows)) else []


def _too_little(options: argparse.Namespace, rows: Iterable[Row], ended: int) -> list[str]:
    sent = sum(row["sent"] for row in rows)
    if sent >= options.requests and ended >= options.endings:
        return []
    return [f"at least {options.requests} requests and {options.endings} endings were wanted, not {sent} and {ended}"]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each disruption is repeated (3)")
    parser.add_argument("--short", action="store_true", help="leave out what is only for the long forms")
    parser.add_argument("--jobs", type=int, default=2, help="stories at a time, two namespaces each (2)")
    parser.add_argument("--requests", type=int, default=1, help="fail where fewer were sent in all (1)")
    parser.add_argument("--endings", type=int, default=1, help="fail where fewer pods and servers ended in all (1)")
    parser.add_argument("--engine", choices=["vllm"], help="the story of this engine only; it is made ready first")
    parser.add_argument("-k", default="", help="only the stories that match, as for pytest")
    return parser.parse_args(arguments)


def _tell(options: argparse.Namespace) -> bool:
    """Run pytest for those that may run together, then for the others; say whether any failed or none was told."""
    words = [*_PYTEST, f"--rounds={options.rounds}", *["--short"] * options.short, *["-k", options.k] * bool(options.k)]
    together = ["-n", str(options.jobs), "--dist=load", "--maxschedchunk=1", "-m", "e2e and not alone and not vllm"]
    runs = [["-m", options.engine]] if options.engine else [together, ["-m", "alone"]]
    codes = [subprocess.run([*words, *more], cwd=ROOT, check=False).returncode for more in runs]
    return any(code not in (0, _NO_TEST) for code in codes) or set(codes) == {_NO_TEST}


def _totals(rows: Iterable[Row]) -> str:
    sent = sum(row["sent"] for row in rows)
    lost = sum(row["lost"] for row in rows if row["with_drainhook"] and not row["expected_loss"])
    plain = sum(row["lost"] for row in rows if not row["with_drainhook"])
    return f"{sent} requests; lost with drainhook where it promises none: {lost}; without drainhook: {plain}"


if __name__ == "__main__":
    sys.exit(main())
