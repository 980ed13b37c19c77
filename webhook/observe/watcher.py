"""The observer at work: three watches in threads of their own, one join, one loop that takes what they say.

The queue between them is bounded: who reads too slowly is cut off by the API server, and lists again.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from webhook.cluster.client import Session
from webhook.cluster.watch import Alive, Listed, Message, Seen, Trouble, Watch, Why
from webhook.observe.feeds import PODS, SLICES, Feed
from webhook.observe.join import LINGER_SECONDS, Join
from webhook.observe.metrics import Metrics
from webhook.observe.record import Record

WAITING: Final = 10_000  # messages between the watches and the join
STEP_SECONDS: Final = 0.25
_EXPECTED: Final = frozenset({Why.EXPIRED, Why.SILENT})  # every watch comes to this now and then


class StoppedError(Exception):
    """A watch ended though nobody asked for it: a fault of ours."""


@dataclass(slots=True)
class Watcher:
    """Everything that runs. `say` takes a line about trouble; whoever sets `stop` ends it."""

    session: Session
    feeds: list[Feed]
    join: Join
    metrics: Metrics | None
    say: Callable[[str], None]
    stop: threading.Event = field(default_factory=threading.Event)
    last_step: float = 0.0
    _waiting: queue.Queue[Message] = field(default_factory=lambda: queue.Queue(WAITING))
    _watches: list[Watch] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)
    _last: dict[str, float] = field(default_factory=dict)

    def look(self) -> None:
        """Take what there is now. Raises ClusterError."""
        for feed in self.feeds:
            watch = Watch(self.session, feed.resource, feed.path, feed.keep, feed.query, self.stop)
            self._watches.append(watch)
            for message in watch.list():
                self._take(message)

    def follow(self) -> None:
        """Begin to follow all changes since the look."""
        for watch in self._watches:
            thread = threading.Thread(target=self._run, args=(watch,), name=f"watch {watch.kind}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def step(self, seconds: float = STEP_SECONDS) -> list[Record]:
        """Take what the watches say for some time, and return the records that are complete. Raises StoppedError."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self.stop.is_set():
            try:
                self._take(self._waiting.get(timeout=left))
            except queue.Empty:
                break
        dead = [thread.name for thread in self._threads if not thread.is_alive()]
        if dead and not self.stop.is_set():
            raise StoppedError(f"{dead[0]} ended")
        return self._records(time.time())

    def end(self) -> list[Record]:
        """Stop, and return what was only waiting for slower watches."""
        self.stop.set()
        while not self._waiting.empty():
            self._take(self._waiting.get())
        return self._records(time.time() + LINGER_SECONDS)

    def _run(self, watch: Watch) -> None:
        for message in watch.follow():
            self._waiting.put(message)

    def _take(self, message: Message) -> None:
        self._last[message.kind] = message.at
        match message:
            case Seen(is_gone=True):
                self.join.drop(message.fact, message.at)
            case Seen():
                self.join.take(message.fact, message.at)
            case Listed():
                self._listed(message)
            case Trouble():
                self._trouble(message)
            case Alive():
                pass

    def _listed(self, message: Listed) -> None:
        if message.kind == PODS:
            self.join.relist_pods(message.uids, message.at)
        elif message.kind == SLICES:
            self.join.relist_slices(message.uids, message.at)
        if self.metrics is not None:
            self.metrics.lists[message.kind].inc()

    def _trouble(self, message: Trouble) -> None:
        if self.metrics is not None:
            self.metrics.errors[message.kind, str(message.why)].inc()
        if message.why not in _EXPECTED:
            self.say(f"watch of {message.kind}: {message.why}: {message.text}")

    def _records(self, now: float) -> list[Record]:
        made = self.join.records(now)
        self.last_step = time.monotonic()
        if self.metrics is not None:
            for record in made:
                self.metrics.recorded(record)
            self.metrics.unprotected(self.join.unprotected())
            self.metrics.pods.set(len(self.join.pods))
            for kind, at in self._last.items():
                self.metrics.age[kind].set(max(0.0, now - at))
        return made
