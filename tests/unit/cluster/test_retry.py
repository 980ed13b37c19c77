"""Trying again: fast, then slow, and not for ever."""

from __future__ import annotations

import pytest

from webhook.cluster.client import ClusterError
from webhook.cluster.retry import persist


class Clock:
    """A clock that only moves when somebody pauses."""

    def __init__(self):
        """Begin at an odd time."""
        self.now = 1000.5
        self.pauses = []

    def read(self):
        """Tell the time."""
        return self.now

    def pause(self, seconds):
        """Let time go by."""
        self.pauses.append(seconds)
        self.now += seconds


def failing(times):
    """Return an action that fails so often, then gives its count."""
    count = iter(range(1000))

    def action():
        number = next(count)
        if number < times:
            raise ClusterError(f"not yet {number}")
        return number

    return action


def test_the_first_success_is_returned_at_once():
    clock = Clock()
    assert persist(failing(0), 0, clock=clock.read, pause=clock.pause) == 0
    assert clock.pauses == []


def test_pauses_are_short_first_and_longer_then():
    clock = Clock()
    assert persist(failing(7), 60, clock=clock.read, pause=clock.pause) == 7
    assert clock.pauses == [0.2] * 5 + [2.0] * 2


def test_the_last_refusal_is_raised_within_the_time():
    clock = Clock()
    with pytest.raises(ClusterError, match="not yet 7"):
        persist(failing(1000), 6, clock=clock.read, pause=clock.pause)
    assert clock.now <= 1006.5
