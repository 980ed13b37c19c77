"""Results of the stories as files below build/e2e: result.json (rows), timeline-….json (records of ended pods).

Stories are told by several processes, so each writes rows of its own; `merge` makes one file of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.cluster.pins import ROOT
from tests.e2e.disruptions import WITH
from tests.e2e.story import Story, Told

FOLDER: Final = ROOT / "build/e2e"
_FIGURES: Final = ("sent", "reused", "completed", "refused", "lost")
_TOTALS: Final = ("ended", "sent", "refused", "lost")
_PLAIN: Final = "no hook: SIGTERM cuts the streams"
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """The files of one run."""

    folder: Path = FOLDER

    def add(self, story: Story, told: Mapping[str, Told]) -> None:
        """Write a story: a row per side and client, a record per ended pod."""
        rows = [row for side, one in told.items() for row in _rows(story, side, one)]
        records = [{"with_drainhook": side == WITH, **one} for side in told for one in told[side].records]
        self._write(f"rows-{story.name}.json", rows)
        self._write(f"timeline-{story.name}.json", records)

    def merge(self) -> list[Row]:
        """Make result.json of the rows of all stories, and give them."""
        parts = sorted(self.folder.glob("rows-*.json"))
        rows = [row for part in parts for row in json.loads(part.read_text())]
        self._write("result.json", rows)
        return rows

    def ended(self) -> int:
        """Give how many pods and servers ended under load."""
        return sum(len(json.loads(part.read_text())) for part in self.folder.glob("timeline-*.json"))

    def clear(self) -> None:
        """Remove what an earlier run wrote."""
        for old in self.folder.glob("*.json"):
            old.unlink()

    def _write(self, name: str, content: object) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(json.dumps(content, indent=1) + "\n")


def table(rows: Iterable[Row]) -> str:
    """Give the rows as the table that documents show."""
    lines = [
        f"{'story':<18} {'client':<6} {'hook':<5} " + " ".join(f"{name:>9}" for name in _FIGURES) + "  expected loss"
    ]
    for row in rows:
        figures = " ".join(f"{row[name]:>9}" for name in _FIGURES)
        hook = "yes" if row["with_drainhook"] else "no"
        why = row["expected_loss"] if row["with_drainhook"] and row["expected_loss"] else ""
        lines.append(f"{row['story']:<18} {row['client']:<6} {hook:<5} {figures}  {why}".rstrip())
    return "\n".join(lines)


def proves_nothing(rows: Iterable[Row]) -> str:
    """Give a sentence where too many Deployments without the label lost no request, empty where the stories show it."""
    lost: dict[str, int] = {}
    for row in rows:
        if row["cuts"] and not row["with_drainhook"]:
            lost[row["story"]] = lost.get(row["story"], 0) + row["lost"]
    idle = [story for story, count in lost.items() if not count]
    if len(idle) * 4 <= len(lost):
        return ""
    return f"without the label too, nothing was lost in {', '.join(idle)}: too few streams were under way"


def _rows(story: Story, side: str, told: Told) -> Iterable[Row]:
    protected = side == WITH
    plain = _PLAIN if story.cuts else ""
    for client, count in told.counts.items():
        why = story.expected_loss if protected else plain
        yield {
            "story": story.name,
            "client": client,
            "with_drainhook": protected,
            "cuts": story.cuts,
            "ended": len(told.records),
            **count,
            "expected_loss": why or None,
        }


def summary_table(rows: Iterable[Row]) -> str:
    """Give the short table of the documents in Markdown: a line per story, all clients added, both sides."""
    totals: dict[str, dict[bool, dict[str, int]]] = {}
    reasons: dict[str, str] = {}
    for row in rows:
        side = totals.setdefault(row["story"], {}).setdefault(row["with_drainhook"], dict.fromkeys(_TOTALS, 0))
        for name in _TOTALS[1:]:
            side[name] += row[name]
        side["ended"] = row["ended"]
        if row["with_drainhook"]:
            reasons[row["story"]] = row["expected_loss"] or ""
    lines = ["| disruption | pods ended | lost with the label | lost without it | promise |", "|---|---|---|---|---|"]
    for story, sides in totals.items():
        cells = [_cell(sides[True]), _cell(sides[False]), reasons[story] or "lost 0"]
        lines.append(f"| `{story}` | {sides[True]['ended']} + {sides[False]['ended']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(side: Mapping[str, int]) -> str:
    refused = f", {side['refused']} refused" if side["refused"] else ""
    return f"{side['lost']} of {side['sent']}{refused}"
