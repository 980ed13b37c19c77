"""SIGTERM: new work is refused, what is in flight has its time, clean-ups run, and the process ends with 0.

The server stops by its own handler, which is called from ours. uvicorn raises the signal again when it has stopped, so
that a process which is not PID 1 would end with 143: it is told to stop without having seen the signal.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from webhook.drainable.board import Board

_TWICE_SECONDS: Final = 1.0  # a signal to a process group reaches a worker directly and by its supervisor
_SPARE_SECONDS: Final = 1.0
_RECENT_SECONDS: Final = 5.0
_log = logging.getLogger("drainhook")


@dataclass(frozen=True, slots=True)
class Cleanup:
    """A callback, sync or async, without arguments, and the seconds that it may take."""

    call: Callable[[], Any]
    seconds: float


class Shutdown:
    """The end of one application in one process."""

    def __init__(
        self, look: Callable[[], Board], part: Callable[[], None], seconds: float, cleanups: Iterable[Cleanup]
    ) -> None:
        """Take what gives the board, what closes it, seconds for what is in flight at SIGTERM, and the callbacks."""
        self.tasks: set[asyncio.Task[Any]] = set()
        self._websockets = 0
        self._look = look
        self._part = part
        self._seconds = seconds
        self._cleanups = list(cleanups)
        self._limits = sum(cleanup.seconds for cleanup in self._cleanups)
        self._forget()

    def _forget(self) -> None:
        """Know nothing of an end: a server may run a second time in a process."""
        self._cut: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._previous: Any = None
        self._server: Any = None  # uvicorn's, which is told by an attribute
        self._at = 0.0  # of the first SIGTERM
        self._cancelled_at = 0.0  # the last task that the server cancelled
        self._in_flight = 0
        self._has_cut = False
        self._cutter: asyncio.TimerHandle | None = None
        self._cleaning: asyncio.Task[None] | None = None
        self._is_idle = threading.Event()

    def has_cut(self, task: asyncio.Task[Any] | None) -> bool:
        """Say whether this task was cancelled from here, and take that back."""
        if task is None or task not in self._cut:
            self._cancelled_at = time.monotonic()
            return False
        self._cut.discard(task)
        task.uncancel()
        return True

    def open_websocket(self) -> None:
        """Count one: uvicorn closes them at once when it is told to stop, so it is told when none is left."""
        self._websockets += 1

    def close_websocket(self) -> None:
        """Count one less."""
        self._websockets -= 1
        if self._at and not self._websockets:
            self._tell_server()

    def start(self) -> None:
        """Handle SIGTERM from now on, where the server does: its handler is called from ours."""
        _speak()
        self._forget()
        self._loop = asyncio.get_running_loop()
        if threading.current_thread() is not threading.main_thread():
            return
        previous = signal.getsignal(signal.SIGTERM)
        # hypercorn's workers have none: an event ends them, and once the first has ended, SIGTERM would cut the others.
        if not callable(previous) and not _is_worker():
            _log.warning("the server handles no SIGTERM, so the process ends by it as before, without clean-ups")
            return
        self._previous = previous
        owner = getattr(previous, "__self__", None)
        self._server = owner if hasattr(owner, "should_exit") else None
        signal.signal(signal.SIGTERM, self._on_sigterm)
        # uvicorn's list of signals that it raises again: one that came while the application was imported.
        captured = getattr(owner, "_captured_signals", None)
        if isinstance(captured, list) and signal.SIGTERM in captured:
            captured[:] = [number for number in captured if number != signal.SIGTERM]
            self._begin()

    async def stop(self) -> None:
        """Run the clean-ups and say how it went; called when the server has stopped serving."""
        board = self._look()
        lost = board.here
        # hypercorn cancels what is left after --graceful-timeout; a thread of it may hang all the same.
        is_left = lost or self._has_cut or time.monotonic() - self._cancelled_at < _RECENT_SECONDS
        if is_left and not self._at and _is_worker():
            self._start_watch()
        await self._clean_up()
        began = board.began
        took = f"shutdown took {time.monotonic() - began:.2f} s" if began else "shutdown without a drain"
        at = self._in_flight if self._at else "unknown"  # no signal came
        _log.info("%s: in flight at SIGTERM %s, at the end %d, refused %d", took, at, lost, board.rejected)
        self.give_up(must_end=bool(is_left))

    def give_up(self, *, must_end: bool = False) -> None:
        """Leave SIGTERM to who had it before. must_end: threads may hang, so the process is still watched."""
        if not must_end:
            self._is_idle.set()
        if self._cutter is not None and not must_end:
            self._cutter.cancel()
        if self._previous is not None and signal.getsignal(signal.SIGTERM) == self._on_sigterm:
            # A process that is about to end is not to be ended by a supervisor's late or second signal.
            is_ending = self._at or not callable(self._previous)
            signal.signal(signal.SIGTERM, signal.SIG_IGN if is_ending else self._previous)
        self._part()

    def _on_sigterm(self, number: int, frame: FrameType | None) -> None:
        if not self._at:
            self._begin()
        elif time.monotonic() - self._at > _TWICE_SECONDS:
            self._in_loop(self._hurry)
        if self._server is None and callable(self._previous):
            self._previous(number, frame)
        elif not self._websockets:
            self._tell_server()

    def _tell_server(self) -> None:
        if self._server is not None:
            self._server.should_exit = True

    def _begin(self) -> None:
        """Note the first SIGTERM. Nothing is logged here: the signal may have come in the midst of a log line."""
        self._at = time.monotonic()
        board = self._look()
        board.end(self._at)
        self._in_flight = board.here
        self._in_loop(self._give_time)
        self._start_watch()

    def _give_time(self) -> None:
        _log.info("SIGTERM: in flight %d, up to %g s for it", self._in_flight, self._seconds)
        left = self._at + self._seconds - time.monotonic()
        self._cutter = asyncio.get_running_loop().call_later(max(0, left), self._cut_all)

    def _hurry(self) -> None:
        _log.warning("a second SIGTERM: what is in flight is cut")
        self._cut_all()

    def _in_loop(self, call: Callable[[], Any]) -> None:
        with contextlib.suppress(RuntimeError):  # closed
            if self._loop is not None:
                self._loop.call_soon_threadsafe(call)

    def _cut_all(self) -> None:
        if self.tasks:
            self._has_cut = True
            _log.warning("%d in flight are cut after %.1f s", self._look().here, time.monotonic() - self._at)
        for task in list(self.tasks):
            self._cut.add(task)
            task.cancel("the time after SIGTERM is over")
        self._in_loop(self._tell_server)  # also where a websocket resists

    def _clean_up(self) -> asyncio.Task[None]:
        """Give the task that runs the callbacks, one for each end."""
        if self._cleaning is None:
            self._cleaning = asyncio.get_running_loop().create_task(self._run_all())
        return self._cleaning

    async def _run_all(self) -> None:
        for cleanup in self._cleanups:
            await _run(cleanup)

    def _start_watch(self) -> None:
        threading.Thread(target=self._watch, args=(self._is_idle,), name="drainhook-watch", daemon=True).start()

    def _watch(self, is_idle: threading.Event) -> None:
        """End the process if the server cannot: a hanging thread cannot be cut, and the loop may be blocked."""
        if is_idle.wait(self._seconds + _SPARE_SECONDS):
            return
        self._in_loop(self._clean_up)  # the server waits for what hangs, and would never come to them
        if is_idle.wait(self._limits + _SPARE_SECONDS):
            return
        threading.Timer(_SPARE_SECONDS, os._exit, (0,)).start()  # nobody may read what is logged
        _log.error("the server did not stop by itself: in flight %d, the process ends now", self._look().here)
        os._exit(0)


def _is_worker() -> bool:
    """Say whether a supervisor of uvicorn, hypercorn or granian has started this process for the server alone."""
    return multiprocessing.parent_process() is not None


def _speak() -> None:
    """Where nobody configured logging, let the lines go where the server's go."""
    if not _log.hasHandlers():
        _log.addHandler(logging.StreamHandler(sys.stderr))
        _log.handlers[-1].setFormatter(logging.Formatter("drainhook: %(message)s"))
        _log.setLevel(logging.INFO)


