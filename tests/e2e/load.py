"""A program that streams chat completions from several addresses and prints what became of each request, a line each.

It runs in the network of the pods until its standard input ends. Its one argument is a JSON list of lanes: who asks,
where, how. A steady lane sends one request after the other. The bursting ones send two requests each at the same
time, then pause together for longer than an idle window. Nothing of Kubernetes is known here.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass
from typing import Any

from tests.e2e.client import Client

GAP_SECONDS = 0.4
PAUSE_SECONDS = 9.0  # an idle window of 5 s, the 1.5 s in which a hook ends after it, and some to spare
LEAST_TOKENS, MOST_TOKENS = 10, 1500
_printing = threading.Lock()


@dataclass(frozen=True, slots=True)
class Lane:
    """Senders of streams of about `seconds` to one address; each `keeps` its connection, and pauses between bursts."""

    name: str
    host: str
    seconds: float
    workers: int
    keeps: bool
    bursts: bool


def say(**fields: Any) -> None:
    """Print one line."""
    with _printing:
        print(json.dumps(fields), flush=True)


def size(host: str, seconds: float) -> int:
    """Give how many tokens one stream has in so many seconds on this machine, now."""
    for tokens in (10, 30):  # the first one warms up
        time.sleep(
            GAP_SECONDS
        )  # llama.cpp closes the connection after a stream, and a proxy hears of it a little later
        began = time.monotonic()
        fate = Client(host, tokens, keeps=False).request()
        if fate.name != "completed":
            raise SystemExit(f"{host}: {fate.name}, {fate.why}")
    return max(LEAST_TOKENS, min(MOST_TOKENS, int(tokens * seconds / (time.monotonic() - began))))


class Worker:
    """One sender of a lane."""

    def __init__(self, lane: Lane, tokens: int, stop: threading.Event, together: threading.Barrier) -> None:
        """Send nothing yet; all bursting workers meet at one barrier."""
        self._lane = lane.name
        self._stop = stop
        self._together = together
        self._client = Client(lane.host, tokens, keeps=lane.keeps, streaming=self._streaming)
        self._burst = 0

    def send_steadily(self) -> None:
        """Send until told to stop."""
        while not self._stop.wait(GAP_SECONDS):
            self._send()

    def send_bursts(self) -> None:
        """Send two requests and pause, all workers together: none asks while another one's stream is ending."""
        try:
            while not self._stop.is_set():
                self._together.wait()
                self._burst += 1
                self._send()
                self._together.wait()
                if not self._stop.wait(GAP_SECONDS):
                    self._send()
                self._together.wait()
                self._stop.wait(PAUSE_SECONDS)
        except threading.BrokenBarrierError:
            return  # another one has stopped

    def _send(self) -> None:
        fate = self._client.request()
        say(event="ended", lane=self._lane, burst=self._burst, **asdict(fate))

    def _streaming(self) -> None:
        say(event="streaming", lane=self._lane, burst=self._burst)


def _fail(failure: threading.ExceptHookArgs) -> None:
    sys.__excepthook__(failure.exc_type, failure.exc_value or failure.exc_type(), failure.exc_traceback)
    os._exit(3)


def main(lanes: list[Lane]) -> None:
    """Send until standard input ends, then let what was sent come to its end."""
    threading.excepthook = _fail  # else a client that died would look like one that lost nothing
    tokens = {host: size(host, seconds) for host, seconds in {(lane.host, lane.seconds) for lane in lanes}}
    stop = threading.Event()
    together = threading.Barrier(max(1, sum(lane.workers for lane in lanes if lane.bursts)))
    threads = []
    for lane in (one for one in lanes for _ in range(one.workers)):
        worker = Worker(lane, tokens[lane.host], stop, together)
        threads.append(threading.Thread(target=worker.send_bursts if lane.bursts else worker.send_steadily))
    for thread in threads:
        thread.start()
    sys.stdin.read()
    stop.set()
    together.abort()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main([Lane(**lane) for lane in json.loads(sys.argv[1])])
