"""The report writes rows and time lines of each story, and tells when a run shows nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.report import Report, proves_nothing, summary_table, table
from tests.e2e.stories import STORIES
from tests.e2e.story import Told


def told(lost: int) -> Told:
    count: dict[str, Any] = {"sent": 5, "reused": 1, "completed": 5 - lost, "refused": 0, "lost": lost, "why": {}}
    return Told(dict.fromkeys(("new", "pool"), count), [{"pod": "app-1"}])


def test_rows_of_all_stories_become_one_file(tmp_path: Path) -> None:
    report = Report(tmp_path)
    for name in ("pod-delete", "grace-cut"):
        report.add(STORIES[name], {"with": told(0), "without": told(2)})
    rows = report.merge()
    assert rows == json.loads((tmp_path / "result.json").read_text())
    assert [row["story"] for row in rows] == ["grace-cut"] * 4 + ["pod-delete"] * 4
    assert [row["expected_loss"] is None for row in rows[4:]] == [True, True, False, False]
    assert all(row["expected_loss"] for row in rows[:4])
    assert report.ended() == 4
    assert len(table(rows).splitlines()) == 9
    assert "| `pod-delete` | 1 + 1 | 0 of 10 | 4 of 10 | lost 0 |" in summary_table(rows)
    report.clear()
    assert report.merge() == []


def test_a_run_shows_nothing_where_the_other_side_loses_nothing(tmp_path: Path) -> None:
    report = Report(tmp_path)
    for name in ("pod-delete", "eviction", "scale-down", "own-hook-kept"):
        report.add(STORIES[name], {"with": told(0), "without": told(name != "eviction")})
    assert "eviction" in proves_nothing(report.merge())
    report.add(STORIES["rollout-restart"], {"with": told(0), "without": told(1)})
    assert proves_nothing(report.merge()) == ""
