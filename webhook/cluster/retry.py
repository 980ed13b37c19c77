"""Trying again: quickly at first, then slowly, until a time is over. What is tried is not known here."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from webhook.cluster.client import ClusterError

FAST_SECONDS: Final = 0.2
SLOW_SECONDS: Final = 2.0
FAST_TRIES: Final = 5

Value = TypeVar("Value")


def persist(
    action: Callable[[], Value],
    seconds: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Value:
    """Return what the action returns once it raises no ClusterError; after the seconds its last one is raised.

    Each refusal may be for a moment only: objects of the same `kubectl apply` come one after the other.
    """
    end = clock() + seconds
    tries = 0
    while True:
        try:
            return action()
        except ClusterError:
            tries += 1
            wait = FAST_SECONDS if tries <= FAST_TRIES else SLOW_SECONDS
            if clock() + wait > end:
                raise
        pause(wait)
