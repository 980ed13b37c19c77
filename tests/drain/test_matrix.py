"""The main story in every shell with every fetcher: busy, then idle, then no connection, then the end.

One column belongs to `make test` (dash with every fetcher, every shell with curl), the whole to `make test-all`.
busybox ash runs its own wget where any wget stands on PATH, so two of its cells are one. Never here: special cases.
"""

from __future__ import annotations

import socket
from itertools import product
from pathlib import Path

import pytest

from tests.drain.engine import Engine
from tests.drain.hook import FETCHERS, SHELLS, Hook
from tests.drain.story import BUSY, IDLE, budget, polled

CELLS = [
    pytest.param(shell, fetcher, marks=[] if shell == "dash" or fetcher == "curl" else pytest.mark.slow)
    for shell, fetcher in product(SHELLS, FETCHERS)
]
LONE = [shell if shell == "dash" else pytest.param(shell, marks=pytest.mark.slow) for shell in SHELLS]


@pytest.mark.parametrize(("shell", "fetcher"), CELLS)
def test_it_drains_and_leaves_when_the_last_client_has_gone(tmp_path: Path, shell: str, fetcher: str) -> None:
    """Four requests at the start; it ends with none, after the last connection closed and not before."""
    client: list[socket.socket] = []
    hook = Hook(tmp_path, shell, (fetcher, "sleep", "grep"))
    with Engine([BUSY, BUSY, IDLE], on_look=lambda number: client[0].close() if number == 4 else None) as engine:
        client.append(engine.hold())
        ended = hook.run(*budget(drain=20, idle=20), *polled(engine))
        after = ended.at - engine.looks[3].at
    assert (ended.code, ended.end) == (0, "idle")
    assert (ended.record["inflight_start"], ended.record["connections_end"]) == (4, 0)
    assert after < 2.5


@pytest.mark.parametrize("shell", LONE)
def test_without_any_fetcher_the_connections_decide(tmp_path: Path, shell: str) -> None:
    """A client holds the hook; the idle window begins when it has gone."""
    with Engine() as engine:
        held = Hook(tmp_path / "held", shell, ("sleep", "cat"))
        client = engine.hold()
        waited = held.run(*budget(drain=2), *polled(engine))
        client.close()
        left = Hook(tmp_path / "left", shell, ("sleep", "cat")).run(*budget(drain=20), *polled(engine))
    assert (waited.code, waited.end, waited.record["connections_end"]) == (0, "deadline", 1)
    assert (left.code, left.end) == (0, "no_connections")
    assert 1 <= left.seconds < 3.5
