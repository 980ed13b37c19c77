"""The clients of try.py: run inside the cluster, where pods and Services are reached by address. No retries.

    python3 - streams URL COUNT TOKENS     COUNT streams at the same time, each of exactly TOKENS tokens
    python3 - ask METHOD URL               one request, GET or POST

Each line of the output is one JSON object: a stream that has begun, a request that has ended.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from typing import Any, Final
from urllib.parse import urlsplit

TIMEOUT_SECONDS: Final = 180.0
CHAT: Final = "/v1/chat/completions"
_lock = threading.Lock()


def tell(**fields: Any) -> None:
    """Write one line, whole."""
    with _lock:
        print(json.dumps(fields), flush=True)


def send(url: str, method: str, body: dict[str, Any] | None = None) -> http.client.HTTPResponse:
    """Send a request on a connection of its own and give the answer, of which the body is not read yet."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT_SECONDS)
    data = json.dumps(body) if body is not None else None
    connection.request(method, parts.path or "/", data, {"Content-Type": "application/json"})
    return connection.getresponse()


def question(tokens: int, **more: Any) -> dict[str, Any]:
    """Give a chat request for exactly so many tokens."""
    said = [{"role": "user", "content": "Tell me a story"}]
    return {"messages": said, "max_tokens": tokens, "ignore_eos": True, **more}


def stream(url: str, tokens: int) -> None:
    """Read one stream to its end; only the server's own count proves that nothing is missing."""
    began = time.monotonic()
    found: dict[str, Any] = {"status": 0, "pod": "", "tokens": 0, "complete": False, "writing": 0.0, "why": ""}
    try:
        answer = send(url + CHAT, "POST", question(tokens, stream=True, stream_options={"include_usage": True}))
        found |= {"status": answer.status, "pod": answer.getheader("X-Served-By", "")}
        first = time.monotonic()
        tell(event="began", pod=found["pod"])
        for line in answer:
            if line.startswith(b"data: {"):
                usage = json.loads(line[6:]).get("usage") or {}
                found["tokens"] = usage.get("completion_tokens", found["tokens"])
            elif line.strip() == b"data: [DONE]":
                found["complete"] = found["tokens"] == tokens
        found["writing"] = round(time.monotonic() - first, 2)
        found["why"] = "" if found["complete"] else f"the server counted {found['tokens']} of {tokens} tokens"
    except (OSError, http.client.HTTPException, ValueError) as error:
        found["why"] = repr(error)
    tell(event="ended", seconds=round(time.monotonic() - began, 2), **found)


def ask(method: str, url: str) -> None:
    """Send one request, a short chat where it is a POST, and tell what came."""
    try:
        answer = send(url, method, question(3) if method == "POST" else None)
        head = {"retry_after": answer.getheader("Retry-After", ""), "pod": answer.getheader("X-Served-By", "")}
        tell(status=answer.status, text=answer.read().decode(), **head)
    except (OSError, http.client.HTTPException) as error:
        tell(status=0, text=repr(error), retry_after="", pod="")


def main(arguments: list[str]) -> None:
    """Do what the command line says."""
    if arguments[0] == "ask":
        ask(*arguments[1:])
        return
    url, count, tokens = arguments[1], int(arguments[2]), int(arguments[3])
    threads = [threading.Thread(target=stream, args=(url, tokens)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
