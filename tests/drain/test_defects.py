"""The 14 defects seen in shipped drain loops, one or more tests each, named by their number.

Never here: rules that no shipped loop broke (test_rules.py).
"""

from __future__ import annotations

import re
import socket
import statistics
import time
from pathlib import Path

import pytest

from tests.drain.engine import Answer, Engine
from tests.drain.hook import FETCHERS, SCRIPT, Hook
from tests.drain.story import BUSY, IDLE, budget, page, polled


def test_defect_1_no_port_path_or_metric_name_stands_in_the_script() -> None:
    """A port that the script carries is wrong for every server but one."""
    assert (
        re.findall(r"(?<![\d?\[\]])(?:80|8000|8080|3000|11434)(?!\d)|/metrics|vllm|sglang|num_requests", SCRIPT) == []
    )


def test_defect_2_all_series_are_added_and_compared_as_numbers(hook: Hook) -> None:
    """Two engines at zero in different spellings are idle; a loop that compares text with 0.0 never ends."""
    two = 'llm:running{engine="0"} 0.0\nllm:running{engine="1"} 0\nllm:waiting{engine="0"} 0e+00\nllm:waiting 0.0\n'
    with Engine([Answer(two)]) as engine:
        ended = hook.run(*budget(), *polled(engine))
    assert (ended.end, ended.record["inflight_end"]) == ("idle", 0)


def test_defect_2_one_busy_series_of_two_is_busy(hook: Hook) -> None:
    """The first series is idle, the second is not."""
    lines = 'llm:running{engine="0"} 0.0\nllm:running{engine="1"} 2.0\nllm:waiting 5\n'
    with Engine([Answer(lines), Answer(lines), IDLE]) as engine:
        ended = hook.run(*budget(), *polled(engine))
        assert (ended.record["inflight_start"], len(engine.looks)) == (7, 3)


def test_defect_3_a_longer_name_is_another_metric(hook: Hook) -> None:
    """A prefix match would count waiting_by_reason and the counters too."""
    others = 'llm:waiting_by_reason{reason="capacity"} 8.0\nllm:running_total 9\nllm:runnings 4\nxllm:running 5\n'
    with Engine([Answer(IDLE.body + others)]) as engine:
        ended = hook.run(*budget(), *polled(engine))
    assert (ended.end, ended.record["inflight_end"]) == ("idle", 0)


def test_defect_4_a_dead_engine_is_left_at_once(hook: Hook) -> None:
    """Refused and nothing listens: a restart must not wait, not even for the settle time."""
    with Engine() as engine:
        params = polled(engine)
    ended = hook.run(*budget(settle=20, drain=20), *params)
    assert (ended.code, ended.end) == (0, "not_listening")
    assert ended.seconds < 3


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Answer(manner="hang"), id="hang"),
        pytest.param(Answer("loading", 503), id="503"),
        pytest.param(Answer("x", 500), id="500", marks=pytest.mark.slow),
    ],
)
def test_defect_4_a_stalled_page_is_busy_while_a_client_is_connected(hook: Hook, answer: Answer) -> None:
    """/metrics stalls under load; to leave then kills a busy server."""
    with Engine([answer]) as engine:
        client = engine.hold()
        ended = hook.run(*budget(drain=2), *polled(engine))
        client.close()
    assert (ended.end, ended.record["connections_end"]) == ("deadline", 1)


def test_defect_5_the_deadline_is_never_outlived(hook: Hook) -> None:
    """The engine needs what is left of the grace period for its own SIGTERM."""
    with Engine([BUSY]) as engine:
        client = engine.hold()
        ended = hook.run(*budget(settle=1, drain=2), *polled(engine))
        client.close()
    assert (ended.code, ended.end, ended.record["inflight_end"]) == (0, "deadline", 4)
    assert 2.0 <= ended.seconds <= 3.3


def test_defect_6_an_idle_engine_is_left_after_the_settle_time_only(hook: Hook) -> None:
    """Late requests still arrive while endpoints forget the pod."""
    with Engine([IDLE]) as engine:
        ended = hook.run(*budget(settle=2), *polled(engine))
    assert ended.end == "idle"
    assert 1.8 <= ended.seconds < 3.5


def test_defect_7_one_zero_is_no_proof_while_a_client_is_connected(hook: Hook) -> None:
    """A request before its first scheduler step is in no gauge: zeros must span the idle window."""
    with Engine([BUSY, IDLE, BUSY, IDLE]) as engine:
        client = engine.hold()
        ended = hook.run(*budget(idle=2), *polled(engine))
        client.close()
        span = engine.looks[-1].at - engine.looks[3].at
    assert (ended.end, ended.record["connections_end"]) == ("idle", 1)
    assert 1.9 <= span < 3.5


