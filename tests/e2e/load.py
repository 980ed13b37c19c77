"""A program that streams chat completions through a Service and prints what became of each request, a line each.

It runs in the network of the pods until its standard input ends. Retries would hide a loss, so there are none. Two
clients: `new` opens a connection per request, `pool` keeps its connections and pauses for longer than an idle window
between two bursts. Nothing of Kubernetes is known here.
"""

from __future__ import annotations

import http.client
import json
import select
import sys
import threading
import time
from typing import Any

WORKERS = 2  # of each client
PAUSE_SECONDS = 0.3
BURST_SECONDS = 11.0  # settle 3 s, an idle window of 5 s, and some to spare
TIMEOUT_SECONDS = 90.0
_RETRYABLE = frozenset({429, 503})
_printing = threading.Lock()


def say(**fields: Any) -> None:
    """Print one line; `at` is the time of day in seconds."""
    with _printing:
        print(json.dumps({"at": time.time(), **fields}), flush=True)


def read(answer: http.client.HTTPResponse, client: str, tokens: int) -> str:
    """Read a stream to its end and give what is missing, empty when nothing is: the server's own count proves it."""
    counted, first = 0, True
    for line in answer:
        if first:
            say(event="streaming", client=client)
            first = False
        if line.strip() == b"data: [DONE]":
            answer.read()
            return "" if counted == tokens else f"the server counts {counted} of {tokens} tokens"
        if line.startswith(b"data: "):
            counted = max(counted, json.loads(line[6:]).get("timings", {}).get("predicted_n", 0))
    return "the stream ended without its final event"


class Client:
    """One connection at a time to one address."""

    def __init__(self, kind: str, host: str, tokens: int) -> None:
        """Connect nothing yet."""
        self._kind = kind
        self._host = host
        self._tokens = tokens
        self._connection: http.client.HTTPConnection | None = None

    def request(self) -> None:
        """Send one request and print its fate."""
        began, reused = time.time(), self._is_open()
        try:
            connection = self._connect()
        except OSError as error:
            fate, why = "refused", repr(error)
        else:
            fate, why = self._exchange(connection)
        if fate != "completed" or self._kind == "new":
            self._close()
        say(event="ended", client=self._kind, fate=fate, why=why, began=began, reused=reused)

    def _is_open(self) -> bool:
        """Say whether the kept connection can take a request; every pool looks before it sends."""
        kept = self._connection
        return kept is not None and kept.sock is not None and not select.select([kept.sock], [], [], 0)[0]

    def _connect(self) -> http.client.HTTPConnection:
        """Give the kept connection unless the server has closed it, else a new one."""
        if self._connection is not None and self._is_open():
            return self._connection
        self._close()
        self._connection = http.client.HTTPConnection(self._host, timeout=TIMEOUT_SECONDS)
        self._connection.connect()
        return self._connection

    def _exchange(self, connection: http.client.HTTPConnection) -> tuple[str, str]:
        messages = [{"role": "user", "content": "Tell me a story"}]
        ask = {"messages": messages, "stream": True, "max_tokens": self._tokens, "ignore_eos": True}
        headers = {"Content-Type": "application/json"}
        try:
            connection.request("POST", "/v1/chat/completions", json.dumps({**ask, "cache_prompt": False}), headers)
            answer = connection.getresponse()
            if answer.status != http.client.OK:
                return ("refused" if answer.status in _RETRYABLE else "lost"), f"HTTP {answer.status}"
            missing = read(answer, self._kind, self._tokens)
        except (OSError, http.client.HTTPException) as error:
            return "lost", repr(error)
        return ("lost" if missing else "completed"), missing

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def send_new(client: Client, stop: threading.Event) -> None:
    """Send one request after the other."""
    while not stop.wait(PAUSE_SECONDS):
        client.request()


def send_bursts(client: Client, stop: threading.Event, start: float) -> None:
    """Send two requests, one after the other, in each burst; all workers begin at the same moment."""
    burst = 0
    while not stop.wait(max(0.0, start + burst * BURST_SECONDS - time.monotonic())):
        client.request()
        time.sleep(PAUSE_SECONDS)  # llama.cpp closes the connection after a stream and does not announce it
        client.request()
        burst = max(burst + 1, int((time.monotonic() - start) // BURST_SECONDS) + 1)


def size(host: str, seconds: float) -> int:
    """Give how many tokens one stream has in so many seconds on this machine, now."""
    for tokens in (20, 60):  # the first one warms up
        began = time.monotonic()
        Client("sizing", host, tokens).request()
    return max(30, min(1500, int(tokens * seconds / (time.monotonic() - began))))


def main(host: str, seconds: float) -> None:
    """Send streams of about that length until standard input ends, then let what was sent come to its end."""
    tokens = size(host, seconds)
    stop, start = threading.Event(), time.monotonic()
    threads = []
    for _ in range(WORKERS):
        threads.append(threading.Thread(target=send_new, args=(Client("new", host, tokens), stop)))
        threads.append(threading.Thread(target=send_bursts, args=(Client("pool", host, tokens), stop, start)))
    for thread in threads:
        thread.start()
    sys.stdin.read()
    stop.set()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
