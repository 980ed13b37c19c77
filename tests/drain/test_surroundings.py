"""What an image or a pod may lack: clock, date, sleep and its fractions, root, a writable disk.

`date` and `awk` are on no PATH of these tests at all; this module takes away the rest.
Never here: fetchers (test_fetchers.py).
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.drain.engine import Engine
from tests.drain.hook import SHELLS, Ended, Hook, found
from tests.drain.story import BUSY, IDLE, budget, polled
from tests.drain.tables import moved

EVERY_SHELL = [name if name == "dash" else pytest.param(name, marks=pytest.mark.slow) for name in SHELLS]
WHOLE_SECONDS = 'case $1 in *.*) exit 1 ;; esac\necho "$1" >>"$CALLS"\nexec /bin/sleep "$1"'
NOBODY = ("--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs")


SUBREAPER = """
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: the hook's orphans become ours, not PID 1's
code, left = subprocess.run(sys.argv[1:]).returncode, 0
try:
    while os.waitpid(-1, 0):
        left += 1
except ChildProcessError:
    print("orphans:", left)
sys.exit(code)
"""


def story(hook: Hook, *params: str) -> Ended:
    """Busy twice, then idle."""
    with Engine([BUSY, BUSY, IDLE]) as engine:
        return hook.run(*budget(), *polled(engine), *params)


def busy_to_the_end(hook: Hook, seconds: int) -> Ended:
    """Busy for longer than the budget."""
    with Engine([BUSY]) as engine:
        return hook.run(*budget(drain=seconds), *polled(engine))


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_without_uptime_date_is_the_clock(tmp_path: Path, shell: str) -> None:
    """A /proc that is masked."""
    hook = Hook(tmp_path, shell, ("curl", "sleep", "date"), script=moved(tmp_path, None, clock=False))
    ended = busy_to_the_end(hook, 2)
    assert (ended.code, ended.end) == (0, "deadline")
    assert 0.3 <= ended.seconds <= 2.6


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_without_any_clock_the_sleeps_are_counted(tmp_path: Path, shell: str) -> None:
    """No /proc, no date: about the budget, and an end."""
    hook = Hook(tmp_path, shell, ("curl", "sleep"), script=moved(tmp_path, None, clock=False))
    ended = busy_to_the_end(hook, 2)
    assert (ended.code, ended.end) == (0, "deadline")
    assert 1 <= ended.seconds <= 4


@pytest.mark.parametrize("uptime", ["0.08 0.00", "0.99 1.00", "99999.99 5.0", "123456789.12 5"])
def test_any_uptime_is_a_number(tmp_path: Path, uptime: str) -> None:
    """Neither a leading zero, nor many digits, nor the turn of the last seven."""
    script = moved(tmp_path, None, clock=False)
    (tmp_path / "proc" / "uptime").write_text(f"{uptime}\n", encoding="utf-8")
    with Engine([IDLE], routes={"/drain": IDLE}) as engine:
        ended = Hook(tmp_path, script=script).run(*budget(), *polled(engine), f"call={engine.url('/drain')}")
    assert (ended.code, ended.end, ended.record["seconds"]) == (0, "called", 0)


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_a_sleep_without_fractions(tmp_path: Path, shell: str) -> None:
    """Whole seconds then, and still inside the budget."""
    if shell == "ash":
        pytest.skip("busybox ash runs its own sleep, which knows fractions, whatever stands on PATH")
    calls = tmp_path / "calls"
    hook = Hook(tmp_path, shell, ("curl", "grep"), {"sleep": WHOLE_SECONDS}, {"CALLS": str(calls)})
    ended = busy_to_the_end(hook, 2)
    assert (ended.code, ended.end) == (0, "deadline")
    assert 0.9 <= ended.seconds <= 2.6
    assert set(calls.read_text(encoding="utf-8").split()) <= {"0", "1"}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(("python3",), id="python3"),
        pytest.param(("bash",), id="bash", marks=pytest.mark.slow),
        pytest.param((), id="nothing"),
    ],
)
@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_without_sleep(tmp_path: Path, shell: str, other: Sequence[str]) -> None:
    """python3 or bash wait as well; with neither the loop watches the clock."""
    hook = Hook(tmp_path, shell, ("curl", "cat", *other))
    ended = busy_to_the_end(hook, 2)
    assert (ended.code, ended.end, ended.record["inflight_end"]) == (0, "deadline", 4)
    assert 1 <= ended.seconds <= 3.2


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Make a folder that another user may enter, and not write to."""
    with tempfile.TemporaryDirectory(prefix="drainhook-") as name:
        folder = Path(name)
        folder.chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
        yield folder


