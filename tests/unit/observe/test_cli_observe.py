"""`drainhook observe` as a process of its own, against a server that speaks the watch protocol."""

from __future__ import annotations

import json
import re
import signal
import socket
import time

import pytest

from tests.unit.observe.command import BARE, EVENTS, PODS, fetch, free_port, observing, once, pod, shut_down
from tests.unit.observe.objects import end, event, message, running
from tests.unit.observe.watchserver import WatchServer
from webhook import names


@pytest.fixture
def server():
    """Run a server without objects."""
    with WatchServer() as state:
        yield state


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_rows_on_a_pipe_and_a_clean_end(server, tmp_path, number):
    """The heading once, a row for each pod; a signal is the normal end."""
    with observing(server, tmp_path) as command:
        assert command.line().split()[:3] == ["ENDED", "POD", "BACKEND"]
        shut_down(server)
        row = command.line().split()
        assert row[1:] == ["llm/chat-5d9f7c8b6-x2x4k", "vllm", "deleted", "0s", "120s", "0", "idle", "143", "ok"]
        assert command.end(number) == 0
    assert command.err.empty()


@pytest.mark.slow
def test_json_lines_and_what_only_waited_is_told_at_the_end(server, tmp_path):
    """A record waits for slower watches; nobody waits after a signal."""
    with observing(server, tmp_path, "-o", "json", f"--metrics-port={(port := free_port())}") as command:
        shut_down(server, uid="u1")
        assert json.loads(command.line())["uid"] == "u1"
        server.put(PODS, pod(running(), uid="u3"))
        shut_down(server, uid="u2")
        server.wait_for(lambda: "\ndrainhook_observe_pods 2.0\n" in fetch(port, names.METRICS_PATH)[1], 60)
        assert command.end() == 0
        assert json.loads(command.line())["uid"] == "u2"


@pytest.mark.slow
def test_an_api_server_that_restarts_is_survived(server, tmp_path):
    """What went while it was away is found by the list."""
    about = {"uid": "u1", "grace": 120}
    asked = int(time.time())
    server.put(PODS, pod(running(started=asked - 60), **about))
    with observing(server, tmp_path, "-o", "json") as command:
        server.stop()
        server.remove_unseen(PODS, pod(**about))
        server.forget()
        server.start()
        record = json.loads(command.line())
        assert (record["uid"], record["missed"], record["sigkill"]) == ("u1", True, None)
        assert "watch of" in command.note("pods")
        assert command.end() == 0


@pytest.mark.slow
def test_metrics_are_served_and_say_what_happened(server, tmp_path):
    """Labels come from closed sets; the page says also whether the loop runs."""
    port = free_port()
    server.put(PODS, pod(running(), **BARE))
    with observing(server, tmp_path, f"--metrics-port={port}") as command:
        command.note("1 unprotected pods")
        command.line()
        shut_down(server, took=121, code=137, uid="u1")
        assert "SIGKILL" in command.line()
        status, page = fetch(port, names.METRICS_PATH)
        assert fetch(port, names.HEALTHZ_PATH) == (200, "ok\n")
        assert fetch(port, "/other")[0] == 404
        assert command.end() == 0
    assert status == 200
    for sample in (
        'drainhook_pod_shutdown_duration_seconds_sum{backend="vllm",reason="deleted"} 121.0',
        'drainhook_pod_killed_by_sigkill_total{backend="vllm",reason="deleted"} 1.0',
        'drainhook_pod_killed_by_sigkill_total{backend="vllm",reason="evicted"} 0.0',
        'drainhook_pod_inflight_at_sigterm_count{backend="vllm"} 1.0',
        'drainhook_prestop_failed_total{backend="vllm"} 0.0',
        'drainhook_pods_unprotected{backend="vllm",why="not_patched"} 1.0',
        'drainhook_pods_unprotected{backend="vllm",why="old_profile"} 0.0',
        'drainhook_observe_unknown_total{backend="vllm",what="sigkill"} 0.0',
        'drainhook_observe_relists_total{resource="pods"} 1.0',
        'drainhook_observe_watch_errors_total{cause="expired",resource="events"} 0.0',
    ):
        assert f"\n{sample}\n" in page, sample
    assert re.search(r'\ndrainhook_observe_last_event_age_seconds{resource="pods"} [0-9]', page)


