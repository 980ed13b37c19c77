"""`drainhook observe` on a terminal: rows that scroll, and below them the pods that are ending."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.unit.cluster.apiserver import kubeconfig
from tests.unit.observe.command import BARE, PODS, fetch, free_port, once, pod, shut_down
from tests.unit.observe.objects import running
from tests.unit.observe.watchserver import WatchServer
from webhook import names
from webhook.cli.main import run

pytestmark = pytest.mark.slow


@pytest.fixture
def server():
    """Run a server without objects."""
    with WatchServer() as state:
        yield state


@pytest.fixture
def signals():
    """Put back what the command does with signals, when it runs in this process."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Terminal(io.StringIO):
    """Standard output that says it is a terminal."""

    def isatty(self):
        """Say so."""
        return True


def inside(server, folder, *arguments, drive):
    """Run the command in this process; another thread drives the server, and ends the command by a signal."""
    out, err = Terminal(), io.StringIO()

    def driver():
        server.wait_for(lambda: server.watches(PODS), 60)
        try:
            drive(out, err)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=driver)
    thread.start()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["observe", f"--kubeconfig={kubeconfig(folder, server.url)}", *arguments])
    thread.join()
    return code, out.getvalue(), err.getvalue()


def test_a_terminal_shows_what_is_ending_and_is_left_clean(server, tmp_path):
    """Rows scroll; below them the pods that are ending are drawn anew."""
    leader, follower = pty.openpty()
    config = kubeconfig(tmp_path, server.url)
    server.put(PODS, pod(running(), uid="u1", asked=int(time.time()), grace=120))
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "webhook", "observe", f"--kubeconfig={config}"]
    process = subprocess.Popen(command, stdout=follower, stderr=subprocess.DEVNULL, env=environment)
    os.close(follower)
    try:
        shown = read_until(leader, "of 120 s")
        assert "1 pods, 0 unprotected" in shown
        process.send_signal(signal.SIGTERM)
        rest = read_until(leader, None)
        assert process.wait(120) == 0
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    assert (shown + rest).rstrip().endswith("\x1b[J"), "the live part is still there"


def read_until(terminal, text):
    """Read a terminal until a text comes, or (None) until its other side is closed."""
    found = ""
    with contextlib.suppress(OSError):  # how a closed terminal ends a read
        while text is None or text not in found:
            assert select.select([terminal], [], [], 120)[0], f"nothing more than {found!r}"
            found += os.read(terminal, 4096).decode()
    return found


@pytest.mark.usefixtures("signals")
def test_a_live_view_keeps_rows_and_notes_apart_from_what_is_ending(server, tmp_path):
    """The live part goes before anything else is printed, and is drawn again below it."""
    server.put(PODS, pod(running(), **BARE))
    server.put(PODS, pod(running(), uid="slow", name="slow", asked=int(time.time()), grace=120))
    port = free_port()

    def drive(out, err):
        server.wait_for(lambda: "llm/slow" in out.getvalue(), 60)
        shut_down(server, took=121, code=137)
        server.wait_for(lambda: "SIGKILL" in out.getvalue(), 60)
        server.wait_for(lambda: server.posted, 60)
        assert fetch(port, names.METRICS_PATH)[0] == fetch(port, names.HEALTHZ_PATH)[0] == 200
        server.refuse(PODS, (500, {"message": "etcd is gone"}))
        server.cut(PODS)
        server.wait_for(lambda: "etcd is gone" in err.getvalue(), 60)

    code, out, err = inside(server, tmp_path, "--events", f"--metrics-port={port}", drive=drive)
    assert code == 0
    assert err.startswith(f"drainhook: metrics: port {port}, /metrics\ndrainhook: 1 unprotected pods; ")
    heading, row = on_screen(out)
    assert (heading.split()[1], row.split()[-1]) == ("POD", "SIGKILL\x1b[0m")


def on_screen(written):
    """Return what a terminal shows in the end: the cursor goes up some lines, and clears all below."""
    shown = []
    for part in re.split(r"(\x1b\[\d+A\x1b\[J)", written):
        if part.startswith("\x1b[") and part.endswith("\x1b[J"):
            del shown[-int(part[2:].partition("A")[0]) :]
        else:
            shown += part.splitlines()
    return shown


@pytest.mark.usefixtures("signals")
def test_a_package_that_is_missing_is_named_with_what_brings_it(server, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.delitem(sys.modules, "webhook.observe.metrics", raising=False)
    done = once(server, tmp_path, "--metrics-port")
    needs = "--metrics-port needs prometheus_client; install it with: pip install 'drainhook[serve]'"
    assert (done.exit_code, done.stderr) == (2, f"drainhook: {needs}\n")