def as_root(*commands: str) -> list[str]:
    """Find root's commands; skip aloud where the test may not change its user or its mounts."""
    if os.geteuid() != 0:
        pytest.skip("not root: run as root to test other users and a read-only root")
    paths = [shutil.which(command) or "" for command in commands]
    if "" in paths:
        pytest.skip(f"no {' or '.join(commands)}: apt-get install util-linux coreutils mount")
    return paths


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_as_another_user_with_the_default_log(open_folder: Path, shell: str) -> None:
    """/proc/1/fd/1 and the termination message are closed to it: silently without."""
    hook = Hook(open_folder, shell, before=(*as_root("setpriv"), *NOBODY))
    ended = story(hook, "log=/proc/1/fd/1", "record=/dev/termination-log")
    assert (ended.code, ended.log, ended.record) == (0, [], {})
    assert ended.seconds < 3


def test_as_another_user_it_still_drains(open_folder: Path) -> None:
    """Seen on stdout: the tables and the page are open to everybody."""
    ended = story(Hook(open_folder, before=(*as_root("setpriv"), *NOBODY)), "log=-")
    assert ended.code == 0
    assert ended.said("idle (in flight 0, connections 0)")


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_with_a_read_only_root(open_folder: Path, tmp_path: Path, shell: str) -> None:
    """No temporary file, no record: the drain is the same."""
    unshare, mount, chroot = as_root("unshare", "mount", "chroot")
    root = tmp_path / "root"
    root.mkdir()
    steps = f'{mount} --rbind / "$0" && {mount} -o remount,bind,ro "$0" && exec {chroot} "$0" "$@"'
    before = (unshare, "--mount", "--propagation", "private", "/bin/sh", "-c", steps, str(root))
    if subprocess.run([*before, "/bin/true"], check=False, capture_output=True).returncode:
        pytest.skip("no mounts here: needs CAP_SYS_ADMIN, which a privileged container has")
    probe = subprocess.run([*before, "/bin/sh", "-c", f">{open_folder}/x"], check=False, capture_output=True)
    assert b"Read-only file system" in probe.stderr
    hook = Hook(open_folder, shell, before=before)
    ended = story(hook, "log=-", f"record={open_folder}/record")
    assert (ended.code, ended.record) == (0, {})
    assert ended.said("idle (in flight 0, connections 0)")


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_no_process_is_left_to_pid_1(tmp_path: Path, shell: str) -> None:
    """An engine as PID 1 reaps nobody: two zombies a look would fill the pod's process limit in a long drain."""
    before = (found("python3"), "-ISc", SUBREAPER)
    hook = Hook(tmp_path, shell, before=before)
    with Engine([BUSY, BUSY, BUSY, BUSY, IDLE]) as engine:
        ended = hook.run(*budget(settle=1), *polled(engine), argv=["/bin/sh", "-c", "exit 3"])
    assert (ended.code, ended.end) == (0, "idle")
    # A limit that strikes while its child is just starting, on a busy machine, leaves that one and its own child.
    assert {"orphans: 0", "orphans: 1", "orphans: 2"} & set(ended.log)
