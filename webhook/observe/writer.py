"""Writes the Kubernetes events of bad shutdowns, beside the loop: an API server that is slow must not hold it up."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from webhook.cluster.client import CONFLICT, ClusterError, Session
from webhook.observe.metrics import Metrics
from webhook.observe.record import Record
from webhook.observe.report import event

WAITING: Final = 1_000
END_SECONDS: Final = 5.0


class Writer:
    """A thread that posts; what it cannot post is counted and said, and never tried again."""

    def __init__(self, session: Session, metrics: Metrics | None, say: Callable[[str], None]) -> None:
        """Start the thread."""
        self._session, self._metrics, self._say = session, metrics, say
        self._waiting: queue.Queue[Record | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)
        self._thread.start()

    def write(self, record: Record) -> None:
        """Take a record; when too many wait, this one is dropped."""
        try:
            self._waiting.put_nowait(record)
        except queue.Full:
            self._count("dropped")

    def end(self) -> None:
        """Write what waits, for a few seconds at most."""
        try:
            self._waiting.put(None, timeout=END_SECONDS)
        except queue.Full:
            return
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        while (record := self._waiting.get()) is not None:
            self._post(record)

    def _post(self, record: Record) -> None:
        stamp = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        try:
            self._session.post(f"/api/v1/namespaces/{record.namespace}/events", event(record, stamp))
        except ClusterError as error:
            self._count("known" if error.status == CONFLICT else "failed")
            if error.status != CONFLICT:
                self._say(f"event for {record.namespace}/{record.pod}: {error}")
        else:
            self._count("written")

    def _count(self, result: str) -> None:
        if self._metrics is not None:
            self._metrics.written[result].inc()
