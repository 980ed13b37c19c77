"""Runs drain.sh as the kubelet would (`sh -c SCRIPT drainhook …`) in a shell and with tools that a test chooses.

Never here: expectations.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = (Path(__file__).parents[2] / "drain_scripts" / "drain.sh").read_text(encoding="utf-8")
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
PACKAGES = {"busybox-wget": "busybox", "kill": "procps", "sleep": "coreutils"}
LIMIT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Ended:
    """What one run left behind; `at` is the monotonic time of its end."""

    code: int
    seconds: float
    at: float
    log: list[str]
    record: dict[str, object]

    @property
    def end(self) -> object:
        """Why the hook ended."""
        return self.record.get("end")

    def said(self, text: str) -> bool:
        """Whether a log line holds this text."""
        return any(text in line for line in self.log)


def found(tool: str) -> str:
    """Find the real file of a tool; skip aloud where the machine has none."""
    if tool == "python3":
        return str(Path(sys.executable).resolve())
    path = shutil.which(tool.removesuffix("-wget"))
    if path is None:
        pytest.skip(f"no {tool}: apt-get install {PACKAGES.get(tool, tool)}")
    return path


@dataclass
class Hook:
    """One way to run the hook: shell, tools on PATH, environment, a command in front of it."""

    folder: Path
    name: str = "dash"
    tools: Sequence[str] = ("curl", "sleep", "grep")
    scripts: Mapping[str, str] | None = None
    env: Mapping[str, str] | None = None
    before: Sequence[str] = ()
    script: str = SCRIPT
    cwd: Path | None = None

    def path(self) -> Path:
        """Make a folder for PATH that holds the tools and `scripts` (name to shell text) and nothing else."""
        folder = self.folder / "tools"
        if not folder.exists():
            folder.mkdir(parents=True)
            # posh has no kill of its own
            for name in (*self.tools, *(["kill"] if self.name == "posh" else [])):
                (folder / ("wget" if name == "busybox-wget" else name)).symlink_to(found(name))
            for name, text in (self.scripts or {}).items():
                (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
                (folder / name).chmod(0o755)
        return folder

    def start(self, *params: str, argv: Sequence[str] = ()) -> subprocess.Popen[str]:
        """Start without waiting; params may replace log and record."""
        program, *options = SHELLS[self.name]
        shell = [*self.before, found(program), *options, "-c", self.script, "drainhook"]
        where = [f"log={self.folder / 'log'}", f"record={self.folder / 'record'}"]
        chained = ["--", *argv] if argv else []
        env = {"PATH": str(self.path()), **(self.env or {})}
        return subprocess.Popen(
            [*shell, *where, *params, *chained],
            env=env,
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )

    def finish(self, process: subprocess.Popen[str], began: float) -> Ended:
        """Wait, then read log, record and what went to stdout."""
        try:
            said, _ = process.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(f"the hook still runs after {LIMIT_SECONDS} s; its log: {_lines(self.folder / 'log')}")
        at = time.monotonic()
        return self.left_behind(process.returncode, at - began, at, said.splitlines())

    def left_behind(self, code: int, seconds: float, at: float, said: list[str]) -> Ended:
        """Read log and record of a run that has ended, behind what it printed."""
        record = _lines(self.folder / "record")
        log = said + _lines(self.folder / "log")
        return Ended(code, seconds, at, log, json.loads(record[-1]) if record else {})

    def run(self, *params: str, argv: Sequence[str] = ()) -> Ended:
        """Run to the end."""
        began = time.monotonic()
        return self.finish(self.start(*params, argv=argv), began)


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []
