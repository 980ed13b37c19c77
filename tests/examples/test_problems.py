"""The page of common problems: each has a cause, a remedy, and a test or a case of this repository that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.checks.links import broken
from tests.e2e.stories import STORIES

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split(" | ")]
    for line in (ROOT / "docs/problems.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith(("| problem", "|---"))
]


def shown_by(row):
    """Give what the last cell names: tests with their whole file name, cases, stories."""
    file, found = "", []
    for name in re.findall(r"`([^`]+)`", row[3]):
        before, mark, test = name.partition("::")
        file = before or file
        found.append(f"{file}::{test}" if mark else name)
    return found


def exists(name):
    """Say whether a test, a case or a story of this name is there."""
    file, mark, test = name.partition("::")
    if mark:
        return (ROOT / file).is_file() and re.search(
            rf"^(async )?def {test}\(", (ROOT / file).read_text(), re.MULTILINE
        ) is not None
    return name in STORIES or (ROOT / "tests/conformance/cases" / name / "expected.yaml").is_file()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_problem_is_shown_by_something_that_exists(row):
    """Four cells, none empty; every name leads somewhere."""
    assert (len(row), [cell for cell in row if not cell]) == (4, [])
    names = shown_by(row)
    assert names
    assert [name for name in names if not exists(name)] == []


def test_a_name_that_leads_nowhere_is_noticed():
    """The check above can fail."""
    assert not exists("tests/drain/test_defects.py::test_nothing")
    assert not exists("budget/nothing")
    assert len(ROWS) >= 25


@pytest.mark.parametrize("folder", ["llm-server", "llmaz"])
def test_links_of_the_examples_lead_somewhere(folder):
    """`make links` looks at the documentation only."""
    assert list(broken(ROOT / "examples" / folder / "README.md")) == []
