"""Clients that stream chat completions from the engine and say what became of each request.

A request is completed only if every token and the final event arrived, lost if it was cut or answered by an error
after it was sent, and refused if the engine took no connection. Retries would hide a loss, so there are none.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from demo.engine import HOST, EngineError

_PATH = "/v1/chat/completions"
_TIMEOUT_SECONDS = 120.0


class Fate(StrEnum):
    """What became of a request."""

    RUNNING = "running"
    COMPLETED = "completed"
    LOST = "lost"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked for: how many tokens, and with which key."""

    tokens: int
    key: str = ""


class Stream(threading.Thread):
    """One request in its own thread and on its own connection. Times are seconds of the monotonic clock."""

    def __init__(self, name: str, port: int, ask: Ask) -> None:
        """Make the request; `start()` sends it."""
        super().__init__(name=name, daemon=True)
        self._port = port
        self._ask = ask
        self.fate = Fate.RUNNING
        self.tokens = 0
        self.error = ""
        self.sent = self.ended = 0.0
        self.first_token: float | None = None

    def run(self) -> None:
        """Send the request, read the stream to its end, and set the fate."""
        self.sent = time.monotonic()
        connection = http.client.HTTPConnection(HOST, self._port, timeout=_TIMEOUT_SECONDS)
        try:
            connection.connect()
            self.fate = self._exchange(connection)
        except ConnectionRefusedError as error:
            self.fate, self.error = Fate.REFUSED, str(error)
        except (OSError, http.client.HTTPException) as error:
            self.fate, self.error = Fate.LOST, f"{type(error).__name__}: {error}"
        finally:
            self.ended = time.monotonic()
            connection.close()

    def _exchange(self, connection: http.client.HTTPConnection) -> Fate:
        body = {
            "messages": [{"role": "user", "content": f"Tell me a story, {self.name}"}],
            "stream": True,
            "max_tokens": self._ask.tokens,
            "ignore_eos": True,  # random weights may want to stop at any time
            "cache_prompt": False,
        }
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if self._ask.key:
            headers["Authorization"] = f"Bearer {self._ask.key}"
        connection.request("POST", _PATH, json.dumps(body), headers)
        with connection.getresponse() as answer:
            if answer.status != http.client.OK:
                self.error = f"HTTP {answer.status}"
                return Fate.REFUSED if answer.status == http.client.SERVICE_UNAVAILABLE else Fate.LOST
            return self._read(answer)

    def _read(self, answer: http.client.HTTPResponse) -> Fate:
        predicted = 0
        for line in answer:
            if line.strip() == b"data: [DONE]":
                complete = predicted == self._ask.tokens
                self.tokens = predicted  # a piece of text may hold several tokens, or a part of one
                self.error = "" if complete else f"the engine counts {predicted} of {self._ask.tokens} tokens"
                return Fate.COMPLETED if complete else Fate.LOST
            if line.startswith(b"data: "):
                predicted = max(predicted, self._count(json.loads(line[len(b"data: ") :])))
        self.error = "the stream ended without its final event"
        return Fate.LOST

    def _count(self, event: dict[str, Any]) -> int:
        """Note a piece of text; the last event holds the engine's own count, the others 0."""
        choices = event.get("choices") or [{}]
        if choices[0].get("delta", {}).get("content"):
            self.tokens += 1
            self.first_token = self.first_token or time.monotonic()
        predicted: int = event.get("timings", {}).get("predicted_n", 0)
        return predicted


def tokens_per_second(port: int, streams: int, key: str = "") -> float:
    """Measure the speed of each of `streams` on the idle engine, to size load in seconds on any machine."""
    Stream("warm-up", port, Ask(20, key)).run()
    probes = [Stream(f"probe {n}", port, Ask(200, key)) for n in range(streams)]
    for probe in probes:
        probe.start()
    for probe in probes:
        probe.join()
        if probe.fate is not Fate.COMPLETED:
            raise EngineError(f"{probe.name} was {probe.fate}: {probe.error}")
    return max(probe.tokens / (probe.ended - probe.sent) for probe in probes)
