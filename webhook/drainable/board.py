"""What the workers of one server share: since when they refuse new work, and how much each has in flight.

A file of shared memory with a slot for each worker. Nothing is locked on the path of a request: a worker writes its own
slot only, and times are of CLOCK_MONOTONIC, which is one for all processes of a machine. A slot belongs to the process
that holds a lock on its first byte; the kernel drops the lock when that process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import logging
import mmap
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path
from typing import Final, Self

_HEADER: Final = 8  # words of 8 bytes
_SLOT: Final = 2
_SLOTS: Final = 250
_SIZE: Final = 8 * (_HEADER + _SLOT * _SLOTS)
_BEGAN, _REFUSE = 0, 1  # words of the header
_log = logging.getLogger("drainhook")


class Board:
    """The shared page, seen by one worker."""

    def __init__(self, descriptor: int = -1, slot: int = 0) -> None:
        """Map a file in which a slot was claimed, or memory of this process alone."""
        self._descriptor = descriptor
        self._memory = mmap.mmap(descriptor, _SIZE)
        self.times = memoryview(self._memory).cast("d")
        self._counts = memoryview(self._memory).cast("q")
        self._own = _word(slot)
        self._counts[self._own] = 0

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
        """Refuse new work from a moment on; an earlier one that was told before stays."""
        self.times[_BEGAN] = self.times[_BEGAN] or now
        self.times[_REFUSE] = min(self.times[_REFUSE] or refuse_at, refuse_at)

    @property
    def began(self) -> float:
        """When the shutdown began, 0.0 before it did."""
        return self.times[_BEGAN]

    @property
    def refuse_at(self) -> float:
        """From when on new work is refused, 0.0 where that is not known."""
        return self.times[_REFUSE]

    @property
    def in_flight(self) -> int:
        """How many requests all living workers have."""
        return sum(self._counts[word] for word in self._words() if self._counts[word] and self._lives(word))

    @property
    def here(self) -> int:
        """How many requests this worker has."""
        return self._counts[self._own]

    @property
    def rejected(self) -> int:
        """How many requests all workers have refused, those that ended since too."""
        return sum(self._counts[word + 1] for word in self._words())

    def close(self) -> None:
        """Give the slot back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _words(self) -> range:
        return range(_HEADER, _HEADER + _SLOT * (_SLOTS if self._descriptor >= 0 else 1), _SLOT)

    def _lives(self, word: int) -> bool:
        return word == self._own or not _lock(self._descriptor, 8 * word, release=True)


def join() -> Board:
    """Give the board of this server: shared where a supervisor has started several workers, else this process's own."""
    supervisor = _supervisor()
    if supervisor is None:
        return Board()
    try:
        return _shared(_folder() / f"drainhook-{os.geteuid()}-{_name(supervisor)}")
    except OSError as error:
        _log.warning("a drain reaches one worker only: no memory can be shared with the others: %s", error)
        return Board()


class _Claim:
    """An open board file while its header is locked, and the inode is the one that the path names."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.descriptor = -1

    def __enter__(self) -> Self:
        while True:
            self.descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            if os.fstat(self.descriptor).st_uid != os.geteuid():
                raise PermissionError(f"{self._path} belongs to another user")
            fcntl.lockf(self.descriptor, fcntl.LOCK_EX, 1, 0)
            try:
                if os.path.samestat(os.fstat(self.descriptor), self._path.stat()):
                    return self
            except FileNotFoundError:
                pass
            os.close(self.descriptor)  # removed by the last worker of before, in this moment

    def __exit__(self, *_: object) -> None:
        if self.descriptor >= 0:
            fcntl.lockf(self.descriptor, fcntl.LOCK_UN, 1, 0)


def _shared(path: Path) -> Board:
    with _Claim(path) as claim:
        os.ftruncate(claim.descriptor, _SIZE)
        free = [slot for slot in range(_SLOTS) if _lock(claim.descriptor, 8 * _word(slot), release=True)]
        if not free:
            raise OSError(f"{path} has no slot left")
        if len(free) == _SLOTS:  # the first worker: what stands there is of an earlier life
            os.pwrite(claim.descriptor, bytes(_SIZE), 0)
        _lock(claim.descriptor, 8 * _word(free[0]), release=False)
        return Board(claim.descriptor, free[0])


def _word(slot: int) -> int:
    return _HEADER + _SLOT * slot


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
