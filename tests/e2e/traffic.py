"""Load on a Service while a story runs, and the count of what became of its requests."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from typing import Any, Self

from tests.cluster.cluster import Cluster
from tests.cluster.pins import ROOT
from tests.e2e.lines import Lines
from tests.e2e.load import WORKERS

CLIENTS = ("new", "pool")
FATES = ("completed", "refused", "lost")


class Traffic:
    """Streams through a Service; `with` starts and ends them."""

    def __init__(self, cluster: Cluster, address: str, seconds: float) -> None:
        """Remember whom to ask; `seconds` is how long one stream takes on an idle server."""
        words = [sys.executable, "-m", "tests.e2e.load", address, str(seconds)]
        self._command = [*cluster.inside, *words]
        self._lines: Lines | None = None

    def __enter__(self) -> Self:
        """Start the load."""
        self._lines = Lines(self._command, {**os.environ, "PYTHONPATH": str(ROOT)})
        return self

    def __exit__(self, *error: object) -> None:
        """End the load if `finish` was not reached."""
        if self._lines is not None:
            self._lines.__exit__(*error)

    def events(self, name: str, client: str) -> list[dict[str, Any]]:
        """Give the lines of one kind so far."""
        assert self._lines is not None
        said = [json.loads(line) for _, line in list(self._lines.seen)]
        return [event for event in said if event["event"] == name and event["client"] == client]

    def wait_for_streams(self, bursts: int = 1, seconds: float = 90) -> None:
        """Return while streams of both clients are under way: in the middle of a burst of the pool."""
        assert self._lines is not None
        wanted = WORKERS * (2 * bursts - 1)  # two requests of each worker in a burst: the last burst's first ones

        def in_burst(_seen: object) -> bool:
            return len(self.events("streaming", "pool")) >= wanted and len(self.events("ended", "new")) >= WORKERS

        self._lines.wait_for(in_burst, "streams of both clients", seconds)

    def finish(self, seconds: float = 100) -> dict[str, dict[str, Any]]:
        """Stop sending, wait for the last answer, and give per client the counts and why requests failed."""
        assert self._lines is not None
        code = self._lines.close_input(seconds)
        assert code == 0, f"the load client ended with {code}"
        return {client: self._count(client) for client in CLIENTS}

    def _count(self, client: str) -> dict[str, Any]:
        ended = self.events("ended", client)
        assert ended, f"no request was sent by {client}: the story shows nothing"
        fates = Counter(event["fate"] for event in ended)
        why = Counter(event["why"] for event in ended if event["why"])
        reused = sum(event["reused"] for event in ended)
        return {"sent": len(ended), **{fate: fates[fate] for fate in FATES}, "reused": reused, "why": dict(why)}
