"""Worker processes that hold a board: each does what it is told over a pipe."""

from __future__ import annotations

import fcntl
import logging
import multiprocessing
import os
import resource
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from webhook.drainable import board
from webhook.drainable.board import Board

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])


def own_path() -> Path:
    """Give the file that workers of this process share."""
    return board._folder() / f"drainhook-{os.geteuid()}-{board._name(os.getpid())}"


class Worker:
    """A process of its own. `join` gives it a board; then each method or property of the board can be asked for."""

    def __init__(self) -> None:
        """Start it."""
        self._pipe, other = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=_obey, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def __call__(self, name: str, *arguments: Any) -> Any:
        """Let it do one thing and give what came out."""
        self._pipe.send((name, arguments))
        if not self._pipe.poll(30):
            raise TimeoutError(f"worker {self.process.pid} does not answer to {name}")
        return self._pipe.recv()

    def joined(self) -> Self:
        """Let it join the board."""
        self("join")
        return self

    def kill(self) -> None:
        """End it by SIGKILL."""
        self.process.kill()
        self.process.join(30)

    def end(self) -> None:
        """End it as a process ends."""
        self._pipe.close()
        self.process.join(30)


def _obey(pipe: Connection) -> None:
    own: list[Board] = []
    said: list[str] = []
    listener = logging.Handler()
    listener.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("drainhook").addHandler(listener)
    orders: dict[str, Any] = {
        "join": _join,
        "lock_all_slots": _lock_all_slots,
        "no_space": _no_space,
        "churn": _churn,
        "said": lambda _own: said,
    }
    while True:
        try:
            name, arguments = pipe.recv()
        except EOFError:
            return
        if name in orders:
            pipe.send(orders[name](own, *arguments))
        else:
            found = getattr(own[-1], name)
            pipe.send(found(*arguments) if callable(found) else found)


def _join(own: list[Board]) -> bool:
    own.append(board.join())
    return own[-1] is own[0]


def _lock_all_slots(own: list[Board], path: str) -> None:
    fcntl.lockf(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX, 0, 8)
    own.append(Board())


def _no_space(_own: list[Board]) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _churn(_own: list[Board], times: int) -> int:
    """Join, count and leave many times; give how often the count was wrong."""
    wrong = 0
    for _ in range(times):
        found = board.join()
        found.enter()
        wrong += found.in_flight < 1 or found.here != 1
        found.leave()
        found.close()
    return wrong
