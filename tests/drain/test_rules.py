"""What the hook does besides looking: chained hooks, the server's own drain endpoint, log, record, signals, arguments.

Never here: connections, pages, fetchers (their own modules).
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.drain.engine import Answer, Engine
from tests.drain.hook import LIMIT_SECONDS, SCRIPT, SHELLS, Hook
from tests.drain.story import BUSY, GAUGES, IDLE, budget, polled
from tests.drain.tables import LISTEN, moved, row

EVERY_SHELL = [name if name == "dash" else pytest.param(name, marks=pytest.mark.slow) for name in SHELLS]
RECORD = {
    "drainhook": 1,
    "inflight_start": 4,
    "inflight_end": 0,
    "connections_end": 0,
    "settle": 0,
    "last_busy": 0,
    "seconds": 0,
    "end": "idle",
}


def test_the_log_tells_start_change_and_end(hook: Hook) -> None:
    """Three lines for a short drain, with the budget, what is seen, and why it ended."""
    with Engine([BUSY, BUSY, IDLE]) as engine:
        ended = hook.run(*budget(), *polled(engine))
    start, change, end = ended.log
    assert start == "drainhook: settle 0 s, drain up to 8 s"
    assert change == "drainhook: 0 s: in flight 4, connections 0"
    assert end in {f"drainhook: end after {second} s: idle (in flight 0, connections 0)" for second in (0, 1)}


def test_the_record_is_one_line_of_json_appended(hook: Hook, tmp_path: Path) -> None:
    """The termination message may already hold the engine's own."""
    (tmp_path / "record").write_text("the engine's own words\n", encoding="utf-8")
    with Engine([BUSY, IDLE]) as engine:
        ended = hook.run(*budget(), *polled(engine))
    lines = (tmp_path / "record").read_text(encoding="utf-8").splitlines()
    assert (lines[0], len(lines)) == ("the engine's own words", 2)
    assert ended.record | {"seconds": 0, "last_busy": 0} == RECORD
    assert 0 <= ended.record["last_busy"] <= ended.seconds


def test_the_record_knows_of_no_request_where_none_was_seen(hook: Hook) -> None:
    """Nothing was in flight at any look."""
    with Engine([IDLE]) as engine:
        ended = hook.run(*budget(), *polled(engine))
    assert ended.record["last_busy"] is None


@pytest.mark.parametrize("where", ["/proc/nowhere/fd/1", "/", "none", ""])
def test_what_cannot_be_written_is_left_out(hook: Hook, where: str) -> None:
    """No log and no record is no failure."""
    with Engine([IDLE]) as engine:
        ended = hook.run(*budget(), *polled(engine), f"log={where}", f"record={where}")
    assert (ended.code, ended.log, ended.record) == (0, [], {})
    assert ended.seconds < 2


@pytest.mark.parametrize("shell", ["dash", "bash", "ash"])
def test_an_error_of_the_shell_is_no_failure(tmp_path: Path, shell: str) -> None:
    """A table that no kernel writes breaks the arithmetic; the pod gets no FailedPreStopHook event for it."""
    broken = row(0, 8000, LISTEN).replace(":1F40", ":1F4?")
    ended = Hook(tmp_path, shell, script=moved(tmp_path, [broken])).run(*budget(drain=1), "ports=8000")
    assert ended.code == 0
    assert ended.seconds < 3


def test_a_reader_that_went_away_is_no_failure(hook: Hook) -> None:
    """The log's pipe is closed on the other side."""
    with Engine([BUSY, IDLE]) as engine:
        began = time.monotonic()
        process = hook.start(*budget(settle=1), *polled(engine), "log=-")
        assert process.stdout
        process.stdout.close()
        assert process.wait(LIMIT_SECONDS) == 0
        assert time.monotonic() - began >= 0.9


def test_log_to_stdout(hook: Hook) -> None:
    """`log=-` for runs by hand."""
    with Engine([IDLE]) as engine:
        ended = hook.run(*budget(), *polled(engine), "log=-")
    assert ended.log[0] == "drainhook: settle 0 s, drain up to 8 s"


