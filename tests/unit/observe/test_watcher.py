"""The observer at work in this process: three watches, one join, metrics, the port, and the writer of events."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from tests.unit.observe.command import EVENTS, PODS, SLICES, fetch
from tests.unit.observe.objects import DIGESTS, drained, ended, endpoint_slice, event, message, pod, records, running
from tests.unit.observe.watchserver import EXPIRED, WatchServer
from webhook import names
from webhook.cluster import watch
from webhook.cluster.client import ClusterError
from webhook.cluster.watch import Why
from webhook.observe import writer as writing
from webhook.observe.feeds import RESOURCES, feeds
from webhook.observe.join import Join
from webhook.observe.metrics import Metrics
from webhook.observe.page import Page
from webhook.observe.watcher import StoppedError, Watcher
from webhook.observe.writer import Writer

(RECORD,) = records(*drained())
PLACE = "/api/v1/namespaces/llm/events"


@pytest.fixture
def server(monkeypatch):
    """Run a server; pauses are short."""
    monkeypatch.setattr(watch, "FIRST_PAUSE_SECONDS", 0.01)
    with WatchServer() as state:
        yield state


class Observer:
    """An observer in this process, and what it said."""

    def __init__(self, server):
        """Look at nothing yet."""
        self.said = []
        self.metrics = Metrics(DIGESTS, RESOURCES, map(str, Why))
        join = Join(DIGESTS, time.time() - 60)
        self.watcher = Watcher(server.session(), feeds(None), join, self.metrics, self.said.append)

    def value(self, name, **labels):
        """Return the value of a series."""
        return self.metrics.registry.get_sample_value(f"drainhook_{name}", labels)

    def step_until(self, holds):
        """Step until a condition holds, and give the records made meanwhile."""
        made, end = [], time.monotonic() + 60
        while not holds(made):
            assert time.monotonic() < end, f"not in time; it said {self.said}"
            made += self.watcher.step(0.02)
        return made


@pytest.fixture
def observer(server):
    """Make an observer, and end its threads after the test."""
    made = Observer(server)
    yield made
    made.watcher.stop.set()


def test_what_is_there_is_looked_at_once(server, observer):
    server.put(PODS, pod(running(), annotations={}))
    server.put(SLICES, endpoint_slice("u1"))
    observer.watcher.look()
    assert observer.watcher.step(0.01) == []
    assert [server.lists(path) for path in (PODS, EVENTS, SLICES)] == [1, 1, 1]
    assert observer.value("pods_unprotected", backend="vllm", why="not_patched") == 1
    assert observer.value("observe_relists_total", resource="pods") == 1
    assert observer.value("observe_pods") == 1


def test_a_look_that_is_refused_is_an_error(server, observer):
    server.refuse(EVENTS, (403, {"message": "events is forbidden"}))
    with pytest.raises(ClusterError, match="events is forbidden"):
        observer.watcher.look()


def test_a_shutdown_is_joined_from_three_watches(server, observer):
    """Event and endpoint come over connections of their own."""
    now = int(time.time())
    server.put(PODS, pod(running(started=now - 60)))
    server.put(SLICES, endpoint_slice("u1"))
    observer.watcher.look()
    observer.watcher.follow()
    last = ended(now + 9, 143, text=message(), started=now - 60)
    server.put(PODS, pod(running(started=now - 60), asked=now))
    server.put(SLICES, endpoint_slice(leaving=["u1"]))
    server.put(EVENTS, event("Killing", now))
    server.put(PODS, pod(last, asked=now))
    server.remove(PODS, pod(last, asked=now, now=now + 9))
    (record,) = observer.step_until(bool)

    assert (record.seconds, record.stopping, record.hook.end, record.sigkill) == (9, now, "idle", False)
    assert record.endpoint_not_ready is not None
    assert observer.value("pod_shutdown_duration_seconds_sum", backend="vllm", reason="deleted") == 9
    assert observer.value("observe_last_event_age_seconds", resource="pods") >= 0


def test_an_expired_watch_is_counted_and_a_refused_one_said_too(server, observer):
    """The first happens to every watch now and then."""
    observer.watcher.look()
    observer.watcher.follow()
    server.wait_for(lambda: all(server.streams[path] for path in (PODS, EVENTS, SLICES)), 60)
    server.say(PODS, "ERROR", EXPIRED)
    observer.step_until(lambda _: observer.value("observe_relists_total", resource="pods") == 2)
    assert observer.value("observe_watch_errors_total", resource="pods", cause="expired") == 1
    assert observer.said == []

    server.refuse(EVENTS, (500, {"message": "etcd is gone"}))
    server.cut(EVENTS)
    observer.step_until(lambda _: any("etcd is gone" in line for line in observer.said))
    assert observer.value("observe_watch_errors_total", resource="events", cause="refused") >= 1


def test_slices_and_pods_that_a_list_does_not_hold_are_gone(server, observer):
    server.put(PODS, pod(running()))
    server.put(SLICES, endpoint_slice("u1"))
    observer.watcher.look()
    observer.watcher.follow()
    server.wait_for(lambda: all(server.streams[path] for path in (PODS, SLICES)), 60)
    for path, obj in ((SLICES, endpoint_slice()), (PODS, pod())):
        server.remove_unseen(path, obj)
        server.say(path, "ERROR", EXPIRED)
    (record,) = observer.step_until(bool)
    assert (record.is_missed, observer.watcher.join.slices) == (True, {})


def test_the_end_gives_what_only_waited(server, observer):
    observer.watcher.look()
    now = int(time.time())
    server.put(PODS, pod(running(started=now - 60)))
    observer.watcher.follow()
    server.remove(PODS, pod(ended(now, started=now - 60), asked=now))
    observer.step_until(lambda _: any(one.gone for one in observer.watcher.join.pods.values()))
    assert [one.uid for one in observer.watcher.end()] == ["u1"]


def test_a_watch_that_ends_unasked_is_a_fault_that_is_seen(observer):
    """Else it would stand still and look healthy."""
    observer.watcher.look()
    observer.watcher._watches[0].stop = threading.Event()
    observer.watcher._watches[0].stop.set()
    observer.watcher.follow()
    with pytest.raises(StoppedError, match="watch endpointslices ended"):
        observer.step_until(lambda _: False)


@pytest.mark.parametrize("is_open", [True, False])
def test_the_page_serves_metrics_and_says_whether_the_loop_runs(observer, is_open):
    alive = threading.Event()
    page = Page(observer.metrics.registry, alive.is_set, 0, is_open=is_open)
    try:
        page.start()
        assert page.socket.getsockname()[0] in ({"::", "0.0.0.0"} if is_open else {"127.0.0.1"})  # noqa: S104
        status, text = fetch(page.port, names.METRICS_PATH)
        assert (status, "drainhook_observe_pods 0.0" in text) == (200, True)
        assert fetch(page.port, names.HEALTHZ_PATH) == (503, "the loop stands still\n")
        alive.set()
        assert fetch(page.port, names.HEALTHZ_PATH) == (200, "ok\n")
        assert fetch(page.port, "/") == (404, f"The metrics are under {names.METRICS_PATH}.\n")
    finally:
        page.shutdown()
        page.server_close()


def test_the_writer_writes_each_event_once_and_goes_on_after_a_refusal(server, observer):
    writer = Writer(server.session(), observer.metrics, observer.said.append)
    bad = replace(RECORD, sigkill=True)
    server.refuse(PLACE, (403, {"message": "events is forbidden"}))
    for record in (replace(bad, uid="refused"), bad, bad):
        writer.write(record)
    writer.end()

    assert [path for path, _ in server.posted] == [PLACE] * 3
    assert observer.said == ["event for llm/chat-5d9f7c8b6-x2x4k: events is forbidden"]
    results = {result: observer.value("observe_events_total", result=result) for result in observer.metrics.written}
    assert results == {"written": 1, "known": 1, "failed": 1, "dropped": 0}


def test_events_that_cannot_wait_are_dropped_and_counted(server, observer, monkeypatch):
    """A burst while the API server is slow must not fill the memory."""
    monkeypatch.setattr(writing, "WAITING", 1)
    server.pages.clear()
    writer = Writer(server.session(), observer.metrics, observer.said.append)
    for _ in range(5):
        writer.write(RECORD)
    assert observer.value("observe_events_total", result="dropped") >= 3
    server.pages.set()
    writer.end()
