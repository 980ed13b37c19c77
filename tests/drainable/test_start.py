"""SIGTERM while a server starts, starts that fail, and a server that is process 1."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.drainable.servers import SERVERS, Running, children, until

UVICORN = SERVERS["uvicorn-h11"]
SLOW_SERVERS = [pytest.param(name, marks=pytest.mark.slow) for name in SERVERS if name != "uvicorn-h11"]


@pytest.mark.parametrize("app", ["waiting", "blocking"])
def test_sigterm_during_the_start_ends_with_0_after_it(app, tmp_path):
    with Running(UVICORN, app, tmp_path) as running:
        until(Path(f"{running.gate}.reached").exists, "the start")
        running.terminate()
        running.open_gate()

        assert running.exit_code() == 0, running.output
        assert running.lines[0] == "SIGTERM: in flight 0, up to 60 s for it"
        assert running.lines[-1].endswith(": in flight at SIGTERM 0, at the end 0, refused 0")


def test_while_uvicorn_imports_the_application_the_kernel_ends_it(tmp_path):
    """No handler is there yet, and nothing is in flight. Process 1 would not be ended at all."""
    with Running(UVICORN, "tests.drainable.slow_import:app", tmp_path) as running:
        until(Path(f"{running.gate}.reached").exists, "the import")
        running.terminate()

        assert running.exit_code() == -signal.SIGTERM


@pytest.mark.slow
def test_workers_of_uvicorn_that_import_the_application_end_with_0_after_it(tmp_path):
    with Running(SERVERS["uvicorn-h11-2"], "tests.drainable.slow_import:app", tmp_path) as running:
        until(Path(f"{running.gate}.reached").exists, "the import")
        running.terminate()
        until(lambda: running.output.count("Terminated child process") == 2, "both workers are told")
        running.open_gate()

        assert running.exit_code() == 0, running.output
        assert running.lines.count("SIGTERM: in flight 0, up to 60 s for it") == 2


@pytest.mark.slow
@pytest.mark.parametrize("app", ["blocking", "waiting"])
def test_a_start_that_does_not_end_is_left_after_its_budget(app, tmp_path):
    with Running(UVICORN, app, tmp_path, SIGTERM_SECONDS="1") as running:
        until(Path(f"{running.gate}.reached").exists, "the start")
        running.terminate()

        assert running.exit_code() == 0, running.output
        assert running.lines[-1] == "the server did not stop by itself: in flight 0, the process ends now"


@pytest.mark.parametrize("name", ["uvicorn-h11", *SLOW_SERVERS])
def test_a_start_that_fails_gives_the_server_s_own_exit_code(name, tmp_path):
    """Supervisors of uvicorn and hypercorn end with 0 all the same, gunicorn with 1 or 3; that is theirs."""
    codes = {}
    for app in ("failing_plain", "failing"):
        with Running(SERVERS[name], app, tmp_path) as running:
            codes[app] = running.exit_code()
            assert "no model" in running.output
            assert "bye" not in running.output

    assert (codes["failing"] == 0) == (codes["failing_plain"] == 0), codes
    assert UVICORN.name != name or codes == {"failing_plain": 3, "failing": 3}


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare for process 1")
def test_process_1_ends_with_0(tmp_path):
    try:
        subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no namespace of processes may be made here: {error.stderr.decode().strip()}")
    prefix = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
    with Running(UVICORN, "starlette", tmp_path, *prefix) as running:
        running.ready()
        (first,) = children(running.process.pid)
        assert running.get("/pid") == (200, "1")
        until(lambda: running.metric("inflight_requests") == 0, "the answer is done with")
        os.kill(first, signal.SIGTERM)

        assert running.exit_code() == 0, running.output
        assert running.lines[-1].endswith(": in flight at SIGTERM 0, at the end 0, refused 0")
