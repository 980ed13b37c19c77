"""A watch against a real server on loopback: whatever happens to the connection, no change is lost or invented."""

from __future__ import annotations

import contextlib
import queue
import threading

import pytest

from tests.unit.observe.watchserver import EXPIRED, WatchServer
from webhook.cluster import watch
from webhook.cluster.client import ClusterError
from webhook.cluster.watch import Alive, Listed, Seen, Trouble, Watch, Why

PODS = "/api/v1/pods"


def pod(uid, **spec):
    """Return an object that is its own name."""
    return {"metadata": {"uid": uid, "name": uid}, "spec": spec}


def keep(obj):
    """Keep name and size; one pod is of no use."""
    uid = obj["metadata"]["uid"]
    return None if uid == "useless" else (uid, obj["spec"].get("size"))


class Follower:
    """A watch in a thread of its own; `next` gives what it says, one by one."""

    def __init__(self, server, **options):
        """Prepare the thread; it is not started yet."""
        self.said = queue.Queue()
        self.watch = Watch(server.session(), "pods", PODS, keep, **options)
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        for message in self.watch.follow():
            self.said.put(message)

    def next(self):
        """Give the next message; nothing for ten seconds is a failure."""
        return self.said.get(timeout=10)

    def until(self, kind):
        """Give the messages up to the first one of a kind."""
        found = [self.next()]
        while not isinstance(found[-1], kind):
            found.append(self.next())
        return found

    def facts(self, count):
        """Give the next facts, with whether they are gone; what else is said is passed over."""
        return [(found[-1].fact, found[-1].is_gone) for found in (self.until(Seen) for _ in range(count))]


@pytest.fixture
def server(monkeypatch):
    """Run a server; pauses are short."""
    monkeypatch.setattr(watch, "FIRST_PAUSE_SECONDS", 0.01)
    with WatchServer() as state:
        yield state


@contextlib.contextmanager
def following(server, **options):
    """Follow until the block ends, then end the thread."""
    follower = Follower(server, **options)
    follower.thread.start()
    yield follower
    follower.watch.stop.set()
    server.wait_for(lambda: server.cut(PODS) or not follower.thread.is_alive())


def test_a_list_and_then_every_change(server):
    server.put(PODS, pod("a"))
    with following(server) as follower:
        first = follower.until(Listed)
        assert [message.fact for message in first[:-1]] == [("a", None)]
        assert first[-1].uids == {"a"}

        server.put(PODS, pod("b", size=1))
        server.put(PODS, pod("b", size=2))
        server.remove(PODS, pod("b", size=3))
        assert follower.facts(3) == [(("b", 1), False), (("b", 2), False), (("b", 3), True)]


def test_what_is_asked_for(server):
    """Bookmarks, an end by the server, and the version of the list."""
    server.put(PODS, pod("a"))
    with following(server, query={"fieldSelector": "x=y"}) as follower:
        follower.until(Listed)
        server.wait_for(lambda: server.watches(PODS))
        (listed,), (watched,) = (
            [query for _, query in server.asked if ("watch" in query) is wanted] for wanted in (False, True)
        )
    assert listed == {"fieldSelector": "x=y", "limit": str(watch.PAGE)}
    assert 240 <= int(watched.pop("timeoutSeconds")) <= 480
    assert watched == {"watch": "1", "allowWatchBookmarks": "true", "fieldSelector": "x=y", "resourceVersion": "11"}


def test_an_object_of_no_use_is_not_kept_but_is_in_the_list(server):
    server.put(PODS, pod("useless"))
    with following(server) as follower:
        (message,) = follower.until(Listed)
    assert message.uids == {"useless"}


def test_pages_that_come_slowly_lose_no_change_made_meanwhile(server, monkeypatch):
    """All pages show one version; the watch goes on from there."""
    monkeypatch.setattr(watch, "PAGE", 2)
    for name in "abcde":
        server.put(PODS, pod(name))
    server.pages.clear()
    with following(server) as follower:
        assert follower.facts(2) == [(("a", None), False), (("b", None), False)]
        server.wait_for(lambda: any("continue" in query for _, query in server.asked))
        server.remove(PODS, pod("e"))
        server.put(PODS, pod("f"))
        server.pages.set()
        rest = follower.until(Listed)
        assert ([message.fact[0] for message in rest[:-1]], rest[-1].uids) == (["c", "d", "e"], set("abcde"))
        assert follower.facts(2) == [(("e", None), True), (("f", None), False)]


def test_a_page_that_comes_too_late_begins_the_list_anew(server, monkeypatch):
    monkeypatch.setattr(watch, "PAGE", 1)
    for name in "ab":
        server.put(PODS, pod(name))
    told = Watch(server.session(), "pods", PODS, keep).list()
    assert next(told).fact == ("a", None)
    server.refuse(PODS, (410, EXPIRED))
    assert [type(message) for message in told] == [Seen, Seen, Listed]
    assert server.lists(PODS) == 2


def test_a_list_that_is_always_too_late_is_an_error(server):
    server.refuse(PODS, *[(410, EXPIRED)] * 3)
    with pytest.raises(ClusterError, match="too old resource version"):
        list(Watch(server.session(), "pods", PODS, keep).list())


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_first_list_that_is_refused_says_so(server, status):
    """Nobody waits for a permission that is not there."""
    server.refuse(PODS, (status, {"message": "pods is forbidden"}))
    with pytest.raises(ClusterError, match="pods is forbidden") as caught:
        list(Watch(server.session(), "pods", PODS, keep).list())
    assert caught.value.status == status


