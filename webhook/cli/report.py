"""A validation: what was checked, what was found, and whether that fails the run. `reporttext` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from webhook.cli.documents import Placed
from webhook.core.decision import Level


@dataclass(frozen=True, slots=True)
class Checked:
    """One document that was looked at, and its findings."""

    file: str
    index: int
    subject: str
    findings: tuple[Placed, ...]


@dataclass(slots=True)
class Report:
    """A whole run."""

    checked: list[Checked] = field(default_factory=list)
    fail_on_warning: bool = False
    noun: str = "documents"

    @property
    def findings(self) -> Iterator[Placed]:
        """Yield all findings in the order of the input."""
        for checked in self.checked:
            yield from checked.findings

    @property
    def has_failed(self) -> bool:
        """Say whether any finding is bad enough to fail the run."""
        return any(self.fails(placed) for placed in self.findings)

    def fails(self, placed: Placed) -> bool:
        """Say whether a finding fails the run."""
        return placed.is_error or self.fail_on_warning

    def count(self, level: Level) -> int:
        """Count the findings of a level."""
        return sum(placed.finding.level is level for placed in self.findings)