def test_a_log_that_blocks_does_not_hold_the_hook(hook: Hook, tmp_path: Path) -> None:
    """A pipe without a reader (the runtime's log driver is gone) costs a second for each line, not the pod."""
    os.mkfifo(tmp_path / "pipe")
    with Engine([IDLE]) as engine:
        ended = hook.run(*budget(), *polled(engine), f"log={tmp_path / 'pipe'}")
    assert (ended.code, ended.end) == (0, "idle")
    assert ended.seconds < 4


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_sigterm_ends_the_hook_with_zero(tmp_path: Path, shell: str) -> None:
    """Logged and recorded; no FailedPreStopHook event."""
    hook, draining = Hook(tmp_path, shell), threading.Event()
    with Engine([BUSY], on_look=lambda number: draining.set() if number == 3 else None) as engine:
        client = engine.hold()
        began = time.monotonic()
        process = hook.start(*budget(drain=30), *polled(engine))
        assert draining.wait(LIMIT_SECONDS)
        process.send_signal(signal.SIGTERM)
        ended = hook.finish(process, began)
        client.close()
    assert (ended.code, ended.end) == (0, "signal")
    assert ended.said("signal (SIGTERM)")


@pytest.mark.parametrize("status", [200, 202, 204])
def test_the_servers_own_drain_endpoint_ends_the_hook(hook: Hook, status: int) -> None:
    """Called once, at the start, without settle: the server keeps its own. The record tells what is left then."""
    with Engine([BUSY, IDLE], routes={"/drain?wait=8": Answer("done", status)}) as engine:
        ended = hook.run(*budget(settle=20), *polled(engine), f"call={engine.url('/drain?wait=8')}")
        assert [look.path for look in engine.looks].count("/drain?wait=8") == 1
    assert (ended.code, ended.end) == (0, "called")
    assert (ended.record["inflight_start"], ended.record["inflight_end"]) == (4, 0)
    assert ended.seconds < 2


def test_a_drain_endpoint_that_fails_leaves_the_other_rules(hook: Hook) -> None:
    """Said in the log, then settle and polling as without it."""
    with Engine([BUSY, BUSY, IDLE], routes={"/drain": Answer("", 500)}) as engine:
        ended = hook.run(*budget(settle=1), *polled(engine), f"call={engine.url('/drain')}")
    assert (ended.code, ended.end) == (0, "idle")
    assert ended.said(f"no answer from {engine.url('/drain')}: 500")
    assert ended.seconds >= 1


def test_the_users_http_hook_is_fetched_once_and_its_failure_ignored(hook: Hook) -> None:
    """existing-hook: chain of an httpGet."""
    with Engine([IDLE], routes={"/bye": Answer("", 500)}) as engine:
        ended = hook.run(*budget(), *polled(engine), f"chain={engine.url('/bye')}")
        assert [look.path for look in engine.looks].count("/bye") == 1
    assert (ended.code, ended.end) == (0, "idle")


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_the_users_exec_hook_runs_first_with_its_own_words_and_environment(tmp_path: Path, shell: str) -> None:
    """Argument list unchanged, environment unchanged, output kept out of ours, failure ignored."""
    words = ["a b", "$(touch x)", "*", "", "settle=99", "--", "'q'"]
    program = 'for word in "$@"; do echo "<$word>"; done >"$WHERE"; echo "$http_proxy" >>"$WHERE"; echo noise; exit 7'
    env = {"WHERE": str(tmp_path / "words"), "http_proxy": "http://proxy.example:1"}
    with Engine([IDLE]) as engine:
        ended = Hook(tmp_path, shell, env=env).run(
            *budget(), *polled(engine), "log=-", argv=["/bin/sh", "-c", program, "user", *words]
        )
    said = (tmp_path / "words").read_text(encoding="utf-8").splitlines()
    assert said == [*(f"<{word}>" for word in words), "http://proxy.example:1"]
    assert (ended.code, ended.end) == (0, "idle")
    assert not ended.said("noise")


