"""A plain FastAPI application that streams chat completions, as a team would write one; it knows nothing of draining.

Tokens come at TOKENS_PER_SECOND (default 50). HANG_METRICS=1 makes its metrics page accept and never answer.
On SIGTERM uvicorn refuses new connections and lets streams end.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse, StreamingResponse
from pydantic import BaseModel

PAUSE_SECONDS = 1 / float(os.environ.get("TOKENS_PER_SECOND", "50"))
app = FastAPI()
running: set[int] = set()


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
async def complete(ask: Ask) -> StreamingResponse:
    """Stream as many tokens as were asked for, then the final event."""
    return StreamingResponse(_tokens(ask.max_tokens), media_type="text/event-stream")


async def _tokens(count: int) -> AsyncIterator[str]:
    token = object()
    running.add(id(token))
    try:
        for number in range(count):
            yield f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': f'{number} '}}]})}\n\n"
            await asyncio.sleep(PAUSE_SECONDS)
        # llama.cpp's last event: the server's own count, by which a client knows that nothing is missing.
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}], "timings": {"predicted_n": count}}
        yield f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n"
    finally:
        running.discard(id(token))
