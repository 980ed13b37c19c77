"""Every goal of speed and memory, as data: the floor that must hold, and the aim.

The only place where these numbers stand. Nothing is measured here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Goal:
    """A floor and an aim; `is_more_better` says in which direction a value must lie of them."""

    floor: float
    aim: float
    is_more_better: bool = False

    def mark(self, value: float) -> str:
        """Say which of the two a value reaches."""
        sign = 1 if self.is_more_better else -1
        if sign * value >= sign * self.aim:
            return "aim reached"
        return "floor held" if sign * value >= sign * self.floor else "FLOOR MISSED"


RATIO_USUAL: Final = Goal(3.0, 6.0, is_more_better=True)
RATIO_BY_HAND: Final = Goal(1.3, 2.5, is_more_better=True)
P99_BY_HAND: Final = Goal(1.0, 0.6)
FIRST_ANSWER_SECONDS: Final = Goal(0.8, 0.6)
IDLE_MIB: Final = Goal(64, 56)
BUSY_MIB: Final = Goal(96, 80)
GROWTH_MIB: Final = Goal(4, 1)  # "flat" after 100,000 reviews
DOCUMENTS_PER_SECOND: Final = Goal(700, 1500, is_more_better=True)
COMMAND_MILLISECONDS: Final = Goal(150, 90)
HOOK_CLOSED_SECONDS: Final = Goal(1.5, 1.5)
HOOK_OPEN_MORE_SECONDS: Final = 1.5  # on top of the profile's idle window
