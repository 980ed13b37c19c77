"""The routes: bytes in, a decision from the core, bytes out; and the one broad `except`.

What is decided stands in webhook.core. Here stands what a failure of our own means: the object is allowed, unchanged.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import orjson
from fastapi import FastAPI
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from webhook import names
from webhook.core.admission import decide_pod, prove, validate
from webhook.core.decision import Allow, Decision, Deny, Patch, Policy, Request
from webhook.core.profile import Catalog, Json
from webhook.core.review import Review, ReviewFault, decision_key, open_answer, parse, reasons, respond
from webhook.server.log import Log
from webhook.server.metrics import Metrics
from webhook.server.recall import Recall

MAX_BODY_BYTES: Final = 7 << 20  # an UPDATE carries two objects of up to 3 MB each
JSON: Final = "application/json"
UNPROVEN: Final = "the patch did not lead to the decided object and was held back; please report this."
FAILED: Final = "a failure inside the webhook, nothing was changed; its log has the uid {uid}."

Decider = Callable[[Request, Catalog, Policy], Decision]


@dataclass(slots=True)
class Health:
    """What `/readyz` answers: 200 for `ready`, else 503. Set by the process around the routes."""

    state: str = "ready"


@dataclass(frozen=True, slots=True)
class Context:
    """What the routes need besides the request."""

    catalog: Catalog
    policy: Policy
    metrics: Metrics
    log: Log
    health: Health


def create_app(context: Context) -> FastAPI:
    """Assemble the routes; the body limit counts while the body streams in (413)."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, max_body_size=MAX_BODY_BYTES)
    mutating = Endpoint(context, "mutate", decide_pod, Patch)
    validating = Endpoint(context, "validate", validate, Deny)
    app.add_route(names.MUTATE_PATH, mutating.handle, methods=["POST"])
    app.add_route(names.VALIDATE_PATH, validating.handle, methods=["POST"])

    async def healthz(_: HttpRequest) -> Response:
        return _text(200, "ok")

    async def readyz(_: HttpRequest) -> Response:
        state = context.health.state
        return _text(200 if state == "ready" else 503, state)

    app.add_route(names.HEALTHZ_PATH, healthz, methods=["GET"])
    app.add_route(names.READYZ_PATH, readyz, methods=["GET"])
    return app


class Endpoint:
    """One admission path. `other` is the only decision besides Allow that it may answer with."""

    def __init__(self, context: Context, path: str, decider: Decider, other: type[Patch | Deny]) -> None:
        """Bind the path's name in metrics and log to the function of the core that decides for it."""
        self._context = context
        self._path = path
        self._decider = decider
        self._other = other
        self._judge = Recall(self._judged)

    async def handle(self, request: HttpRequest) -> Response:
        """Answer one HTTP request; the content type is looked at before the body is read (W10)."""
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media != JSON:
            return _text(415, f"The content type must be {JSON}.")
        in_flight = self._context.metrics.in_flight
        in_flight.inc()
        try:
            body = await request.body()
        except ClientDisconnect:
            return _text(400, "The client went away.")
        else:
            return self.answer(body)
        finally:
            in_flight.dec()

    def answer(self, body: bytes) -> Response:
        """Answer one body: never a 500, always the uid where one can be read (W1, W8)."""
        started = time.perf_counter()
        try:
            document = orjson.loads(body)
        except ValueError:  # bad UTF-8, lone surrogates, NaN, too deep, too large a number: all of them are (W12)
            document = None
        review = parse(document)
        if isinstance(review, ReviewFault):
            return self._fault(review, started)
        try:
            return self._decided(review, started)
        except Exception as error:  # noqa: BLE001 (the one place: a bug of ours must not block anybody's pod)
            return self._failed(review, error, started)

    def _judged(self, request: Request) -> tuple[Decision, bool]:
        """Decide, and say whether a patch is proven (W5)."""
        catalog, policy = self._context.catalog, self._context.policy
        decision = self._decider(request, catalog, policy)
        if not isinstance(decision, (Allow, self._other)):
            raise TypeError(type(decision).__name__)
        return decision, not isinstance(decision, Patch) or prove(request, decision, catalog, policy)

    def _decided(self, review: Review, started: float) -> Response:
        """Answer, count and log what was decided."""
        context, request = self._context, review.request
        decision, is_proven = self._judge(request)
        key, notes = decision_key(decision), []
        if isinstance(decision, Patch) and not is_proven:
            context.metrics.proof_failures.inc()
            decision = Allow(decision.outcomes, decision.findings)
            key, notes = "unproven", [UNPROVEN]
        response = _json(respond(review, decision, orjson.dumps, notes))
        seconds = time.perf_counter() - started
        said = reasons(decision)
        context.metrics.answered(self._path, request.operation, key, seconds)
        context.metrics.reasoned(said)
        operations = len(decision.operations) if isinstance(decision, Patch) else 0
        level = "error" if key == "unproven" else "info"
        self._log(level, review, decision=key, reasons=said, operations=operations, ms=round(seconds * 1000, 3))
        return response

    def _fault(self, fault: ReviewFault, started: float) -> Response:
        """Answer a review that cannot be decided."""
        self._context.metrics.answered(self._path, "", "fault", time.perf_counter() - started)
        self._context.log.line("warning", "fault", path=self._path, uid=fault.uid, message=fault.message)
        if not fault.uid:
            return _text(400, fault.message)
        return _json(open_answer(fault.uid, fault.version, fault.message))

    def _failed(self, review: Review, error: Exception, started: float) -> Response:
        """Allow, and tell the log where the failure is; what the exception says may hold a user's values (O3)."""
        context, request = self._context, review.request
        context.metrics.answered(self._path, request.operation, "error", time.perf_counter() - started)
        context.metrics.errors[self._path].inc()
        frames = [
            f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)
        ]
        text = {"message": str(error)} if context.log.is_debug else {}
        self._log("error", review, decision="error", error=type(error).__name__, frames=frames[-20:], **text)
        return _json(open_answer(request.uid, review.version, FAILED.format(uid=request.uid)))

    def _log(self, level: str, review: Review, **fields: Json) -> None:
        """Write the line of one review: who and what, never the object."""
        request = review.request
        self._context.log.line(
            level,
            "admission",
            path=self._path,
            uid=request.uid,
            namespace=request.namespace,
            name=request.name,
            kind=request.kind,
            operation=request.operation,
            subresource=request.subresource,
            dryRun=request.dry_run,
            user=request.user,
            **fields,
        )


def _json(document: Json) -> Response:
    return Response(orjson.dumps(document), media_type=JSON)


def _text(status: int, text: str) -> Response:
    return Response(text + "\n", status_code=status, media_type="text/plain")
