"""The ASGI middleware: counts, refuses, answers the drain hook. How a process ends stands in shutdown.py."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final
from urllib.parse import parse_qsl

from webhook.drainable import answers, metrics
from webhook.drainable.answers import App, Message, Receive, Scope, Send
from webhook.drainable.board import Board, join
from webhook.drainable.callers import Callers
from webhook.drainable.lifespan import run_lifespan
from webhook.drainable.shutdown import Cleanup, Shutdown

_MARK: Final = "drainhook.drainable"
_LOOK_SECONDS: Final = 0.05  # between looks at the board while a drain waits
# Least, most and default seconds: those of the annotations.
BOUNDS: Final = {"settle": (0, 300, 10), "wait": (1, 86400, 95)}
_DIGITS: Final = 5
_log = logging.getLogger("drainhook")
_Own = Callable[[Scope, Receive, Send], Awaitable[None]]


class Drainable:
    """An ASGI application that can be drained.

    app: the application; what it answers is passed on unchanged.
    drain, readiness, liveness, metrics: paths. The first is answered here; the others by the application where it has
    them, else here. None of the four is counted.
    sigterm_seconds: how long what is in flight may take after SIGTERM before it is cut; below the pod's reserve.
    cleanups: called, one after the other, when nothing is in flight any more and before the application's own lifespan
    ends: functions, coroutine functions or `Cleanup(call, seconds)`; `cleanup_seconds` limits each of the first two.
    drain_from: networks whose hosts may ask for a drain, besides the pod itself; token: or who sends it as a bearer.

    Raises ValueError for an option that makes no sense.
    """

    def __init__(  # noqa: PLR0913 (options of users, all but one by name)
        self,
        app: App,
        *,
        drain: str = "/drain",
        readiness: str = "/readyz",
        liveness: str = "/healthz",
        metrics: str = "/metrics",
        sigterm_seconds: float = 10,
        cleanups: Iterable[Cleanup | Callable[[], Any]] = (),
        cleanup_seconds: float = 2,
        drain_from: Iterable[str] = (),
        token: str | None = None,
    ) -> None:
        """Check the options; nothing is opened or installed before the server runs."""
        paths = {"drain": drain, "readiness": readiness, "liveness": liveness, "metrics": metrics}
        _check(paths, {"sigterm_seconds": sigterm_seconds, "cleanup_seconds": cleanup_seconds})
        self._app = app
        self._own: dict[str, _Own] = {
            drain: self._drain, readiness: self._readiness, liveness: self._liveness, metrics: self._metrics
        }  # fmt: skip
        # `app.mount("/metrics", ...)` of Starlette redirects to the path with a slash: a scrape must not count itself.
        self._own |= {f"{path}/": own for path, own in self._own.items()}
        self._callers = Callers(drain_from, token)
        made = [one if isinstance(one, Cleanup) else Cleanup(one, cleanup_seconds) for one in cleanups]
        self._shutdown = Shutdown(self._look, self._part, sigterm_seconds, made)
        self._tasks = self._shutdown.tasks
        self._board: Board | None = None
        self.collector = _collector(self._look)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection of a server."""
        if _MARK in scope:  # mounted in, or around, another one: that one counts
            await self._app(scope, receive, send)
            return
        scope[_MARK] = True
        if scope["type"] == "lifespan":
            self._look(anew=True)
            await run_lifespan(self._app, scope, receive, send, self._shutdown)
        elif scope["type"] in {"http", "websocket"}:
            await self._serve(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        board = self._board or self._look()
        path = scope["path"]
        if root := scope.get("root_path"):
            path = path.removeprefix(root)
        if path in self._own and scope["type"] == "http":
            await self._own[path](scope, receive, send)
            return
        board.enter()  # before the look: a drain that finds nobody can rely on it that nobody comes
        if board.refuses:
            board.leave()
            board.reject()
            await answers.refuse(scope, receive, send, "draining")
        else:
            await self._count(board, scope, receive, send)

    async def _count(self, board: Board, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what was counted until the application is done with it: its last byte, its background tasks."""
        started = False
        is_websocket = scope["type"] == "websocket"
        closes = not is_websocket and answers.keeps(scope)

        def watch(message: Message) -> Awaitable[None]:
            nonlocal started
            if not started:
                started = True
                if closes and board.began and message["type"] == "http.response.start":
                    message = answers.closing(message)
            return send(message)

        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
        if is_websocket:
            self._shutdown.open_websocket()
        try:
            await self._app(scope, receive, watch)
        except asyncio.CancelledError:
            if not self._shutdown.has_cut(task):
                raise
            await answers.cut(scope, receive, send, started=started)
        finally:
            board.leave()
            self._tasks.discard(task)
            if is_websocket:
                self._shutdown.close_websocket()

    async def _drain(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Serve for the settle time, then refuse new work, and answer when nothing is in flight or the wait is over."""
        if scope["method"] not in {"GET", "POST"}:
            await answers.answer(send, 405, "expected GET or POST\n", [(b"allow", b"GET, POST")])
            return
        if refusal := self._callers.refusal(scope):
            _log.warning("drain refused: %s", refusal)
            await answers.answer(send, 403, f"{refusal}\n")
            return
        try:
            settle, wait = seconds_of(scope)
        except ValueError as error:
            await answers.answer(send, 400, f"{error}\n")
            return
        board = self._look()
        began = time.monotonic()
        _log.info("drain: settle %g s, wait up to %g s, in flight %d", settle, wait, board.in_flight)
        board.begin(began, began + settle)
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
        try:
            end = await self._wait_idle(board, began + settle + wait)
        except asyncio.CancelledError:
            if not self._shutdown.has_cut(task):
                raise
            end = "cut"
        finally:
            self._tasks.discard(task)
        left = board.in_flight
        _log.info("drain ends after %.2f s: %s, in flight %d", time.monotonic() - began, end, left)
        await answers.answer(send, 200, f"{end}, in flight {left}\n", [answers.CLOSE] * answers.keeps(scope))

    async def _wait_idle(self, board: Board, deadline: float) -> str:
        said = False
        while time.monotonic() < deadline:
            refuses, in_flight = board.refuses, board.in_flight
            if refuses and not said:
                said = True
                _log.info("drain: new work is refused from now on, in flight %d", in_flight)
            if refuses and not in_flight:
                return "idle"
            await asyncio.sleep(_LOOK_SECONDS)
        return "deadline"

    async def _readiness(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._look().refuses:
            await answers.answer(send, 503, "draining\n")
        else:
            await answers.else_answer(self._app, scope, receive, send, lambda own: answers.answer(own, 200, "ready\n"))

    async def _liveness(self, scope: Scope, receive: Receive, send: Send) -> None:
        await answers.else_answer(self._app, scope, receive, send, lambda own: answers.answer(own, 200, "alive\n"))

    async def _metrics(self, scope: Scope, receive: Receive, send: Send) -> None:
        await answers.else_answer(self._app, scope, receive, send, self._page)

    async def _page(self, send: Send) -> None:
        await answers.answer(send, 200, metrics.text(self._look(), time.monotonic()), media=metrics.CONTENT_TYPE)

    def _look(self, *, anew: bool = False) -> Board:
        """Give the board; it is joined by the first who asks, in the process that serves.

        anew: a server starts, maybe the second of this process, or in a process that was forked off a warm one.
        """
        if self._board is None or (anew and self._board.is_stale):
            self._board = join()
        if anew:
            metrics.register(self.collector)
        return self._board

    def _part(self) -> None:
        """Take leave of the other workers."""
        metrics.unregister(self.collector)
        self._look().close()


def _collector(look: Callable[[], Board]) -> metrics.Collector:
    return metrics.Collector(lambda: metrics.values(look(), time.monotonic()))


def seconds_of(scope: Scope) -> tuple[float, float]:
    """Read settle and wait from a query; raise ValueError with the value and what would be right."""
    pairs = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    given = dict(pairs)
    if len(given) < len(pairs):
        raise ValueError("expected settle and wait once each")
    found = []
    for name, (least, most, default) in BOUNDS.items():
        text = given.pop(name, str(default))
        if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS and least <= int(text) <= most):
            raise ValueError(f"{name}={text[:40]}: expected whole seconds from {least} to {most}")
        found.append(float(text))
    if given:
        raise ValueError(f"{min(given)[:40]}: expected settle and wait only")
    return found[0], found[1]


def _check(paths: dict[str, str], limits: dict[str, float]) -> None:
    for name, path in paths.items():
        if not path.startswith("/"):
            raise ValueError(f"{name}={path!r}: expected a path like /{name}")
    if len(set(paths.values())) < len(paths):
        raise ValueError(f"{', '.join(paths)}: expected four different paths, not {', '.join(paths.values())}")
    for name, seconds in limits.items():
        if not 0 < seconds <= 600:  # noqa: PLR2004
            raise ValueError(f"{name}={seconds!r}: expected seconds above 0 and up to 600")
