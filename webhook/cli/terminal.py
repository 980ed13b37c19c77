"""How text reaches a terminal or a pipe: colours and progress on a terminal only, plain and stable text elsewhere.

What is said is not made here.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Final

import click

_PATIENCE_SECONDS: Final = 1.0
_STEP_SECONDS: Final = 0.2


def say(text: str, *, err: bool = False) -> None:
    """Print a line; its colours only reach a terminal, and none that asks for no colour (NO_COLOR)."""
    click.echo(text, err=err, color=False if os.environ.get("NO_COLOR") else None)


def write(content: bytes) -> None:
    """Write bytes to standard output exactly as they are: line ends and encoding are the user's."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)


class Progress:
    """Counts on standard error while long work runs, where nothing else is printed to a terminal."""

    def __init__(self) -> None:
        """Stay silent unless a person is watching and the output goes elsewhere."""
        self.shown = sys.stderr.isatty() and not sys.stdout.isatty()
        self.count = 0
        self.drawn = False
        self.next = time.monotonic() + _PATIENCE_SECONDS

    def step(self, count: int, name: str) -> None:
        """Note that documents are done."""
        self.count += count
        if self.shown and time.monotonic() >= self.next:
            self.next = time.monotonic() + _STEP_SECONDS
            self.drawn = True
            click.echo(f"\r\x1b[K{self.count} documents, {name}", err=True, nl=False)

    def end(self) -> None:
        """Remove the line."""
        if self.drawn:
            click.echo("\r\x1b[K", err=True, nl=False)
