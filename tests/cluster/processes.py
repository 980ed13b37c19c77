"""Start, find and end the cluster's processes, and wait for what they should do.

A file per process holds its id and its start time, so that an id that the system gave to somebody else is never
signalled. Which processes there are, and their flags, stands elsewhere.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.errors import ClusterError
from tests.cluster.places import Places

_TICK_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Process:
    """A process by its id and its start time (clock ticks since boot), which together name it for good."""

    pid: int
    started: int

    @property
    def is_running(self) -> bool:
        """Whether it is still there; a zombie is not."""
        return _started(self.pid) == self.started


def start(places: Places, name: str, command: Sequence[str | Path], *, files: Sequence[int] = ()) -> Process:
    """Start a process with its log and its file; `files` are descriptors that it inherits."""
    for folder in (places.logs, places.processes):
        folder.mkdir(parents=True, exist_ok=True)
    words = [str(word) for word in command]
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(places.logs / f"{name}.log"), append, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    for number in files:
        os.set_inheritable(number, True)  # positional only
    # Not subprocess: the process outlives us and nobody waits for it.
    pid = os.posix_spawnp(words[0], words, os.environ, file_actions=actions, setsid=True)
    return remember(places, name, pid)


def remember(places: Places, name: str, pid: int) -> Process:
    """Write the file of a process that is ours to end."""
    process = Process(pid, _started(pid) or 0)
    (places.processes / name).write_text(json.dumps({"pid": pid, "started": process.started}))
    return process


def find(places: Places, name: str) -> Process | None:
    """Give the process of that name if it was started and still runs."""
    try:
        process = Process(**json.loads((places.processes / name).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return process if process.is_running else None


def end(places: Places, name: str, sign: signal.Signals = signal.SIGTERM, seconds: float = 20) -> None:
    """End one process that we started: `sign`, after `seconds` SIGKILL. Returns when it is gone."""
    process = find(places, name)
    if process is not None:
        handle = os.pidfd_open(process.pid)
        try:
            for attempt in (sign, signal.SIGKILL):
                signal.pidfd_send_signal(handle, attempt)
                if _is_gone(handle, seconds):
                    break
        except ProcessLookupError:
            pass
        finally:
            os.close(handle)
    (places.processes / name).unlink(missing_ok=True)


def child_of(pid: int) -> int | None:
    """Give the first child of a process: what `nsenter --pid` and `unshare --fork` run."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return None
    return int(children[0]) if children else None


def wait_until(what: str, claim: Callable[[], bool], seconds: float, process: Process | None = None) -> None:
    """Return as soon as the claim holds; raise when it never does, at once where the process for it ends."""
    deadline = time.monotonic() + seconds
    while not claim():
        if process is not None and not process.is_running:
            raise ClusterError(f"{what}: the process ended")
        if time.monotonic() > deadline:
            raise ClusterError(f"{what}: not within {seconds:.0f} s")
        time.sleep(_TICK_SECONDS)


def _is_gone(handle: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _started(pid: int) -> int | None:
    """Give the start time of a running process; the name in the second field may hold blanks and brackets."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])
