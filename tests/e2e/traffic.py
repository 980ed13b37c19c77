"""Load on Services while a story runs, and the count of what became of its requests."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, Self

from tests.cluster.cluster import Cluster
from tests.cluster.pins import ROOT
from tests.e2e.lines import Lines
from tests.e2e.load import Lane

FATES: Final = ("completed", "refused", "lost")
_BURST_SECONDS: Final = 180  # a stream may take long on a busy machine

Count = Mapping[str, Any]  # sent, reused, a figure per fate, and why


class Traffic:
    """Streams of several lanes; `with` starts and ends them."""

    def __init__(self, cluster: Cluster, lanes: Sequence[Lane]) -> None:
        """Remember whom to ask."""
        words = [sys.executable, "-m", "tests.e2e.load", json.dumps([asdict(lane) for lane in lanes])]
        self._command = [*cluster.inside, *words]
        self._lanes = lanes
        self._seen = 0  # lines that `_events` has read
        self._events: list[dict[str, Any]] = []
        self._lines: Lines

    def __enter__(self) -> Self:
        """Start the load."""
        self._lines = Lines(self._command, {**os.environ, "PYTHONPATH": str(ROOT)})
        return self

    def __exit__(self, *error: object) -> None:
        """End the load if `finish` was not reached."""
        self._lines.__exit__(*error)

    def wait_for_streams(self) -> None:
        """Return in the middle of a new burst: every bursting lane streams, or each lane where none is bursting."""
        last = max((event["burst"] for event in self._read()), default=0)
        lanes = [lane for lane in self._lanes if lane.bursts] or self._lanes

        def under_way(_seen: object) -> bool:
            return all(self._under_way(lane, last) for lane in lanes)

        self._lines.wait_for(under_way, "streams of all clients", _BURST_SECONDS)

    def finish(self) -> dict[str, Count]:
        """Stop sending, wait for the last answer, and give the count of each lane."""
        code = self._lines.close_input(_BURST_SECONDS)
        assert code == 0, f"the load client ended with {code}"
        return {lane.name: self._count(lane) for lane in self._lanes}

    def _under_way(self, lane: Lane, last: int) -> bool:
        events = [event for event in self._read() if event["lane"] == lane.name]
        fresh = [event for event in events if event["burst"] > last or not lane.bursts]
        return sum(1 if event["event"] == "streaming" else -event["streamed"] for event in fresh) > 0

    def _count(self, lane: Lane) -> Count:
        ended = [event for event in self._read() if event["lane"] == lane.name and event["event"] == "ended"]
        assert ended, f"no request was sent by {lane.name}: the story shows nothing"
        fates = Counter(event["name"] for event in ended)
        why = Counter(event["why"] for event in ended if event["why"])
        reused = sum(event["reused"] for event in ended)
        return {"sent": len(ended), "reused": reused, **{fate: fates[fate] for fate in FATES}, "why": dict(why)}

    def _read(self) -> list[dict[str, Any]]:
        """Give all events so far; a line is read once."""
        fresh = self._lines.seen[self._seen :]
        self._seen += len(fresh)
        self._events += [json.loads(line) for _, line in fresh]
        return self._events