def test_a_cut_connection_is_taken_up_where_it_broke(server):
    """In the middle of a line; nothing is listed again."""
    with following(server) as follower:
        follower.until(Listed)
        server.put(PODS, pod("a"))
        follower.facts(1)
        server.cut(PODS)
        server.put(PODS, pod("b"))
        assert [follower.until(Trouble)[-1].why, *follower.facts(1)] == [Why.CUT, (("b", None), False)]
        assert server.watches(PODS) == ["10", "11"]
    assert server.lists(PODS) == 1


def test_a_bookmark_moves_the_version(server):
    """Else a quiet watch would be too old when it is cut."""
    with following(server) as follower:
        follower.until(Listed)
        server.put("/api/v1/other", pod("x"))
        server.bookmark(PODS)
        assert isinstance(follower.next(), Alive)
        server.cut(PODS)
        server.wait_for(lambda: len(server.watches(PODS)) > 1)
    assert server.watches(PODS)[:2] == ["10", "11"]


@pytest.mark.parametrize("how", ["in the stream", "at its begin"])
def test_a_version_that_is_too_old_is_listed_anew(server, how):
    """What went meanwhile is not in the list."""
    server.put(PODS, pod("a"))
    server.put(PODS, pod("b"))
    with following(server) as follower:
        follower.until(Listed)
        server.wait_for(lambda: server.streams[PODS])
        server.remove_unseen(PODS, pod("a"))
        if how == "in the stream":
            server.say(PODS, "ERROR", EXPIRED)
        else:
            server.forget()
            server.cut(PODS)
        said = follower.until(Listed)
        assert said[-1].uids == {"b"}
        assert [message.why for message in said if isinstance(message, Trouble)][-1] is Why.EXPIRED

        server.put(PODS, pod("c"))
        assert follower.facts(1) == [(("c", None), False)]


def test_a_server_that_restarts_is_found_again(server):
    """It is away for a while; its clients wait longer each time."""
    with following(server) as follower:
        follower.until(Listed)
        server.put(PODS, pod("a"))
        follower.facts(1)
        server.stop()
        while follower.until(Trouble)[-1].why is not Why.UNREACHABLE:
            pass
        server.put(PODS, pod("b"))
        server.start()
        assert follower.facts(1) == [(("b", None), False)]
    assert server.lists(PODS) == 1


def test_a_server_that_forgot_everything_at_its_restart_is_listed_anew(server):
    server.put(PODS, pod("a"))
    with following(server) as follower:
        follower.until(Listed)
        server.wait_for(lambda: server.streams[PODS])
        server.stop()
        server.remove_unseen(PODS, pod("a"))
        server.forget()
        server.start()
        assert follower.until(Listed)[-1].uids == frozenset()


@pytest.mark.parametrize(
    ("answer", "lists"),
    [
        ((429, {"message": "slow down"}), 1),
        ((401, "who?"), 1),
        ((500, "oops"), 2),
        ((504, {"message": "too large"}), 2),
    ],
)
def test_a_refusal_later_is_waited_out(server, answer, lists):
    """Permissions, proxies and overload come and go; where the version itself may be wrong, a list puts it right."""
    with following(server) as follower:
        follower.until(Listed)
        server.wait_for(lambda: server.streams[PODS])
        server.refuse(PODS, answer, answer)
        server.cut(PODS)
        server.wait_for(lambda: not server.refusals[PODS])
        server.put(PODS, pod("b"))
        assert follower.facts(1) == [(("b", None), False)]
    assert server.lists(PODS) >= lists
    assert (server.lists(PODS) == 1) == (lists == 1)


def test_a_silent_connection_is_made_anew(server):
    """A firewall may have forgotten it without a word."""
    with following(server, silence_seconds=0.2) as follower:
        follower.until(Listed)
        trouble = follower.until(Trouble)[-1]
        assert (trouble.why, trouble.text) == (Why.SILENT, "/api/v1/pods: no word for 0.2 s")
        server.put(PODS, pod("a"))
        assert follower.facts(1) == [(("a", None), False)]


@pytest.mark.parametrize("line", [b"no json\n", b"[]\n", b'{"type":"ADDED"}\n', b'{"type":"ADDED","object":7}\n'])
def test_a_line_that_is_no_change_is_said_and_asked_for_again(server, line):
    """A proxy may write its own page into the stream."""
    with following(server) as follower:
        follower.until(Listed)
        server.wait_for(lambda: server.streams[PODS])
        with server.changed:
            server.history[PODS].append((10, line))
            server.changed.notify_all()
        assert follower.until(Trouble)[-1].why is Why.UNREADABLE
        server.put(PODS, pod("a"))
        assert follower.facts(1) == [(("a", None), False)]


def test_an_object_that_cannot_be_read_hurts_no_other(server):
    with following(server) as follower:
        follower.until(Listed)
        server.put(PODS, {"metadata": {"uid": "bad", "name": "bad"}})
        server.put(PODS, pod("a"))
        trouble, fact = follower.next(), follower.next()
    assert (trouble.why, trouble.text) == (Why.UNREADABLE, "/api/v1/pods/bad: KeyError: 'spec'")
    assert fact.fact == ("a", None)


def test_pauses_grow_and_end_and_differ(monkeypatch):
    """All watchers of a cluster must not come back in the same moment."""
    monkeypatch.setattr(watch, "FIRST_PAUSE_SECONDS", 0.2)
    pauses = {failures: [watch.pause(failures) for _ in range(50)] for failures in (1, 4, 20)}
    assert all(0.2 <= one <= 0.4 for one in pauses[1])
    assert all(1.6 <= one <= 3.2 for one in pauses[4])
    assert all(15 <= one <= 30 for one in pauses[20])
    assert len(set(pauses[20])) > 1
