"""What every part of the benchmark is given: where files go, which client loads, how often and how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is measured. `seconds` is the length of one round of load."""

    rounds: int
    seconds: float
    flat_requests: int
    manifests: int
    commands: int
    hooks: int


FULL: Final = Amounts(rounds=5, seconds=2.0, flat_requests=100_000, manifests=10_000, commands=15, hooks=12)
QUICK: Final = Amounts(rounds=2, seconds=0.5, flat_requests=5_000, manifests=300, commands=4, hooks=4)


@dataclass(frozen=True, slots=True)
class Bench:
    """One run of the benchmark."""

    folder: Path
    client: Sequence[str]
    reviews: dict[str, Path]
    amounts: Amounts
