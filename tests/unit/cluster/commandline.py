"""`drainhook` run in this process, with the exit code that the shell would see. No claim is made here."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass

from webhook.cli.main import run


@dataclass(frozen=True)
class Result:
    """What a run left behind."""

    exit_code: int
    stdout: str
    stderr: str


def drainhook(*arguments):
    """Run one command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    return Result(code, out.getvalue(), err.getvalue())
