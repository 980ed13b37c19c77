"""SIGTERM: new work is refused, what is in flight has its time, clean-ups run, and the process ends with 0.

The server stops by its own handler, which is called from ours. uvicorn raises the signal again when it has stopped, so
that a process which is not PID 1 would end with 143: it is told to stop without having seen the signal.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
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

_TWICE_SECONDS: Final = 1.0  # hypercorn's supervisor sends each SIGTERM twice
_SPARE_SECONDS: Final = 1.0
_log = logging.getLogger("drainhook")


@dataclass(frozen=True, slots=True)
class Cleanup:
    """A callback, sync or async, without arguments, and the seconds that it may take."""

    call: Callable[[], Any]
    seconds: float


class Shutdown:
    """The end of one application in one process."""

    def __init__(self, board: Callable[[], Board], seconds: float, cleanups: Iterable[Cleanup]) -> None:
        """Take the board, seconds for what is in flight at SIGTERM, and the callbacks."""
        self.tasks: set[asyncio.Task[Any]] = set()
        self._board = board
        self._seconds = seconds
        self._cleanups = list(cleanups)
        self._cut: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._previous: Any = None
        self._at = 0.0  # of the first SIGTERM
        self._in_flight = 0
        self._last_resort: threading.Timer | None = None

    def has_cut(self, task: asyncio.Task[Any] | None) -> bool:
        """Say whether this task was cancelled from here, and take that back."""
        if task is None or task not in self._cut:
            return False
        self._cut.discard(task)
        task.uncancel()
        return True

    def start(self) -> None:
        """Handle SIGTERM from now on, where this is possible."""
        if not _log.hasHandlers():  # nobody configured logging: the lines go where the server's go
            _log.addHandler(logging.StreamHandler(sys.stderr))
            _log.handlers[-1].setFormatter(logging.Formatter("drainhook: %(message)s"))
            _log.setLevel(logging.INFO)
        self._board()
        self._loop = asyncio.get_running_loop()
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGTERM)
            signal.signal(signal.SIGTERM, self._on_sigterm)

    async def stop(self) -> None:
        """Run the clean-ups and say how it went; called when the server has stopped serving."""
        board = self._board()
        lost = board.here
        for cleanup in self._cleanups:
            await _run(cleanup)
        began = board.began
        took = f"shutdown took {time.monotonic() - began:.2f} s" if began else "shutdown without a drain"
        _log.info("%s: in flight at SIGTERM %d, at the end %d, refused %d", took, self._in_flight, lost, board.rejected)
        if self._last_resort is not None:
            self._last_resort.cancel()
        if signal.getsignal(signal.SIGTERM) == self._on_sigterm:
            signal.signal(signal.SIGTERM, signal.SIG_IGN if self._at else self._previous)
        board.close()

    def _on_sigterm(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if not self._at:
            self._at = now
            board = self._board()
            board.begin(now, now)
            self._in_flight = board.here
            _log.info("SIGTERM: in flight %d, up to %g s for it", self._in_flight, self._seconds)
            self._in_loop(lambda: asyncio.get_running_loop().call_later(self._seconds, self._cut_all))
            limits = sum(cleanup.seconds for cleanup in self._cleanups)
            self._last_resort = threading.Timer(self._seconds + limits + _SPARE_SECONDS, self._leave)
            self._last_resort.daemon = True
            self._last_resort.start()
        elif now - self._at > _TWICE_SECONDS:
            _log.warning("a second SIGTERM: what is in flight is cut")
            self._in_loop(self._cut_all)
        server: Any = getattr(self._previous, "__self__", None)
        if hasattr(server, "should_exit"):
            server.should_exit = True
        elif callable(self._previous):
            self._previous(number, frame)

    def _in_loop(self, call: Callable[[], Any]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)

    def _cut_all(self) -> None:
        if self.tasks:
            _log.warning("%d in flight are cut after %.1f s", len(self.tasks), time.monotonic() - self._at)
        for task in list(self.tasks):
            self._cut.add(task)
            task.cancel("the time after SIGTERM is over")

    def _leave(self) -> None:
        _log.error("the server did not stop by itself: in flight %d, the process ends now", self._board().here)
        os._exit(0)


async def _run(cleanup: Cleanup) -> None:
    """Run one callback within its limit; a sync one in a thread that does not hold up the process when it hangs."""
    name = getattr(cleanup.call, "__qualname__", repr(cleanup.call))
    began = time.monotonic()
    try:
        async with asyncio.timeout(cleanup.seconds):
            if inspect.iscoroutinefunction(cleanup.call):
                await cleanup.call()
            else:
                result = await _in_thread(cleanup.call)
                if inspect.isawaitable(result):
                    await result
    except TimeoutError:
        _log.warning("clean-up %s did not end within %g s", name, cleanup.seconds)
    except Exception as error:  # noqa: BLE001 (whatever it is, the others still run)
        _log.warning("clean-up %s failed: %r", name, error)
    else:
        _log.info("clean-up %s took %.2f s", name, time.monotonic() - began)


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
        try:
            result, error = call(), None
        except Exception as raised:  # noqa: BLE001 (given to who waits)
            result, error = None, raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="drainhook-clean-up", daemon=True).start()
    return await done
