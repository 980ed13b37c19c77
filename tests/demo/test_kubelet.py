"""The kubelet of the demo and of the engine tests keeps Kubernetes' rules of termination."""

from __future__ import annotations

import subprocess

from demo.kubelet import MINIMUM_GRACE_SECONDS, Hook, run_hook, terminate

DEAF = "trap '' TERM; echo ready; while :; do sleep 0.1; done"
POLITE = "trap 'exit 3' TERM; echo ready; while :; do sleep 0.1; done"


def process(script: str) -> subprocess.Popen[bytes]:
    """Start a shell and return when its trap is set."""
    started = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE)
    assert started.stdout is not None
    assert started.stdout.readline() == b"ready\n"
    started.stdout.close()
    return started


def test_sends_sigterm_after_the_hook():
    """The process lives while the hook runs, and its own exit code is reported."""
    victim = process(POLITE)

    done = terminate(victim, Hook(["sh", "-c", f"kill -0 {victim.pid} && sleep 0.2"]), grace_seconds=20)

    assert (done.exit_code, done.hook_code, done.killed) == (3, 0, False)
    assert done.start + 0.2 <= done.hook_end <= done.sigterm <= done.exit


def test_gives_up_a_hook_at_the_end_of_the_grace():
    """A hook that hangs is given up, and SIGTERM is still sent."""
    done = terminate(process(POLITE), Hook(["sh", "-c", "sleep 60"]), grace_seconds=0.3)

    assert (done.exit_code, done.hook_code) == (3, None)
    assert 0.3 <= done.hook_seconds < 10


def test_kills_what_ignores_sigterm_after_two_seconds_at_least():
    """Also when the hook has used up the grace, a process gets two seconds after SIGTERM; then SIGKILL, code 137."""
    done = terminate(process(DEAF), None, grace_seconds=0)

    assert (done.exit_code, done.killed, done.hook_seconds) == (137, True, 0.0)
    assert done.exit - done.sigterm >= MINIMUM_GRACE_SECONDS


def test_gives_the_hook_the_environment_of_its_container():
    """Only PATH comes from here."""
    assert run_hook(Hook(["sh", "-c", 'exit "$CODE"'], {"CODE": "7"}), 10) == 7
    assert run_hook(Hook(["sh", "-c", 'exit "${HOME:-4}"']), 10) == 4
