"""The statistics: two rows of samples, taken in pairs, become figures beside their goals. Nothing is measured here.

| figure         | is                                                         |
|----------------|------------------------------------------------------------|
| added median   | median with the webhooks minus median without              |
| paired median  | median of the differences within the pairs                 |
| added p99      | p99 with the webhooks minus p99 without                    |
| paired p99     | p99 of the differences within the pairs                    |
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

WITH, WITHOUT = "with the webhooks", "without"
MEDIAN_GOAL_MS: Final = 5.0
P99_GOAL_MS: Final = 25.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured, in milliseconds."""

    pairs: int
    median_with: float
    median_without: float
    p99_with: float
    p99_without: float
    added_mean: float
    paired_median: float
    paired_p99: float

    @property
    def added_median(self) -> float:
        """What a create takes longer in the middle."""
        return self.median_with - self.median_without

    @property
    def added_p99(self) -> float:
        """What a create takes longer at the 99th percentile."""
        return self.p99_with - self.p99_without


def order(pairs: int) -> Iterator[str]:
    """Give the kinds of the creates: with, without, without, with, so that a drift falls on both alike."""
    for number in range(pairs):
        yield from (WITH, WITHOUT) if number % 2 == 0 else (WITHOUT, WITH)


def figures(with_webhooks: Sequence[float], without: Sequence[float]) -> Figures:
    """Make the figures of samples in milliseconds; the n-th of both are a pair. Raises ValueError where none are."""
    if not with_webhooks:
        raise ValueError("nothing was measured")
    differences = [one - other for one, other in zip(with_webhooks, without, strict=True)]
    return Figures(
        pairs=len(differences),
        median_with=statistics.median(with_webhooks),
        median_without=statistics.median(without),
        p99_with=percentile(with_webhooks, 99),
        p99_without=percentile(without, 99),
        added_mean=statistics.mean(differences),
        paired_median=statistics.median(differences),
        paired_p99=percentile(differences, 99),
    )


def percentile(samples: Sequence[float], percent: float) -> float:
    """Give the smallest sample that so many percent of all do not exceed (nearest rank)."""
    ranked = sorted(samples)
    return ranked[max(math.ceil(len(ranked) * percent / 100), 1) - 1]


def mark(value: float, goal: float) -> str:
    """Say whether a value reaches its goal."""
    return "met" if value <= goal else "missed"


def table(found: Figures) -> str:
    """Write the figures for a terminal."""
    rows = (
        ("median", found.median_with, found.median_without, found.added_median, MEDIAN_GOAL_MS),
        ("p99", found.p99_with, found.p99_without, found.added_p99, P99_GOAL_MS),
    )
    lines = [f"{'ms':<8}{WITH:>18}{WITHOUT:>10}{'added':>9}{'goal':>9}"]
    for name, one, other, added, goal in rows:
        lines.append(f"{name:<8}{one:>18.2f}{other:>10.2f}{added:>9.2f}{f'<= {goal:g}':>9}  {mark(added, goal)}")
    lines.append(f"differences within the pairs: median {found.paired_median:.2f}, p99 {found.paired_p99:.2f}")
    return "\n".join(lines)
