"""A small LLM server of one's own: FastAPI over llama.cpp in the same process, OpenAI-compatible, and drainable.

The last line is all that draining takes. The middleware answers /drain, /readyz and /healthz, counts what is in flight
and ends the process with 0; drainhook's hook calls it. MODEL names a GGUF file, else a random one is made at the start.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import random_model
import xllamacpp
from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST, Counter, generate_latest

from webhook.drainable import Drainable

SLOTS: Final = int(os.environ.get("SLOTS", "8"))  # requests that generate at the same time; more of them wait
CONTEXT: Final = int(os.environ.get("CONTEXT", "8192"))  # tokens of one request with its answer
THREADS: Final = int(os.environ.get("THREADS", "1"))  # of llama.cpp; no more than the container may use of its CPUs
_WAITING: Final = 256  # requests that may be with llama.cpp, waiting or not; each has a thread
_HEADERS: Final = {"X-Served-By": os.environ.get("HOSTNAME") or socket.gethostname()}  # the pod's name

REQUESTS = Counter("llm_requests", "Chat requests by how they ended.", ["outcome"])
TOKENS = Counter("llm_tokens", "Tokens read and written.", ["kind"])


class Model:
    """The model in memory, and the threads that wait for it."""

    def __init__(self) -> None:
        """Load nothing yet: a process that only imports this module needs no memory."""
        self.name = "random"
        self.loaded = 0
        self._engine: xllamacpp.Server | None = None
        self._threads = ThreadPoolExecutor(_WAITING)

    def load(self) -> None:
        """Load the user's model or make a random one."""
        given = os.environ.get("MODEL")
        path = Path(given) if given else random_model.build(Path(tempfile.gettempdir()) / "random.gguf")
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(path)
        parameters.hostnames = ["127.0.0.1"]  # llama.cpp also listens by itself: in the pod only, on any free port
        parameters.port = 0
        parameters.n_parallel = SLOTS
        parameters.n_ctx = SLOTS * CONTEXT
        parameters.cpuparams.n_threads = THREADS
        parameters.warmup = False
        parameters.ui = False
        self._engine = xllamacpp.Server(parameters)
        self.name, self.loaded = path.stem, int(time.time())

    def free(self) -> None:
        """Give the model's memory back; called when nothing is in flight any more."""
        self._threads.shutdown(cancel_futures=True)
        self._engine = None

    async def answers(self, body: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Give the chunks of a streamed answer, or the one answer; stop generating when nobody asks for the next."""
        loop = asyncio.get_running_loop()
        chunks: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        gone = threading.Event()

        def take(chunk: dict[str, Any]) -> bool:
            loop.call_soon_threadsafe(chunks.put_nowait, chunk)
            return gone.is_set()  # true ends the generation

        job = loop.run_in_executor(self._threads, self._generate, body, take)
        job.add_done_callback(lambda _: chunks.put_nowait(None))
        try:
            while (chunk := await chunks.get()) is not None:
                yield chunk
            await job  # raises what went wrong
        finally:
            gone.set()

    def _generate(self, body: dict[str, Any], take: Callable[[dict[str, Any]], bool]) -> None:
        if self._engine is None:
            raise RuntimeError("the model is not in memory")
        if body["stream"]:
            self._engine.handle_chat_completions(body, take)
        else:
            take(self._engine.handle_chat_completions(body))


model = Model()


@asynccontextmanager
async def lifespan(_api: FastAPI) -> AsyncIterator[None]:
    """Load the model before the server listens, so that a pod is ready only when it can answer."""
    await asyncio.to_thread(model.load)
    yield


api = FastAPI(title="llm-server", lifespan=lifespan)


@api.get("/v1/models")
async def models() -> dict[str, Any]:
    """Name the one model."""
    card = {"id": model.name, "object": "model", "created": model.loaded, "owned_by": "llm-server"}
    return {"object": "list", "data": [card]}


@api.get("/metrics")
async def metrics() -> Response:
    """Give the counters of this module, and those of the middleware, which joins the same registry."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


@api.post("/v1/chat/completions")
async def complete(body: dict[str, Any]) -> Response:
    """Answer a chat request, whole or as a stream of events."""
    told = bool((body.get("stream_options") or {}).get("include_usage"))
    ask = {**body, "stream": bool(body.get("stream")), "stream_options": {"include_usage": True}}
    answers = model.answers(ask)
    try:
        first = await anext(answers)
    except ValueError as error:  # what llama.cpp says about a request that it cannot read
        first = {"error": {"code": 400, "message": str(error), "type": "invalid_request_error"}}
    if "error" in first:
        REQUESTS.labels("refused").inc()
        return JSONResponse(first, first["error"]["code"], _HEADERS)
    if ask["stream"]:
        return StreamingResponse(_events(first, answers, told=told), 200, _HEADERS, "text/event-stream")
    _count(first)
    REQUESTS.labels("completed").inc()
    return JSONResponse(first, 200, _HEADERS)


async def _events(first: dict[str, Any], answers: AsyncIterator[dict[str, Any]], *, told: bool) -> AsyncIterator[str]:
    """Give server-sent events; the last chunk holds the counts, which are for those who asked."""
    outcome = "cut"  # the client has gone, or the time after SIGTERM is over
    try:
        yield _event(first)
        async for chunk in answers:
            if _count(chunk) and not told:
                continue
            yield _event(chunk)
        outcome = "completed"
        yield "data: [DONE]\n\n"
    finally:
        REQUESTS.labels(outcome).inc()


def _event(chunk: dict[str, Any]) -> str:
    return f"data: {json.dumps(chunk)}\n\n"


def _count(chunk: dict[str, Any]) -> bool:
    """Count the tokens of a request where its counts are in this chunk, and say whether they are."""
    usage = chunk.get("usage")
    if not usage:
        return False
    TOKENS.labels("prompt").inc(usage["prompt_tokens"])
    TOKENS.labels("completion").inc(usage["completion_tokens"])
    return True


app = Drainable(api, cleanups=[model.free])
