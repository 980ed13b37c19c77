"""What the workers of one server share: since when they refuse new work, and how much each has in flight.

A file of shared memory with a slot for each worker. Nothing is locked on the path of a request: a worker writes its own
slot only, and times are of CLOCK_MONOTONIC, which is one for all processes of a machine. A slot belongs to the process
that holds a lock on its first byte; the kernel drops the lock when that process ends, however it ends.

A drain concerns all workers. SIGTERM to one worker concerns that one: supervisors send it to replace a worker too.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import mmap
import multiprocessing
import os
import stat
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, Self

_HEADER: Final = 8  # words of 8 bytes
_SLOT: Final = 2
_SLOTS: Final = 250
_SIZE: Final = 8 * (_HEADER + _SLOT * _SLOTS)
_BEGAN, _REFUSE = 0, 1  # words of the header
_WORDS: Final = range(_HEADER, _HEADER + _SLOT * _SLOTS, _SLOT)  # the first of each slot
_log = logging.getLogger("drainhook")
_here: dict[Path, Board] = {}  # of this process


class Board:
    """The shared page, seen by one worker."""

    def __init__(self, descriptor: int = -1, slot: int = 0, path: Path = Path()) -> None:
        """Map a file in which a slot was claimed, or memory of this process alone."""
        self._path = path
        self._descriptor = descriptor
        self._map(mmap.mmap(descriptor, _SIZE))
        self._own = _WORDS[slot]
        self._counts[self._own] = 0
        self._pid = os.getpid()
        self._ended = 0.0
        self._users = 1
        self._closed = False

    def enter(self) -> None:
        """Count a request that begins."""
        self._counts[self._own] += 1

    def leave(self) -> None:
        """Count a request that ended."""
        self._counts[self._own] -= 1

    def reject(self) -> None:
        """Count a request that was refused."""
        self._counts[self._own + 1] += 1

    def begin(self, now: float, refuse_at: float) -> None:
        """Let all workers refuse new work from a moment on; an earlier one that was told before stays."""
        self._times[_BEGAN] = self._times[_BEGAN] or now
        self._times[_REFUSE] = min(self._times[_REFUSE] or refuse_at, refuse_at)

    def end(self, now: float) -> None:
        """Let this worker refuse new work; safe in a signal handler."""
        self._ended = self._ended or now

    @property
    def began(self) -> float:
        """When the shutdown began, 0.0 before it did."""
        return self._times[_BEGAN] or self._ended

    @property
    def refuses(self) -> bool:
        """Whether new work is refused now."""
        at = self._ended or self._times[_REFUSE]
        return at > 0 and time.monotonic() >= at

    @property
    def in_flight(self) -> int:
        """How many requests all living workers have."""
        return sum(self._counts[word] for word in _WORDS if self._counts[word] and self._lives(word))

    @property
    def here(self) -> int:
        """How many requests this worker has."""
        return self._counts[self._own]

    @property
    def rejected(self) -> int:
        """How many requests all workers have refused, those that ended since too."""
        return sum(self._counts[word + 1] for word in _WORDS)

    @property
    def is_stale(self) -> bool:
        """Whether it was closed, or came here by a fork: counts and locks are then of another process."""
        return self._closed or self._pid != os.getpid()

    def share(self) -> Self:
        """Give the same board to another application of this process."""
        self._users += 1
        return self

    def close(self) -> None:
        """Give the slot back; the last worker removes the file. What still runs is counted for this process alone."""
        self._users -= 1
        if self._users > 0 or self._closed:
            return
        self._closed = True
        if self._descriptor < 0 or self._pid != os.getpid():
            return
        own = mmap.mmap(-1, _SIZE)
        own[:] = self._counts.cast("B")
        self._map(own)
        with contextlib.suppress(OSError):
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX, 1, 0)
            is_last = all(word == self._own or _lock(self._descriptor, 8 * word, release=True) for word in _WORDS)
            if is_last and os.path.samestat(os.fstat(self._descriptor), self._path.stat()):
                self._path.unlink()
        os.close(self._descriptor)  # drops every lock
        self._descriptor = -1

    def _map(self, memory: mmap.mmap) -> None:
        self._times = memoryview(memory).cast("d")
        self._counts = memoryview(memory).cast("q")

    def _lives(self, word: int) -> bool:
        return word == self._own or (self._descriptor >= 0 and not _lock(self._descriptor, 8 * word, release=True))


def join() -> Board:
    """Give the board of this server: shared where a supervisor has started the workers, else this application's own.

    Locks belong to a process, not to a file that is open: the applications of one process share one board.
    """
    supervisor = _supervisor()
    if supervisor is None:
        return Board()
    path = _folder() / f"drainhook-{os.geteuid()}-{_name(supervisor)}"
    known = _here.get(path)
    if known is not None and not known.is_stale:
        return known.share()
    try:
        _here[path] = board = _shared(path)
    except OSError as error:
        _log.warning("a drain reaches one worker only: no memory can be shared with the others: %s", error)
        return Board()
    return board


class _Claim:
    """An open board file while its header is locked, and the inode is the one that the path names."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.descriptor = -1

    def __enter__(self) -> Self:
        while not self._is_current():
            os.close(self.descriptor)  # removed by the last worker of before, in this moment
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        fcntl.lockf(self.descriptor, fcntl.LOCK_UN, 1, 0)
        if kind is not None:
            os.close(self.descriptor)

    def _is_current(self) -> bool:
        self.descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            self._check(os.fstat(self.descriptor))
            fcntl.lockf(self.descriptor, fcntl.LOCK_EX, 1, 0)
            return os.path.samestat(os.fstat(self.descriptor), self._path.stat())
        except FileNotFoundError:
            return False
        except OSError:
            os.close(self.descriptor)
            raise

    def _check(self, found: os.stat_result) -> None:
        if found.st_uid != os.geteuid():
            raise PermissionError(f"{self._path} belongs to user {found.st_uid}, expected {os.geteuid()}")
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise PermissionError(f"{self._path} is no plain file of one name")


def _shared(path: Path) -> Board:
    with _Claim(path) as claim:
        os.ftruncate(claim.descriptor, _SIZE)
        free = [word for word in _WORDS if _lock(claim.descriptor, 8 * word, release=True)]
        if not free:
            raise OSError(f"{path} has no slot left, {_SLOTS} workers have one")
        if len(free) == _SLOTS:  # the first worker: what stands there is of an earlier life
            os.pwrite(claim.descriptor, bytes(_SIZE), 0)
        _lock(claim.descriptor, 8 * free[0], release=False)
        return Board(claim.descriptor, _WORDS.index(free[0]), path)


def _lock(descriptor: int, offset: int, *, release: bool) -> bool:
    """Take the lock on a byte and say whether that was possible."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
    except OSError:
        return False
    if release:
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, offset)
    return True


def _supervisor() -> int | None:
    """Give the process that starts the workers: uvicorn, hypercorn and granian by multiprocessing, gunicorn by fork."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        return parent.pid
    return os.getppid() if "gunicorn.arbiter" in sys.modules else None


def _name(pid: int) -> str:
    """Give what names a process for all time: its namespace, number and start."""
    try:
        space = Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
        start = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):  # no Linux
        return str(pid)
    return f"{space}-{pid}-{start}"


def _folder() -> Path:
    """Give a folder in memory; containers have this one, also with a read-only root."""
    memory = Path("/dev/shm")  # noqa: S108 (the file is created for this user alone)
    return memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
