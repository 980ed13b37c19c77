"""The command line in this process; as a program of its own it is in `samples.py`."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from webhook.cli.main import run


@dataclass(frozen=True)
class Done:
    """What a run left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def drainhook(capfdbinary, monkeypatch, tmp_path):
    """Run a command in an empty folder: `drainhook("patch", "-f", "-", stdin=b"...")`."""
    monkeypatch.chdir(tmp_path)

    def call(*argv: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = run([*argv])
        out, err = capfdbinary.readouterr()
        return Done(code, out.decode(), err.decode())

    return call


@pytest.fixture
def manifests(tmp_path):
    """Write files into the folder of the test: `manifests(**{"a.yaml": text})`."""

    def write(**files: str | bytes) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path

    return write
