"""`python -m tests.checks.links`: every relative link in the documentation leads to a file of the repository.

Addresses on the network are not fetched.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:|#")


def pages() -> list[Path]:
    """List the pages of documentation."""
    return [path for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md") for path in sorted(ROOT.glob(pattern))]


def broken(page: Path) -> Iterator[str]:
    """Give each link of the page whose file is not there."""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        for target in _LINK.findall(line):
            if not _ELSEWHERE.match(target) and not (page.parent / target.partition("#")[0]).exists():
                yield f"{page.relative_to(ROOT)}:{number}: {target}"


def main() -> int:
    """Print every broken link and return 1 if there is one."""
    faults = [fault for page in pages() for fault in broken(page)]
    print("\n".join([*faults, f"links: {len(pages())} pages, {len(faults)} broken"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
