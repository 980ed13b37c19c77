"""A figure: what was measured, its samples, and the goal beside it. Nothing is measured or printed here."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.goals import Goal


class BenchmarkError(Exception):
    """Something could not be measured; the message is a plain sentence."""


class MissingError(BenchmarkError):
    """A tool that a part needs is not installed: the part is left out, and that is no failure."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table: the median of the samples counts, their range tells how far to trust it."""

    part: str
    name: str
    unit: str
    samples: tuple[float, ...]
    goal: Goal | None = None

    @property
    def median(self) -> float:
        """The middle sample."""
        return statistics.median(self.samples)

    @property
    def mark(self) -> str:
        """What of its goal the median reaches; empty where there is no goal."""
        return self.goal.mark(self.median) if self.goal else ""

    def record(self) -> dict[str, Any]:
        """Give the figure as JSON values."""
        goal = {} if self.goal is None else {"floor": self.goal.floor, "aim": self.goal.aim, "mark": self.mark}
        return {
            "part": self.part,
            "name": self.name,
            "unit": self.unit,
            "median": self.median,
            "min": min(self.samples),
            "max": max(self.samples),
            "samples": list(self.samples),
            **goal,
        }


def figure(part: str, name: str, unit: str, samples: Iterable[float], goal: Goal | None = None) -> Figure:
    """Make a figure of any row of samples. Raises BenchmarkError when there are none."""
    values = tuple(samples)
    if not values:
        raise BenchmarkError(f"{part}: nothing was measured for {name}.")
    return Figure(part, name, unit, values, goal)
