"""The second proof of idle: established connections and listeners of the serving ports, from /proc/net/tcp and tcp6.

Never here: the metrics page as such (test_metrics.py).
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.drain.engine import Answer, Engine
from tests.drain.hook import Hook
from tests.drain.story import BUSY, IDLE, budget, polled
from tests.drain.tables import ANY, CLOSE_WAIT, ESTABLISHED, LISTEN, LOOPBACK, MAPPED, TIME_WAIT, moved, row

READERS = {"grep": ("curl", "sleep", "grep"), "cat": ("curl", "sleep", "cat"), "built-ins": ("curl", "sleep")}


@pytest.mark.parametrize("reader", READERS)
def test_established_connections_of_serving_ports_are_counted(tmp_path: Path, reader: str) -> None:
    """Both tables, several ports; not other states, not other ports; nothing is discounted."""
    with Engine([BUSY]) as engine:
        port = engine.port
        tcp = [row(0, port, LISTEN, ANY), row(1, port, ESTABLISHED), row(2, port, ESTABLISHED, "0200000A")]
        tcp += [row(3, port, TIME_WAIT), row(4, port, CLOSE_WAIT), row(5, port + 1, ESTABLISHED)]
        tcp += [row(10, 60000, LISTEN, ANY), row(12345, 60000, ESTABLISHED)]
        tcp6 = [row(0, 60000, LISTEN, "0" * 32), row(1, port, ESTABLISHED, MAPPED)]
        hook = Hook(tmp_path, tools=READERS[reader], script=moved(tmp_path, tcp, tcp6))
        ended = hook.run(*budget(drain=1), *polled(engine), f"ports={port},60000")
    assert (ended.end, ended.record["connections_end"]) == ("deadline", 4)


def test_a_table_of_closed_connections_does_not_cost_the_budget(tmp_path: Path) -> None:
    """A busy pod has thousands in TIME_WAIT."""
    with Engine([IDLE]) as engine:
        rows = [row(0, engine.port, LISTEN, ANY), *(row(number, engine.port, TIME_WAIT) for number in range(20_000))]
        ended = Hook(tmp_path, script=moved(tmp_path, rows)).run(*budget(), *polled(engine))
    assert ended.end == "idle"
    assert ended.seconds < 2


def test_a_table_that_takes_built_ins_too_long_is_unknown(tmp_path: Path) -> None:
    """Without grep and cat reading has a limit, so that the deadline holds; a pipe without a writer never ends."""
    script = moved(tmp_path, None)
    os.mkfifo(tmp_path / "proc" / "net" / "tcp")
    with Engine([IDLE]) as engine:
        hook = Hook(tmp_path, tools=("curl", "sleep"), script=script)
        ended = hook.run(*budget(drain=2, idle=60), *polled(engine))
    assert (ended.end, ended.record["connections_end"]) == ("deadline", None)
    assert ended.seconds < 4


def test_no_connection_and_zero_gauges_end_at_once(hook: Hook) -> None:
    """The two proofs together need no window."""
    with Engine([IDLE]) as engine:
        ended = hook.run(*budget(drain=60, idle=60), *polled(engine))
    assert (ended.end, ended.record["connections_end"]) == ("idle", 0)
    assert ended.seconds < 2


def test_an_ipv6_connection_counts(hook: Hook, ipv6: str) -> None:
    """Clients of a dual-stack pod stand in tcp6."""
    with Engine([IDLE], host=ipv6) as engine:
        client = engine.hold()
        ended = hook.run(*budget(), *polled(engine))
        client.close()
    assert (ended.end, ended.record["connections_end"]) == ("idle", 1)


def test_without_tables_zeros_must_span_the_window(tmp_path: Path) -> None:
    """Unknown connections are not no connections."""
    with Engine([BUSY, IDLE]) as engine:
        hook = Hook(tmp_path, script=moved(tmp_path, None))
        ended = hook.run(*budget(idle=2), *polled(engine))
        span = ended.at - engine.looks[1].at
    assert (ended.end, ended.record["connections_end"]) == ("idle", None)
    assert 2 <= span < 3.5


def test_without_tables_and_gauges_the_budget_is_slept_and_said(tmp_path: Path) -> None:
    """Nothing can be known: the whole drain, and a line that says why."""
    with Engine([Answer("", 404)]) as engine:
        ended = Hook(tmp_path, script=moved(tmp_path, None)).run(*budget(drain=2), *polled(engine))
    assert ended.end == "slept"
    assert ended.said("in flight unknown (404), connections unknown")
    assert ended.said("neither requests in flight nor connections can be counted")
    assert 1.5 <= ended.seconds < 2.6


def test_without_tables_refused_is_unknown(tmp_path: Path) -> None:
    """The server may be bound to the pod's address only: to leave then could cut its requests."""
    with Engine() as engine:
        params = polled(engine)
    ended = Hook(tmp_path, script=moved(tmp_path, None)).run(*budget(drain=2), *params)
    assert ended.end == "slept"
    assert ended.said("refused")


def test_without_serving_ports_connections_are_unknown(hook: Hook) -> None:
    """`ports=`: the port was not found, so nobody may leave for want of a listener."""
    with Engine([BUSY, IDLE]) as engine:
        ended = hook.run(*budget(), *polled(engine), "ports=")
        span = ended.at - engine.looks[1].at
    assert (ended.end, ended.record["connections_end"]) == ("idle", None)
    assert 1 <= span < 2.5


