"""`python -m tests.drainable [SERVER…]`: drain and SIGTERM under each real server, as a table.

Exit code 1 where work was lost, new work was taken, or a process did not end with 0.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.drainable.servers import APPS, SERVERS
from tests.drainable.story import REFUSALS, Outcome, drain, sigterm, table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the stories, print the table, give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.drainable", description=__doc__)
    parser.add_argument("servers", nargs="*", metavar="SERVER", help=f"of {', '.join(SERVERS)}; all without")
    parser.add_argument("--app", choices=APPS, action="append", help="repeatable; all without")
    options = parser.parse_args(arguments)
    if unknown := set(options.servers) - set(SERVERS):
        parser.error(f"{min(unknown)}: expected one of {', '.join(SERVERS)}")
    outcomes: list[Outcome] = []
    for name in options.servers or SERVERS:
        for app in options.app or APPS:
            for story in (drain, sigterm):
                with tempfile.TemporaryDirectory() as folder:
                    outcomes.append(story(SERVERS[name], app, Path(folder)))
                print(f"{name} {app} {outcomes[-1].ending}: {outcomes[-1].completed} completed", file=sys.stderr)
    print(table(outcomes))
    return int(any(map(is_bad, outcomes)))


def is_bad(outcome: Outcome) -> bool:
    """Say whether a promise was broken."""
    expected = REFUSALS + 1 if outcome.ending == "drain" else 0
    return bool(outcome.lost or outcome.exit_code or outcome.refused != expected)


if __name__ == "__main__":
    sys.exit(main())
