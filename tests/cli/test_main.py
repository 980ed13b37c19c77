"""The program from outside: help, names, exit codes, pipes, terminals and interrupts."""

from __future__ import annotations

import os
import pty
import resource
import signal
import subprocess
import sys

import pytest

from tests.cli.samples import DEPLOYMENT, ENVIRONMENT, PROGRAM, program
from webhook import __version__
from webhook.cli.main import COMMANDS, cli, program_name

HELP_CPU_SECONDS = 0.150


def test_the_line_of_each_command_is_that_of_its_own_help():
    context = cli.make_context("drainhook", ["--version"], resilient_parsing=True)
    for name, (_, line) in COMMANDS.items():
        command = cli.get_command(context, name)
        assert command.get_short_help_str(limit=200).rstrip(".") == line.rstrip("."), name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(drainhook, name):
    done = drainhook(name, "--help")
    assert done.code == 0
    assert done.out.startswith(f"Usage: drainhook {name} ")


@pytest.mark.parametrize("name", ["completion", "drain", "patch", "validate"])
def test_help_shows_an_example(drainhook, name):
    assert f"drainhook {name}" in drainhook(name, "--help").out.partition("Example: ")[2]


def test_help_imports_no_command_and_nothing_heavy(tmp_path):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "webhook", "--help"],
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    heavy = {"yaml", "orjson", "jsonpatch", "jsonschema", "fastapi", "kubernetes", "webhook.core.admission"}
    assert not loaded & heavy
    assert {name for name in loaded if name.startswith("webhook.")} == {
        "webhook.cli",
        "webhook.cli.main",
        "webhook.__main__",
    } & loaded


def test_help_costs_little_cpu(tmp_path):
    """The least of several runs: other work on the machine only adds."""
    costs = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert program("--help", cwd=tmp_path).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(costs) < HELP_CPU_SECONDS, costs


def test_version(drainhook):
    assert drainhook("--version").out == f"drainhook {__version__}\n"


def test_a_plugin_is_named_as_kubectl_calls_it():
    assert program_name("/opt/bin/kubectl-drainhook") == "kubectl drainhook"
    assert program_name("/opt/bin/drainhook") == "drainhook"
    assert program_name("/x/webhook/__main__.py") == "drainhook"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_ask_the_program(drainhook, shell):
    done = drainhook("completion", shell)
    assert done.code == 0
    assert f"_DRAINHOOK_COMPLETE={shell}_complete" in done.out


def test_completion_answers_with_commands(tmp_path):
    environment = ENVIRONMENT | {
        "_DRAINHOOK_COMPLETE": "bash_complete",
        "COMP_WORDS": "drainhook pa",
        "COMP_CWORD": "1",
    }
    command = [sys.executable, "-c", "from webhook.cli.main import main; main([])"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "plain,patch\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [(["nope"], "nope"), (["patch", "--nope"], "--nope"), (["completion", "tcsh"], "tcsh"), (["drain"], "--backend")],
)
def test_wrong_usage_is_one_line_that_names_the_help(drainhook, argv, message):
    done = drainhook(*argv)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err
    assert "--help)" in done.err


@pytest.mark.parametrize("argv", [(), ("profiles",)])
def test_a_call_without_a_command_shows_the_help_alone(drainhook, argv):
    done, asked = drainhook(*argv), drainhook(*argv, "--help")
    assert (done.code, done.out, done.err) == (2, "", asked.out)


def test_a_bug_is_one_line_and_exit_code_2(manifests):
    """A stand-in for any bug: the interpreter's own module is shadowed by one that fails on import."""
    folder = manifests(**{"jsonpatch.py": "raise RuntimeError('first\\nsecond')\n", "a.yaml": DEPLOYMENT})
    command = [*PROGRAM, "patch", "-f", "a.yaml"]
    environment = ENVIRONMENT | {"PYTHONPATH": f"{folder}:{ENVIRONMENT['PYTHONPATH']}"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "drainhook: internal error: RuntimeError: first second\n"


def test_a_closed_pipe_ends_the_run_quietly(manifests):
    folder = manifests(**{"a.yaml": DEPLOYMENT * 1 + "".join(f"---\n{DEPLOYMENT}" for _ in range(60))})
    process = subprocess.Popen(
        [*PROGRAM, "patch", "-f", "a.yaml", "-o", "patch"],
        cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")  # noqa: PTH110  (a device)
def test_an_output_that_cannot_be_written_is_said(manifests):
    folder = manifests(**{"a.yaml": DEPLOYMENT})
    with open("/dev/full", "wb") as full:  # noqa: PTH123  (a device)
        done = subprocess.run(
            [*PROGRAM, "patch", "-f", "a.yaml"],
            cwd=folder,
            env=ENVIRONMENT,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == b"drainhook: standard output: No space left on device\n"


def test_an_interrupt_ends_the_run_with_130(tmp_path):
    """Also where the tests run in the background of a shell, which makes their children ignore it."""
    process = subprocess.Popen(
        ["env", "--default-signal=INT", *PROGRAM, "patch", "-f", "-"],
        cwd=tmp_path, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.write(b"a: 1\n")
    process.stdin.flush()
    wait_for_read(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err


def wait_for_read(pid: int) -> None:
    """Return once the process has read what stands in its standard input."""
    while True:
        with open(f"/proc/{pid}/io") as file:  # noqa: PTH123  (a kernel file)
            if "syscr: 0" in file.read():
                continue
        with open(f"/proc/{pid}/wchan") as file:  # noqa: PTH123  (a kernel file)
            if "pipe" in file.read():
                return


def on_terminal(folder, *argv, **environment) -> bytes:
    """Run a command with a terminal as its output and return what it printed there."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, *argv],
        cwd=folder,
        env=ENVIRONMENT | environment,
        stdout=follower,
        stderr=follower,
        stdin=subprocess.DEVNULL,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:  # Linux says EIO when the other end is closed
            break
        if not chunk:
            break
        shown += chunk
    os.close(leader)
    process.wait(timeout=60)
    return shown


def test_a_terminal_gets_colours_unless_it_asks_for_none(manifests):
    folder = manifests(**{"a.yaml": DEPLOYMENT})
    assert b"\x1b[32m+ spec.containers[0].lifecycle.preStop" in on_terminal(
        folder, "patch", "-f", "a.yaml", "-o", "explain"
    )
    plain = on_terminal(folder, "patch", "-f", "a.yaml", "-o", "explain", NO_COLOR="1")
    assert b"+ spec.containers[0].lifecycle.preStop" in plain
    assert b"\x1b" not in plain
