"""One client of a streaming server: a request, its fate and why. Retries would hide a loss, so there are none."""

from __future__ import annotations

import http.client
import json
import select
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

TIMEOUT_SECONDS: Final = 90.0
_RETRYABLE: Final = frozenset({429, 503})
_QUESTION: Final = [{"role": "user", "content": "Tell me a story"}]


@dataclass(slots=True)
class Fate:
    """What became of a request: completed, refused (nothing was accepted, a retry is safe) or lost, and why."""

    name: str = "lost"
    why: str = ""
    reused: bool = False  # on a connection to the server that an earlier request had used
    streamed: bool = False  # the first event of the answer had come


class Client:
    """One connection at a time to one address: kept between requests, or a new one for each."""

    def __init__(self, host: str, tokens: int, *, keeps: bool, streaming: Callable[[], None] = lambda: None) -> None:
        """Connect nothing yet; `streaming` is called when the first event of an answer has come."""
        self._host = host
        self._tokens = tokens
        self._keeps = keeps
        self._streaming = streaming
        self._connection: http.client.HTTPConnection | None = None

    def request(self) -> Fate:
        """Ask for one stream of the given number of tokens and read it to its end."""
        fate = Fate(reused=self._is_open())
        try:
            connection = self._connect()
        except OSError as error:
            fate.name, fate.why = "refused", repr(error)
        else:
            try:
                self._exchange(connection, fate)
            except (OSError, http.client.HTTPException, ValueError) as error:  # the last one: broken JSON
                fate.name, fate.why = "lost", repr(error)
        if fate.name != "completed" or not self._keeps:
            self.close()
        return fate

    def close(self) -> None:
        """Close the connection if one is open."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _is_open(self) -> bool:
        """Say whether the kept connection can take a request; every pool looks before it sends."""
        kept = self._connection
        return kept is not None and kept.sock is not None and not select.select([kept.sock], [], [], 0)[0]

    def _connect(self) -> http.client.HTTPConnection:
        """Give the kept connection unless the server has closed it, else a new one."""
        if self._connection is not None and self._is_open():
            return self._connection
        self.close()
        self._connection = http.client.HTTPConnection(self._host, timeout=TIMEOUT_SECONDS)
        self._connection.connect()
        return self._connection

    def _exchange(self, connection: http.client.HTTPConnection, fate: Fate) -> None:
        ask = {"messages": _QUESTION, "max_tokens": self._tokens, "ignore_eos": True, "cache_prompt": False}
        body = json.dumps({**ask, "stream": True, "stream_options": {"include_usage": True}})
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        fate.reused = fate.reused or answer.getheader("X-Connection-Used") == "yes"
        if answer.status == http.client.OK:
            fate.why = self._read(answer, fate)
            fate.name = "lost" if fate.why else "completed"
        else:
            fate.why = f"HTTP {answer.status}"
            fate.name = "refused" if _is_safe(answer) else "lost"

    def _read(self, answer: http.client.HTTPResponse, fate: Fate) -> str:
        """Read a stream and give what is missing, empty when nothing is: the server's own count proves it."""
        counted = 0
        for line in answer:
            if not fate.streamed:
                fate.streamed = True
                self._streaming()
            if line.strip() == b"data: [DONE]":
                answer.read()
                return "" if counted == self._tokens else f"the server counts {counted} of {self._tokens} tokens"
            if line.startswith(b"data: "):
                usage = json.loads(line[6:]).get("usage") or {}
                counted = max(counted, usage.get("completion_tokens", 0))
        return "the stream ended without its final event"


def _is_safe(answer: http.client.HTTPResponse) -> bool:
    """Say whether nothing was accepted: the server says so, or the proxy never reached one."""
    return answer.status in _RETRYABLE or answer.getheader("X-Upstream-Connect") == "-"
