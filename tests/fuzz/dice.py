"""Chance with a seed: the same seed gives the same pods on every machine. Knows nothing about pods."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Dice(random.Random):
    """A seeded source of choices."""

    def often(self) -> bool:
        """Give true in two of three cases."""
        return self.random() < 2 / 3

    def rarely(self, one_in: int = 8) -> bool:
        """Give true in one of so many cases."""
        return self.randrange(one_in) == 0

    def pick(self, *items: Any) -> Any:
        """Give one of the items."""
        return self.choice(items)

    def some(self, items: Sequence[Any], most: int) -> list[Any]:
        """Give up to so many of the items, in their order, each once."""
        chosen = set(self.sample(range(len(items)), self.randint(0, min(most, len(items)))))
        return [item for index, item in enumerate(items) if index in chosen]

    def fields(self, choices: Mapping[str, Callable[[], Any]], one_in: int) -> dict[str, Any]:
        """Give each field with that chance, made by its function."""
        return {name: make() for name, make in choices.items() if self.rarely(one_in)}