@pytest.mark.parametrize(("guess", "end"), [("guess=1", "deadline"), ("guess=", "not_listening")])
def test_a_wrong_guess_of_the_port_does_not_leave_a_busy_engine(tmp_path: Path, guess: str, end: str) -> None:
    """Where none of the guessed ports listens, all listening ports count; a port that is known is taken at its word."""
    tcp = [row(0, 60000, LISTEN, ANY), row(1, 60000, ESTABLISHED), row(2, 60001, ESTABLISHED)]
    ended = Hook(tmp_path, script=moved(tmp_path, tcp)).run(*budget(drain=1), "ports=8000,9000", guess)
    assert (ended.end, ended.record["connections_end"]) == (end, 1 if guess == "guess=1" else 0)


def test_a_right_guess_counts_its_own_port_only(tmp_path: Path) -> None:
    """The sidecars of the pod do not hold the drain."""
    tcp = [row(0, 9000, LISTEN, ANY), row(1, 60000, LISTEN, ANY), row(2, 60000, ESTABLISHED)]
    ended = Hook(tmp_path, script=moved(tmp_path, tcp)).run(*budget(idle=1), "ports=8000,9000", "guess=1")
    assert (ended.end, ended.record["connections_end"]) == ("no_connections", 0)


def test_a_guess_still_leaves_a_dead_engine_at_once(tmp_path: Path) -> None:
    """Nothing listens at all."""
    ended = Hook(tmp_path, script=moved(tmp_path, [row(0, 60000, TIME_WAIT)])).run(*budget(), "ports=8000", "guess=1")
    assert ended.end == "not_listening"


def test_without_serving_ports_a_refused_page_is_no_dead_engine(hook: Hook) -> None:
    """Neither the port nor the page is known: the drain is slept."""
    with Engine() as engine:
        address = engine.url()
    ended = hook.run(*budget(drain=1), "ports=", f"url={address}", "gauge=llm:running")
    assert ended.end == "slept"
    assert ended.said("refused")


def test_a_table_without_listeners_is_not_believed_while_the_server_answers(tmp_path: Path) -> None:
    """Some sandboxes show an empty table: that is no dead engine."""
    with Engine([BUSY, BUSY, IDLE]) as engine:
        hook = Hook(tmp_path, script=moved(tmp_path, []))
        ended = hook.run(*budget(), *polled(engine))
    assert (ended.end, ended.record["connections_end"], ended.record["inflight_start"]) == ("idle", None, 4)


def test_an_engine_that_dies_during_settle_is_left_at_once(hook: Hook) -> None:
    """A look each second, so that a restart does not wait."""
    with Engine([BUSY], on_look=lambda _: engine.die()) as engine:
        ended = hook.run(*budget(settle=20), *polled(engine))
    assert (ended.code, ended.end) == (0, "not_listening")
    assert ended.seconds < 3


def test_an_engine_that_dies_during_the_drain_is_left_at_once(hook: Hook) -> None:
    """Not after the idle window, not at the deadline."""
    with Engine([BUSY], on_look=lambda number: engine.die() if number == 3 else None) as engine:
        ended = hook.run(*budget(drain=30, idle=30), *polled(engine))
    assert ended.end == "not_listening"
    assert ended.seconds < 5


def test_a_server_that_closed_its_port_and_still_answers_is_not_dead(hook: Hook) -> None:
    """A uvicorn closes the port at SIGTERM and finishes; a second SIGTERM would cut it."""
    client: list[socket.socket] = []
    with Engine([BUSY], on_look=lambda number: engine.stop_listening() if number == 2 else None) as engine:
        client.append(engine.hold())
        ended = hook.run(*budget(drain=3), *polled(engine))
        client[0].close()
    assert (ended.end, ended.record["connections_end"]) == ("deadline", 1)
    assert ended.said("refused")


def test_one_serving_port_of_two_keeps_the_hook(hook: Hook) -> None:
    """A gRPC port that is up serves requests though HTTP is refused: connections decide over the window."""
    with Engine([IDLE]) as engine, Engine() as closed:
        closed.die()
        ended = hook.run(
            *budget(idle=1), f"ports={closed.port},{engine.port}", f"url={closed.url()}", "gauge=llm:running"
        )
    assert ended.end == "no_connections"
    assert ended.seconds >= 1


@pytest.mark.parametrize("host", ["127.0.0.2", "::1"])
def test_refused_on_localhost_the_address_of_the_listener_is_asked(hook: Hook, host: str, request: object) -> None:
    """A server bound to the pod's address only, or to IPv6 only."""
    if host == "::1":
        request.getfixturevalue("ipv6")  # type: ignore[attr-defined]
    with Engine([BUSY, IDLE], host=host) as engine:
        ended = hook.run(*budget(), *polled(engine), f"url={engine.url(host='127.0.0.1')}")
        assert len(engine.looks) >= 2
    assert (ended.end, ended.record["inflight_start"]) == ("idle", 4)


@pytest.mark.parametrize(
    "fetcher", ["wget", *(pytest.param(name, marks=pytest.mark.slow) for name in ("busybox-wget", "python3", "bash"))]
)
def test_every_fetcher_finds_the_other_address(tmp_path: Path, fetcher: str) -> None:
    """Each says refused in its own way."""
    with Engine([BUSY, IDLE], host="127.0.0.2") as engine:
        params = (*budget(), f"ports={engine.port}", f"url={engine.url(host='127.0.0.1')}")
        ended = Hook(tmp_path, tools=(fetcher, "sleep", "grep")).run(*params, "gauge=llm:running")
    assert (ended.end, ended.record["inflight_start"]) == ("idle", 3)


def test_the_loopback_row_is_written_as_the_kernel_does() -> None:
    """The crafted tables are only worth what this holds."""
    with Engine() as engine:
        rows = Path("/proc/net/tcp").read_text(encoding="utf-8")
        assert f"{LOOPBACK}:{engine.port:04X} 00000000:0000 {LISTEN} " in rows
