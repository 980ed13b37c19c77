"""The sidecar's way: the rules of the hook by the tests of the hook, then what the listener adds.

Never here: a rule of the script.
"""

from __future__ import annotations

import re
import socket
import threading
import time
import urllib.error
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.drain import test_connections, test_defects, test_metrics, test_rules
from tests.drain.engine import Answer, Engine
from tests.drain.hook import LIMIT_SECONDS, Hook
from tests.drain.listening import Listening, SidecarHook
from tests.drain.story import BUSY, IDLE, budget, polled
from webhook import names
from webhook.catalog import load
from webhook.core.admission import decide
from webhook.core.decision import Policy, Request, Sidecar
from webhook.core.patch import apply
from webhook.sidecar import MOST_DRAINS, MOST_THREADS
from webhook.sockets import bind

SAME_RULES: list[Callable[[Hook], None]] = [
    test_connections.test_no_connection_and_zero_gauges_end_at_once,
    test_connections.test_an_engine_that_dies_during_settle_is_left_at_once,
    test_connections.test_an_engine_that_dies_during_the_drain_is_left_at_once,
    test_connections.test_a_server_that_closed_its_port_and_still_answers_is_not_dead,
    test_connections.test_one_serving_port_of_two_keeps_the_hook,
    test_defects.test_defect_2_one_busy_series_of_two_is_busy,
    test_defects.test_defect_4_a_dead_engine_is_left_at_once,
    test_defects.test_defect_5_the_deadline_is_never_outlived,
    test_defects.test_defect_6_an_idle_engine_is_left_after_the_settle_time_only,
    test_defects.test_defect_7_one_zero_is_no_proof_while_a_client_is_connected,
    test_metrics.test_absent_is_idle_on_an_empty_page,
    test_rules.test_the_log_tells_start_change_and_end,
    test_rules.test_the_record_knows_of_no_request_where_none_was_seen,
]
PARAMETERS = ("log=-", "record=none")


def test_it_drains_as_the_hook_does(tmp_path: Path) -> None:
    """What both said and recorded of the same engine is the same."""
    ended = []
    for kind in (Hook, SidecarHook):
        with Engine([BUSY, BUSY, IDLE]) as engine:
            ended.append(kind(tmp_path / kind.__name__).run(*budget(), *polled(engine)))
    ours, theirs = (re.sub(r"\d+ s:", "0 s:", "\n".join(one.log)) for one in ended)
    assert ours == theirs
    assert ended[0].record | {"seconds": 0, "last_busy": 0} == ended[1].record | {"seconds": 0, "last_busy": 0}


@pytest.mark.parametrize(
    "rule",
    [pytest.param(rule, marks=[pytest.mark.slow] * (number > 0)) for number, rule in enumerate(SAME_RULES)],
    ids=lambda rule: rule.__name__.removeprefix("test_"),
)
def test_rule_holds_behind_a_port(rule: Callable[[Hook], None], tmp_path: Path) -> None:
    """The same test as for the hook in the server's container."""
    rule(SidecarHook(tmp_path))


def test_the_arguments_of_a_patched_pod_drain_its_engine() -> None:
    """What the webhook writes into the pod is what the listener takes; only port and address are the test's."""
    idle = Answer("vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n")
    with Engine([idle]) as engine:
        spec = patched_spec(["--port", str(engine.port)], {names.SETTLE: "0"})
        (sidecar,) = spec["initContainers"]
        assert sidecar["args"][:3] == ["drain", f"--listen={names.SIDECAR_PORT}", "--"]
        with Listening([*sidecar["args"][3:], "record=none"]) as listening:
            get = spec["containers"][0]["lifecycle"]["preStop"]["httpGet"]
            assert listening.get(get["path"]) == 200
            said = listening.terminate()[1]
        assert {look.path for look in engine.looks} == {"/metrics"}
    assert said[0] == "drainhook: settle 0 s, drain up to 95 s"
    assert "idle (in flight 0, connections 0)" in said[-1]


