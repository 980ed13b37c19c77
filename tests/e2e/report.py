"""Results of the stories as files below build/e2e: result.json (rows), timeline-….json (records of ended pods)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.pins import ROOT

FOLDER = ROOT / "build/e2e"
_COLUMNS = ("sent", "reused", "completed", "refused", "lost")


@dataclass(slots=True)
class Report:
    """Rows and time lines of one run."""

    folder: Path = FOLDER
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, story: str, counts: Mapping[str, Mapping[str, Any]], *, drainhook: bool, expected_loss: str) -> None:
        """Add one row per client and write all rows; `expected_loss` says why, empty where none is promised."""
        for client, count in counts.items():
            row = {"story": story, "client": client, "with_drainhook": drainhook, **count}
            self.rows.append({**row, "expected_loss": expected_loss or None})
        self._write("result.json", self.rows)

    def add_timeline(self, story: str, records: Sequence[Mapping[str, Any]]) -> None:
        """Write the time lines of a story's pods."""
        self._write(f"timeline-{story}.json", records)

    def table(self) -> str:
        """Give the rows as the table that documents show."""
        lines = [f"{'story':<18} {'client':<6} {'hook':<5} " + " ".join(f"{name:>9}" for name in _COLUMNS)]
        for row in self.rows:
            figures = " ".join(f"{row[name]:>9}" for name in _COLUMNS)
            lines.append(f"{row['story']:<18} {row['client']:<6} {_yes(on=row['with_drainhook']):<5} {figures}")
        return "\n".join(lines)

    def _write(self, name: str, content: object) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(json.dumps(content, indent=1) + "\n")


def _yes(*, on: bool) -> str:
    return "yes" if on else "no"
