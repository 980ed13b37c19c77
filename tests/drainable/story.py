"""A drain and a SIGTERM with work in flight, told with figures: what a soak or a table needs."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.drainable.servers import Running, Server
from tests.drainable.streams import Stream, on_every_worker

REFUSALS: Final = 12  # new requests while it drains, on connections of their own: enough to meet every worker


@dataclass(frozen=True)
class Outcome:
    """What became of the work, and how the process ended."""

    server: str
    app: str
    ending: str
    completed: int
    refused: int
    lost: int
    exit_code: int
    drain_ms: float  # from the last byte of the last stream to the drain's answer, as its client saw both
    lines: Sequence[str]


def drain(server: Server, app: str, folder: Path) -> Outcome:
    """Drain it with streams open, see new work refused, let the streams end, then send SIGTERM."""
    with Running(server, app, folder) as running:
        running.ready()
        streams = on_every_worker(running)
        assert running.metric("inflight_requests") == len(streams)
        answered: list[tuple[float, int, str]] = []

        def ask() -> None:
            status, text = running.get("/drain?settle=0&wait=80")
            answered.append((time.monotonic(), status, text))

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        running.said("new work is refused")
        refused = sum(running.get("/pid")[0] == 503 for _ in range(REFUSALS))
        refused += Stream(running, "/socket").ended().status in {403, 503}  # 403: a close before the handshake
        assert (running.get("/readyz")[0], running.get("/healthz")[0]) == (503, 200)
        assert running.metric("requests_rejected_draining_total") == refused
        assert running.metric("inflight_requests") == len(streams)
        assert answered == []
        running.open_gate()
        asking.join(90)
        assert [answer[1:] for answer in answered] == [(200, "idle, in flight 0\n")]
        running.terminate()
        outcome = _outcome(running, app, streams)
        after = 1000 * (answered[0][0] - max(stream.ended_at for stream in streams))
        return replace(outcome, ending="drain", refused=refused, drain_ms=round(after, 1))


def sigterm(server: Server, app: str, folder: Path) -> Outcome:
    """Send SIGTERM alone, with streams open, and a websocket where the server lets it end."""
    with Running(server, app, folder) as running:
        running.ready()
        streams = on_every_worker(running, websocket=server.keeps_websockets)
        running.terminate()
        if server.is_told:
            running.said("SIGTERM: in flight", server.workers)
        time.sleep(0.5)  # servers look for the order ten times a second: now all have begun to stop
        running.open_gate()
        return _outcome(running, app, streams)


def _outcome(running: Running, app: str, streams: list[Stream]) -> Outcome:
    whole = sum(stream.ended().is_whole for stream in streams)
    code = running.exit_code()
    return Outcome(running.server.name, app, "SIGTERM", whole, 0, len(streams) - whole, code, 0, running.lines)


def table(outcomes: Sequence[Outcome]) -> str:
    """Give a Markdown table, one row for each."""
    rows = ["| server | application | ending | completed | refused | lost | exit code | answer after the last byte |"]
    rows.append("|---|---|---|---|---|---|---|---|")
    for one in outcomes:
        after = f"{one.drain_ms:.0f} ms" if one.ending == "drain" else ""
        cells = (one.server, one.app, one.ending, one.completed, one.refused, one.lost, one.exit_code, after)
        rows.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(rows)