def test_a_port_that_is_taken_is_one_sentence(server, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with observing(server, tmp_path, f"--metrics-port={port}", until=0) as command:
            assert command.note("port") == f"drainhook: --metrics-port {port}: Address already in use"
            assert command.process.wait(120) == 2


@pytest.mark.slow
def test_events_are_written_where_asked_for(server, tmp_path):
    """Once for each bad shutdown, none for a good one; a missing permission is said and ends nothing."""
    with observing(server, tmp_path, "--events", "-o", "json") as command:
        shut_down(server, uid="good")
        shut_down(server, took=121, code=137, uid="bad")
        command.line()
        command.line()
        server.wait_for(lambda: server.posted, 60)
        server.refuse("/api/v1/namespaces/llm/events", (403, {"message": "events is forbidden"}))
        shut_down(server, took=121, code=137, uid="bad2")
        assert command.note("event for llm/chat-5d9f7c8b6-x2x4k: events is forbidden")
        assert command.end() == 0
    (path, made), _ = server.posted
    assert path == "/api/v1/namespaces/llm/events"
    assert (made["reason"], made["involvedObject"]["uid"], made["type"]) == ("DrainhookSigkill", "bad", "Warning")


@pytest.mark.slow
def test_no_event_is_written_unless_asked_for(server, tmp_path):
    with observing(server, tmp_path, "-o", "json") as command:
        shut_down(server, took=121, code=137)
        command.line()
        assert command.end() == 0
    assert server.posted == []


@pytest.mark.slow
def test_a_namespace_and_a_selector_narrow_what_is_asked_for(server, tmp_path):
    """The API server leaves out the rest."""
    done = once(server, tmp_path, "--once", "-n", "llm", "-l", "app=chat")
    assert done.exit_code == 0
    asked = {path: query.get("labelSelector") for path, query in server.asked}
    assert asked == {
        "/apis/discovery.k8s.io/v1/namespaces/llm/endpointslices": None,
        "/api/v1/namespaces/llm/events": None,
        "/api/v1/namespaces/llm/pods": "app=chat",
    }


def past(server):
    """Fill a server with what an hour leaves behind."""
    now = int(time.time())
    killed = end(now - 600, 137, started=now - 4000, text=message(end="deadline", inflight_end=2))
    again = running(instance="b", started=now - 590, restarts=1, last=killed)
    server.put(PODS, pod(again, uid="u1"))
    server.put(EVENTS, event("Killing", now - 721))
    server.put(PODS, pod(running(), **BARE))
    server.put(PODS, pod(running(), uid="leaving", name="leaving", asked=now - 5, grace=120))
    failed = event("FailedPreStopHook", now - 100, uid="gone", name="gone")
    server.put(EVENTS, failed)
    stopped = event("Killing", now - 100, uid="gone2", name="gone2")
    server.put(EVENTS, {**stopped, "metadata": {**stopped["metadata"], "uid": "e3"}})


def test_once_says_what_can_still_be_known(server, tmp_path):
    """Restarts, unprotected pods, what is ending now; of pods that are gone only their events."""
    past(server)
    done = once(server, tmp_path, "--once", "--since=15m")
    heading, restart, bare, leaving, gone = done.stdout.splitlines()
    assert heading.startswith("ENDED")
    assert restart.split()[1:] == ["llm/chat-5d9f7c8b6-x2x4k", "vllm", "restart", "121s", "120s", "2", "deadline",
                                   "137", "SIGKILL"]  # fmt: skip
    assert bare == "llm/bare: unprotected (not_patched), backend vllm"
    assert leaving.startswith("llm/leaving  vllm  asked to end, ")
    assert gone == "llm/gone: gone, how it ended cannot be known; its events: FailedPreStopHook"
    assert done.stderr == (
        "drainhook: 2 pods were stopped in this time and are gone: how they ended cannot be known any more\n"
    )
    assert done.exit_code == 1


@pytest.mark.slow
def test_once_as_json(server, tmp_path):
    past(server)
    done = once(server, tmp_path, "--once", "-o", "json")
    restart, bare, *lost = map(json.loads, done.stdout.splitlines())
    assert (restart["reason"], restart["sigkill"], restart["inflight_at_sigterm"]) == ("restart", True, 2)
    assert bare == {"namespace": "llm", "pod": "bare", "backend": "vllm", "unprotected": "not_patched"}
    assert [(one["pod"], one["lost"]) for one in lost] == [("gone", ["FailedPreStopHook"]), ("gone2", ["Killing"])]
    assert done.exit_code == 1


def test_once_looks_back_no_further_than_asked(server, tmp_path):
    past(server)
    done = once(server, tmp_path, "--once", "--since", "30s", "-o", "json")
    assert ["unprotected" in line for line in done.stdout.splitlines()] == [True]
    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--since", "1h"], "--since goes with --once"),
        (["--once", "--since", "soon"], "--since: 'soon' is no time like 30m, 6h or 1d"),
        (["--once", "--since", "0h"], "--since: '0h' is no time"),
        (["--once", "--metrics-port"], "--metrics-port does not go with --once"),
        (["--once", "--events"], "--events does not go with --once"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(server, tmp_path, arguments, said):
    done = once(server, tmp_path, *arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert server.asked == []


def test_a_missing_permission_is_one_sentence(server, tmp_path):
    server.refuse(PODS, (403, {"message": "pods is forbidden: User x cannot list resource pods"}))
    done = once(server, tmp_path, "--once")
    assert (done.exit_code, done.stderr) == (
        2, "drainhook: pods is forbidden: User x cannot list resource pods\n",
    )  # fmt: skip