async def _run(cleanup: Cleanup) -> None:
    """Run one callback within its limit, as a task of its own: one that resists a cancellation is left behind."""
    name = getattr(cleanup.call, "__qualname__", repr(cleanup.call))
    began = time.monotonic()
    task = asyncio.get_running_loop().create_task(_call(cleanup.call))
    await asyncio.wait({task}, timeout=cleanup.seconds)
    if not task.done():
        task.cancel()
        _log.warning("clean-up %s did not end within %g s", name, cleanup.seconds)
    elif task.cancelled():
        _log.warning("clean-up %s failed: it cancelled itself", name)
    elif (error := task.exception()) is not None:
        _log.warning("clean-up %s failed: %r", name, error)
    else:
        _log.info("clean-up %s took %.2f s", name, time.monotonic() - began)


async def _call(call: Callable[[], Any]) -> None:
    """Await a coroutine function; call another in a thread that does not hold up the process when it hangs."""
    if inspect.iscoroutinefunction(call):
        try:
            await call()
        except (SystemExit, KeyboardInterrupt) as raised:  # in a task these would end the loop
            raise RuntimeError(f"raised {raised!r}") from None
        return
    result = await _in_thread(call)
    if inspect.isawaitable(result):
        await result


async def _in_thread(call: Callable[[], Any]) -> Any:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = call()
        except Exception as raised:  # noqa: BLE001 (given to who waits)
            error = raised
        except BaseException as raised:  # noqa: BLE001 (in a task SystemExit would end the loop)
            error = RuntimeError(f"raised {raised!r}")
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="drainhook-clean-up", daemon=True).start()
    return await done