def test_the_time_of_the_users_hook_counts_as_settle(hook: Hook) -> None:
    """Endpoints forget the pod meanwhile: two seconds of its own and two of settle are two."""
    with Engine([IDLE]) as engine:
        ended = hook.run(*budget(settle=2), *polled(engine), argv=["/bin/sleep", "2"])
    assert ended.end == "idle"
    assert 2 <= ended.seconds < 3.5


def test_a_users_hook_that_does_not_exist_is_ignored(hook: Hook) -> None:
    """A failure of the user's hook is the user's."""
    with Engine([IDLE]) as engine:
        ended = hook.run(*budget(), *polled(engine), argv=["/no/such/program"])
    assert (ended.code, ended.end) == (0, "idle")


def test_the_first_candidate_that_knows_the_gauges_is_kept(hook: Hook) -> None:
    """The port was only guessed: refused, 404 and a foreign page are passed over, and asked no more."""
    with (
        Engine([Answer("", 404)]) as missing,
        Engine([Answer("up 1\n")]) as foreign,
        Engine([BUSY, BUSY, IDLE]) as real,
    ):
        urls = [f"url={engine.url()}" for engine in (missing, foreign, real)]
        ended = hook.run(*budget(), f"ports={real.port}", *urls, *GAUGES)
        assert (len(missing.looks), len(foreign.looks), len(real.looks)) == (1, 1, 3)
    assert (ended.end, ended.record["inflight_start"]) == ("idle", 4)


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_unknown_and_malformed_arguments_are_ignored(tmp_path: Path, shell: str) -> None:
    """A newer pod may meet an older script; a wrong number leaves the default; nothing is evaluated."""
    odd = ["future=1", "noise", "", "settle=$(touch x)", "drain=-1", "idle=1;exit 3", "settle=08", "drain=99999999999"]
    with Engine([BUSY, IDLE]) as engine:
        ended = Hook(tmp_path, shell).run(*budget(), *polled(engine), *odd)
    assert (ended.code, ended.end) == (0, "idle")
    assert ended.log[0] == "drainhook: settle 0 s, drain up to 8 s"
    assert not Path("x").exists()


def test_no_argument_is_taken_for_a_file_pattern(tmp_path: Path) -> None:
    """The server's working directory holds a path that the metrics address would match."""
    with Engine([IDLE]) as engine:
        (tmp_path / "http:" / f"127.0.0.1:{engine.port}").mkdir(parents=True)
        (tmp_path / "http:" / f"127.0.0.1:{engine.port}" / "metrics-all").touch()
        address = engine.url("/metrics?all")
        Hook(tmp_path, cwd=tmp_path).run(*budget(), f"ports={engine.port}", f"url={address}", *GAUGES)
        assert {look.path for look in engine.looks} == {"/metrics?all"}


def test_the_documents_name_tests_that_exist() -> None:
    """docs/hook.md maps each rule to its test."""
    here = Path(__file__).parent
    tests = "".join(file.read_text(encoding="utf-8") for file in here.glob("test_*.py"))
    named = re.findall(r"`(test_\w+)`", (here.parents[1] / "docs" / "hook.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [name for name in named if f"def {name}(" not in tests] == []


def test_defaults_are_those_of_the_design(hook: Hook) -> None:
    """Settle 10, drain 95."""
    with Engine() as engine:
        port = engine.port
    ended = hook.run(f"ports={port}")
    assert ended.log[0] == "drainhook: settle 10 s, drain up to 95 s"


def test_the_script_keeps_its_size() -> None:
    """At most 300 lines, and short enough to stand in every pod."""
    code = [line for line in SCRIPT.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(SCRIPT.splitlines()) <= 300
    assert len("\n".join(code)) <= 9_000
    assert not any("\t#" in line or line.endswith(" ") for line in code)