@pytest.mark.parametrize(
    "tools", [pytest.param((), id="nothing"), pytest.param(("sleep",), id="sleep", marks=pytest.mark.slow)]
)
def test_defect_8_a_lone_shell_uses_the_connection_count(hook: Hook, tools: tuple[str, ...]) -> None:
    """No curl, wget, python3, bash, grep, awk, date: still no failure, and no request lost."""
    hook.tools = tools
    with Engine() as engine:
        client = engine.hold()
        began = time.monotonic()
        process = hook.start(*budget(drain=20), *polled(engine))
        with pytest.raises(Exception, match="timed out"):
            process.wait(1)
        client.close()
        ended = hook.finish(process, began)
    assert (ended.code, ended.end) == (0, "no_connections")
    assert ended.said("no fetcher")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(Answer("llm:tokens_total 4\n"), "no llm:running on the page", id="absent"),
        pytest.param(Answer("off", 501), "501", id="501"),
        pytest.param(page("NaN"), "llm:running is no number", id="NaN"),
        pytest.param(Answer(""), "no llm:running on the page", id="empty", marks=pytest.mark.slow),
        pytest.param(Answer("who", 401), "401", id="401", marks=pytest.mark.slow),
        pytest.param(Answer("none", 404), "404", id="404", marks=pytest.mark.slow),
        pytest.param(Answer('{"running": 0}'), "not a metrics page", id="JSON", marks=pytest.mark.slow),
    ],
)
def test_defect_9_a_missing_metric_is_not_zero(hook: Hook, answer: Answer, why: str) -> None:
    """Metrics that are off, guarded or not yet there: the connection count decides over the idle window."""
    client: list[socket.socket] = []
    with Engine([answer], on_look=lambda number: client[0].close() if number == 3 else None) as engine:
        client.append(engine.hold())
        ended = hook.run(*budget(), *polled(engine))
        span = ended.at - engine.looks[2].at
    assert (ended.end, ended.record["inflight_end"]) == ("no_connections", None)
    assert ended.said(why)
    assert 1.0 <= span < 2.5


def test_defect_9_a_missing_metric_is_idle_where_the_profile_says_so(hook: Hook) -> None:
    """TGI and TEI create their gauges at first use."""
    with Engine([Answer("llm:tokens_total 4\n")]) as engine:
        ended = hook.run(*budget(), "absent=idle", *polled(engine))
    assert (ended.end, ended.record["inflight_end"]) == ("idle", 0)


@pytest.mark.parametrize(
    "fetcher", [fetcher if fetcher == "curl" else pytest.param(fetcher, marks=pytest.mark.slow) for fetcher in FETCHERS]
)
def test_defect_10_it_ends_soon_after_the_last_request(tmp_path: Path, fetcher: str) -> None:
    """At most 1.5 s in the median when connections close: no GPU waits for the next step of five seconds."""
    waits = [_wait_after_last_request(Hook(tmp_path / str(run), tools=(fetcher, "sleep", "grep"))) for run in range(3)]
    print(f"{fetcher}: {', '.join(f'{wait:.2f}' for wait in waits)} s after the last request")
    assert statistics.median(waits) <= 1.5


def _wait_after_last_request(hook: Hook) -> float:
    client: list[socket.socket] = []
    with Engine([BUSY, BUSY, IDLE], on_look=lambda number: client[0].close() if number == 2 else None) as engine:
        client.append(engine.hold())
        ended = hook.run(*budget(), *polled(engine))
        assert ended.end == "idle"
        return ended.at - engine.looks[1].at


def test_defect_11_the_users_own_hook_shares_the_deadline(hook: Hook) -> None:
    """A chained `sleep 60` in a budget of one second does not make the hook longer."""
    with Engine([BUSY]) as engine:
        ended = hook.run(*budget(drain=1), *polled(engine), argv=["sleep", "60"])
    assert (ended.code, ended.end) == (0, "deadline")
    assert 0.5 < ended.seconds < 1.9


def test_defect_12_a_child_that_ignores_sigterm_holds_nothing_up(hook: Hook) -> None:
    """A shell that does not pass signals on is killed when its time is up."""
    with Engine([BUSY]) as engine:
        stubborn = ["/bin/sh", "-c", "trap '' TERM; while :; do sleep 1; done"]
        ended = hook.run(*budget(drain=1), *polled(engine), argv=stubborn)
    assert ended.code == 0
    assert ended.seconds < 1.9


def test_defect_13_drain_endpoint_and_polling_share_one_budget(hook: Hook) -> None:
    """The server's own drain and ours never add up."""
    with Engine([BUSY], routes={"/drain": Answer(manner="hang")}) as engine:
        ended = hook.run(*budget(drain=1), *polled(engine), f"call={engine.url('/drain')}")
    assert ended.code == 0
    assert ended.seconds < 1.9


def test_defect_14_nothing_stays_behind(hook: Hook, tmp_path: Path) -> None:
    """No mark in the engine, no file, no process: a scale-down that is cancelled finds the pod as it was."""
    with Engine([BUSY, IDLE]) as engine:
        for _ in range(2):
            assert hook.run(*budget(), *polled(engine)).code == 0
        assert {(look.path, look.header.split()[0]) for look in engine.looks} == {("/metrics", "GET")}
    assert {file.name for file in tmp_path.iterdir()} == {"tools", "log", "record"}
    until = time.monotonic() + 0.5
    while engine.url() in _commands():
        assert time.monotonic() < until


def _commands() -> str:
    files = Path("/proc").glob("[0-9]*/cmdline")
    return " ".join(_text(file) for file in files)


def _text(file: Path) -> str:
    try:
        return file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
