"""Load on a running engine beside a hook: started together, and timed against each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection

from demo.engine import HOST, Engine
from demo.kubelet import Hook, run_hook
from demo.load import Ask, Fate, Stream

_PATIENCE_SECONDS = 40.0


@dataclass(frozen=True, slots=True)
class Drained:
    """How a hook ended beside its load. `behind` is the time from the last answer to the end of the hook."""

    code: int | None
    seconds: float
    behind: float
    fates: tuple[Fate, ...]


def drain(hook: Hook, streams: Sequence[Stream], deadline: float = 60) -> Drained:
    """Start the requests, run the hook once the first one streams, and wait for both."""
    for stream in streams:
        stream.start()
    wait(lambda: any(stream.first_token for stream in streams) or not any(stream.is_alive() for stream in streams))
    start = time.monotonic()
    code = run_hook(hook, deadline)
    end = time.monotonic()
    for stream in streams:
        stream.join()
    behind = end - max((stream.ended for stream in streams), default=end)
    return Drained(code, end - start, behind, tuple(stream.fate for stream in streams))


def requests(engine: Engine, count: int, tokens: int = 150, key: str = "") -> list[Stream]:
    """Make requests that are not sent yet."""
    return [Stream(f"request {n}", engine.port, Ask(tokens, key)) for n in range(count)]


def wait(is_so: Callable[[], bool]) -> None:
    """Return as soon as it is so; fail when it never is."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


@contextmanager
def kept_alive(engine: Engine) -> Iterator[None]:
    """Hold a pooled connection open, as clients do: a cheap request now and then keeps the server from closing it."""
    connection = HTTPConnection(HOST, engine.port, timeout=10)
    over = threading.Event()

    def ask() -> None:
        while True:
            connection.request("GET", "/health")
            connection.getresponse().read()
            if over.wait(0.5):
                return

    client = threading.Thread(target=ask)
    client.start()
    try:
        yield
    finally:
        over.set()
        client.join()
        connection.close()
