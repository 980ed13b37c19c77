"""Runs drain.sh as the kubelet would (`sh -c SCRIPT drainhook …`) in a shell and with tools that a test chooses.

Never here: expectations.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "drain_scripts" / "drain.sh"
SCRIPT = SOURCE.read_text(encoding="utf-8")
SHELLS = {
    "dash": ("dash",),
    "bash": ("bash",),
    "bash-posix": ("bash", "--posix"),
    "ash": ("busybox", "ash"),
    "mksh": ("mksh",),
    "posh": ("posh",),
    "yash": ("yash",),
}
FETCHERS = ("curl", "wget", "busybox-wget", "python3", "bash")
PACKAGES = {"wget": "wget", "busybox-wget": "busybox", "kill": "procps", "sleep": "coreutils"}
LIMIT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Ended:
    """What one run left behind."""

    code: int
    seconds: float
    log: list[str]
    record: dict[str, object]
    at: float

    @property
    def end(self) -> object:
        """Why the hook ended."""
        return self.record.get("end")


def found(tool: str) -> str:
    """The real file of a tool; skips aloud where the machine has none."""
    if tool == "python3":
        return str(Path(sys.executable).resolve())
    path = shutil.which(tool.removesuffix("-wget"))
    if path is None:
        pytest.skip(f"no {tool}: apt-get install {PACKAGES.get(tool, tool)}")
    return path


def tools(folder: Path, *names: str) -> Path:
    """A folder for PATH that holds these tools and nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / ("wget" if name == "busybox-wget" else name)).symlink_to(found(name))
    return folder


def shell(name: str) -> list[str]:
    """The command of a shell, by its full path so that PATH need not hold it."""
    program, *options = SHELLS[name]
    return [found(program), *options]


@dataclass
class Hook:
    """One way to run the hook: shell, PATH, environment and a command in front of it."""

    folder: Path
    name: str = "dash"
    with_tools: Sequence[str] = ("curl", "sleep")
    env: Mapping[str, str] | None = None
    before: Sequence[str] = ()
    script: str = SCRIPT

    def command(self, *params: str, argv: Sequence[str] = ()) -> list[str]:
        """The full argument list."""
        where = [f"log={self.folder / 'log'}", f"record={self.folder / 'record'}"]
        chained = ["--", *argv] if argv else []
        return [*self.before, *shell(self.name), "-c", self.script, "drainhook", *where, *params, *chained]

    def start(self, *params: str, argv: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start without waiting."""
        path = self.folder / "tools"
        if not path.exists():
            # posh has no kill of its own
            tools(path, *self.with_tools, *(["kill"] if self.name == "posh" else []))
        env = {"PATH": str(path), **(self.env or {})}
        return subprocess.Popen(
            self.command(*params, argv=argv), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )

    def finish(self, process: subprocess.Popen[bytes], began: float) -> Ended:
        """Wait, then read log and record."""
        code = process.wait(LIMIT_SECONDS)
        at = time.monotonic()
        log, record = self.folder / "log", self.folder / "record"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        said = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
        return Ended(code, at - began, lines, json.loads(said[-1]) if said else {}, at)

    def run(self, *params: str, argv: Sequence[str] = ()) -> Ended:
        """Run to the end."""
        began = time.monotonic()
        return self.finish(self.start(*params, argv=argv), began)


def is_root() -> bool:
    """Whether mounts and other users can be had."""
    return os.geteuid() == 0
