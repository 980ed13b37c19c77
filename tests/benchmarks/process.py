"""Processes and what they cost: pinned to a core, CPU seconds and memory from /proc. Linux only.

What is started, and why, is not known here.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.figures import BenchmarkError

SERVER_CORE: Final = 0
CLIENT_CORE: Final = 1
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_UTIME, _STIME = 11, 12  # places in /proc/PID/stat after the name, which may hold blanks


def environment() -> Mapping[str, str]:
    """Give children an environment in which byte code is kept, as it is where drainhook is installed."""
    left_out = ("PYTHONDONTWRITEBYTECODE", "PYTHONPROFILEIMPORTTIME", "PYTHONDEVMODE")
    return {key: value for key, value in os.environ.items() if key not in left_out}


def drainhook() -> list[str]:
    """Return the command line of the console script that belongs to this interpreter."""
    script = Path(sys.executable).with_name("drainhook")
    return [str(script)] if script.exists() else [sys.executable, "-m", "webhook"]


@contextlib.contextmanager
def pinned(core: int) -> Iterator[None]:
    """Let children that are started in this block run on one core only, where there are two or more."""
    allowed = os.sched_getaffinity(0)
    if core not in allowed or len(allowed) == 1:
        yield
        return
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def start(core: int, command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    """Start a process on a core. Raises BenchmarkError when the program is not there."""
    try:
        with pinned(core):
            return subprocess.Popen(command, env=environment(), text=True, **options)
    except FileNotFoundError:
        raise BenchmarkError(f"{command[0]} is missing.") from None


def end(process: subprocess.Popen[str], seconds: float = 10.0) -> None:
    """End a process that we have started, and wait for it."""
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def cpu_seconds(pid: int) -> float:
    """Return the user and system time that a living process has used so far; steps of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[_UTIME]) + int(fields[_STIME])) / _TICKS


def rss_mib(pid: int) -> float:
    """Return the resident memory of a living process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise BenchmarkError(f"the system does not tell the memory of process {pid}.")


def cpu_of(command: Sequence[str]) -> float:
    """Run a command to its end, output thrown away, and return its CPU seconds. Raises BenchmarkError if it fails."""
    process = start(SERVER_CORE, command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise BenchmarkError(f"`{' '.join(command)}` ended with {process.returncode}.")
    return usage.ru_utime + usage.ru_stime
