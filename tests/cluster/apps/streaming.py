"""A plain FastAPI application that streams chat completions, as a team would write one; it knows nothing of draining.

Tokens come at TOKENS_PER_SECOND (default 50). HANG_METRICS=1 makes its metrics page accept and never answer.
DRAINABLE wraps it in drainhook's middleware; its value are the networks, besides the pod itself, that may ask for a
drain. On SIGTERM uvicorn refuses new connections and lets streams end.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, StreamingResponse
from pydantic import BaseModel

PAUSE_SECONDS = 1 / float(os.environ.get("TOKENS_PER_SECOND", "50"))
app = FastAPI()
running: set[int] = set()
peers: set[str] = set()


class Ask(BaseModel):
    """The part of a chat request that matters here."""

    max_tokens: int = 100


@app.get("/readyz")
def readyz() -> dict[str, str]:
    """Answer while the process lives."""
    return {"status": "ok"}


@app.get("/metrics")
async def metrics() -> PlainTextResponse:
    """Count the streams that are being sent."""
    if os.environ.get("HANG_METRICS"):
        await asyncio.Event().wait()
    return PlainTextResponse(f"# TYPE inflight_requests gauge\ninflight_requests {len(running)}\n")


@app.post("/v1/chat/completions")
async def complete(ask: Ask, request: Request) -> StreamingResponse:
    """Stream as many tokens as were asked for, then the final event; a header tells whether the connection is kept."""
    peer = str(request.client)
    headers = {"X-Connection-Used": "yes" if peer in peers else "no"}
    peers.add(peer)
    return StreamingResponse(_tokens(ask.max_tokens), media_type="text/event-stream", headers=headers)


async def _tokens(count: int) -> AsyncIterator[str]:
    token = object()
    running.add(id(token))
    try:
        for number in range(count):
            yield f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': f'{number} '}}]})}\n\n"
            await asyncio.sleep(PAUSE_SECONDS)
        yield f"data: {json.dumps({'choices': [{'index': 0, 'delta': {}, 'finish_reason': 'length'}]})}\n\n"
        # The server's own count, by which a client knows that nothing is missing.
        yield f"data: {json.dumps({'choices': [], 'usage': {'completion_tokens': count}})}\n\ndata: [DONE]\n\n"
    finally:
        running.discard(id(token))


if "DRAINABLE" in os.environ:
    from webhook.drainable import Drainable

    app = Drainable(app, drain_from=os.environ["DRAINABLE"].split())
