"""Ends a process as a kubelet ends a container: preStop hook, SIGTERM, and SIGKILL at the end of the grace period.

The rules are those of Kubernetes' kuberuntime: hook and SIGTERM share one grace period, a hook that runs longer is
given up, and SIGTERM is always followed by at least two seconds. Knows nothing of engines or of the hook's content.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MINIMUM_GRACE_SECONDS = 2.0  # kubelet: minimumGracePeriodInSeconds


@dataclass(frozen=True, slots=True)
class Hook:
    """A preStop `exec` handler: its command, and the environment of its container."""

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Termination:
    """What happened, in seconds of the monotonic clock. `hook_*` are None without a hook.

    `exit_code` is what a kubelet reports: 128 + N for a process that died of signal N. `hook_code` is None where the
    hook was given up at the end of the grace period.
    """

    start: float
    sigterm: float
    exit: float
    exit_code: int
    killed: bool
    hook_start: float | None = None
    hook_end: float | None = None
    hook_code: int | None = None

    @property
    def hook_seconds(self) -> float:
        """How long the hook ran; 0 without one."""
        return 0.0 if self.hook_start is None or self.hook_end is None else self.hook_end - self.hook_start

    @property
    def total_seconds(self) -> float:
        """From the start of the termination to the exit of the process."""
        return self.exit - self.start


def terminate(process: subprocess.Popen[Any], hook: Hook | None, grace_seconds: float) -> Termination:
    """End `process` within `grace_seconds` (at the latest 2 s after SIGTERM) and say how it went."""
    start = time.monotonic()
    hook_code, hook_end = None, start
    if hook is not None:
        hook_code = run_hook(hook, grace_seconds)
        hook_end = time.monotonic()
    left = max(MINIMUM_GRACE_SECONDS, start + grace_seconds - hook_end)
    sigterm = time.monotonic()
    process.terminate()
    killed = not _exits(process, left)
    if killed:
        process.kill()
    code = process.wait()
    return Termination(
        start=start,
        sigterm=sigterm,
        exit=time.monotonic(),
        exit_code=128 - code if code < 0 else code,
        killed=killed,
        hook_start=None if hook is None else start,
        hook_end=None if hook is None else hook_end,
        hook_code=hook_code,
    )


def run_hook(hook: Hook, deadline_seconds: float) -> int | None:
    """Run the hook and return its exit code, or None if it had to be given up after `deadline_seconds`."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), **hook.environment}
    # A session of its own, so that what the hook started ends with it: a container's processes do, too.
    child = subprocess.Popen(hook.command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return child.wait(deadline_seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return None


def _exits(process: subprocess.Popen[Any], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
