"""The hook's record in a termination message: read back exactly, or not at all."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.unit.observe.objects import HOOK, message
from webhook.observe.hook import ENDS, HookRecord, hook_record

SCRIPT = (Path(__file__).parents[3] / "drain_scripts/drain.sh").read_text()
WHOLE = HookRecord("idle", 14, 4, 0, 0, 10, 3.36)


def test_the_record_of_the_script_is_read():
    """The last line of its last run counts; the engine may have written before it."""
    assert hook_record(message()) == WHOLE
    assert hook_record(message(seconds=1) + message()) == WHOLE
    assert hook_record('cut":1,"end":"idle"}\n' + json.dumps(HOOK, separators=(",", ":"))) == WHOLE


def test_what_the_hook_could_not_know_is_none():
    found = hook_record(message(inflight_start=None, inflight_end=None, connections_end=None, last_busy=None))
    assert found == HookRecord("idle", 14, None, None, None, 10, None)


def test_a_key_of_a_later_hook_is_passed_over():
    assert hook_record(message(colour="blue")) == WHOLE


@pytest.mark.parametrize(
    "text",
    [
        None, 7, "", "{}", "Killed", '{"drainhook":1,', '{"drainhook":1,"end":"idle"}', '{"drainhook":2}',
        message(seconds=None), message(settle=None), message(seconds="14"), message(inflight_end=-1),
        message(inflight_end=True), message(inflight_end=float("nan")), message(end="bored"), message(end=["idle"]),
        '{"drainhook":1,' + '"a":[' * 100_000,
    ],
)  # fmt: skip
def test_anything_else_is_no_record(text):
    """Whoever can write the file can write anything."""
    assert hook_record(text) is None


@pytest.mark.parametrize(("end", "expected"), [("idle", 0), ("deadline", 3), ("signal", None)])
def test_what_was_in_flight_at_sigterm_is_known_where_the_hook_ended_before_it(end, expected):
    found = hook_record(message(end=end, inflight_end=expected or 0))
    assert found.inflight_at_sigterm == expected


def test_the_ends_are_those_of_the_script():
    """A new word there must be known here."""
    given = re.findall(r"finish ([a-z_]+) ", SCRIPT) + re.findall(r"cause=([a-z_]+)", SCRIPT)
    assert set(given) == set(ENDS)
    assert set(re.findall(r'\\"([a-z_]+)\\":', SCRIPT)) == set(HOOK)