def patched_spec(args: list[str], annotations: dict[str, str]) -> dict[str, Any]:
    """Return the spec of a pod of vLLM that asks for a sidecar, as the webhook makes it."""
    container = {"name": "vllm", "image": "vllm/vllm-openai:v0.32.0", "args": args}
    metadata = {"labels": {names.BACKEND: "vllm"}, "annotations": {names.HOOK: "sidecar", **annotations}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
    decision = decide(Request(pod), load()[0], Policy("0", (1, 34), sidecar=Sidecar("drainhook")))
    spec: dict[str, Any] = apply(pod, getattr(decision, "operations", ()))["spec"]
    return spec


def test_each_call_drains_anew_with_a_whole_settle_time() -> None:
    """Two at a time; a call during them joins the newer one, so that nobody can start many."""
    with Engine([BUSY]) as engine:
        words = (*budget(settle=1, drain=59), *polled(engine), *PARAMETERS)
        with Listening(words) as listening, ThreadPoolExecutor() as callers:
            calls = [callers.submit(listening.get, "/drain") for _ in range(5)]
            assert _until(lambda: len(list(Path(f"/proc/{listening.pid}/task").iterdir())) > len(calls))
            engine.answers = [IDLE]
            assert [call.result(LIMIT_SECONDS) for call in calls] == [200] * 5
            assert listening.get("/drain") == 200
            code, said = listening.terminate()
    starts = [line for line in said if line == "drainhook: settle 1 s, drain up to 59 s"]
    assert (code, len(starts)) == (0, MOST_DRAINS + 1)


@pytest.mark.parametrize("path", ["/", "/drain/0", "/metrics"])
def test_other_paths_are_not_found(path: str) -> None:
    """Only the drain and the probe are there."""
    with Listening(["ports=1", *PARAMETERS]) as listening:
        with pytest.raises(urllib.error.HTTPError, match="404"):
            listening.get(path)
        assert listening.get("/healthz?probe=1") == 200
        assert listening.terminate() == (0, [])


def test_sigterm_ends_it_at_once_with_the_drain_that_runs() -> None:
    """The server has ended by then, or is about to be killed; the script says that it was told to stop."""
    draining = threading.Event()
    with Engine([BUSY], on_look=lambda _number: draining.set()) as engine:
        words = (*budget(drain=60), *polled(engine), *PARAMETERS)
        with Listening(words) as listening, ThreadPoolExecutor() as callers:
            call = callers.submit(listening.get, "/drain")
            assert draining.wait(LIMIT_SECONDS)
            began = time.monotonic()
            code, said = listening.terminate()
            assert isinstance(call.exception(LIMIT_SECONDS), OSError)
    assert (code, time.monotonic() - began < 10) == (0, True)
    assert said[-1].startswith("drainhook: end after")
    assert "signal (SIGTERM)" in said[-1]


@pytest.mark.slow
def test_callers_that_say_nothing_or_leave_do_no_harm(capfd: pytest.CaptureFixture[str]) -> None:
    """Scanners and clients that reset; too many connections are closed, and it goes on answering."""
    with Listening(["ports=1", *PARAMETERS]) as listening:
        silent = [socket.create_connection(("127.0.0.1", listening.port)) for _ in range(MOST_THREADS + 5)]
        ended = [connection for connection in silent if _is_closed(connection)]
        assert ended
        for connection in silent:
            connection.close()
        with socket.create_connection(("127.0.0.1", listening.port)) as broken:
            broken.sendall(b"\x00\xff no HTTP\r\n\r\n")
        with socket.create_connection(("127.0.0.1", listening.port)) as hasty:
            hasty.sendall(b"GET /drain HTTP/1.1\r\n\r\n")
        assert _until(lambda: _answers(listening))
        assert listening.terminate()[0] == 0
    assert capfd.readouterr().err == ""


def _is_closed(connection: socket.socket) -> bool:
    """Say whether the other side closes a connection before a request could time out."""
    connection.settimeout(1)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def _answers(listening: Listening) -> bool:
    try:
        return listening.get("/healthz") == 200
    except OSError:
        return False


def _until(reached: Callable[[], bool]) -> bool:
    """Look again and again, and say whether it came about."""
    end = time.monotonic() + LIMIT_SECONDS
    while not reached():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_it_takes_little_memory() -> None:
    """At most 40 MiB, after a drain too; nothing of profiles, clusters or the webhook is loaded."""
    with Engine([IDLE]) as engine, Listening((*budget(), *polled(engine), *PARAMETERS)) as listening:
        assert listening.get("/drain") == 200
        status = Path(f"/proc/{listening.pid}/status").read_text(encoding="utf-8")
        loaded = Path(f"/proc/{listening.pid}/maps").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found
    assert int(found[1]) <= 40 * 1024
    assert re.findall(r"yaml|orjson|uvloop|rpds", loaded) == []


def test_without_a_host_it_listens_on_all_addresses(ipv6: str) -> None:
    """The kubelet calls the pod's address, of either family."""
    with bind(None, 0) as bound:
        for host in ("127.0.0.1", ipv6):
            socket.create_connection((host, bound.getsockname()[1])).close()


@pytest.mark.slow
@pytest.mark.parametrize(("is_right", "end"), [(True, "no_connections"), (False, "deadline")])
def test_a_wrong_guess_of_the_port_costs_the_whole_time_and_no_request(
    tmp_path: Path, end: str, *, is_right: bool
) -> None:
    """Every listening port counts then, the sidecar's own with the call that waits for its answer too."""
    with Engine() as engine:
        ended = SidecarHook(tmp_path).run(*budget(drain=3), f"ports={engine.port if is_right else 1}", "guess=1")
    assert ended.end == end


@pytest.mark.slow
def test_an_answer_of_an_engine_that_asks_for_a_key_counts_connections(tmp_path: Path) -> None:
    """The sidecar has no variable of the server's container, so the page stays closed to it."""
    with Engine([BUSY, Answer("", 401)], key="k") as engine:
        ended = SidecarHook(tmp_path).run(*budget(), *polled(engine), "key=LLAMA_API_KEY")
    assert ended.end == "no_connections"
