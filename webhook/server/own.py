"""A CA and a server certificate of the server's own, for when none was given. They never touch the disk.

A child process makes them: the library that can would stay in memory for good, 9 MiB for a tenth of a second's use.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from webhook.pair import Pair

_BETWEEN = b"\0"  # stands in no PEM text


def make(names: Sequence[str]) -> tuple[bytes, Pair]:
    """Make a CA, and a pair for the names that it signs; the CA's key is forgotten. Raises OSError."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import write; write({list(names)!r})"
    child = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=False)
    if child.returncode != 0:
        raise OSError(0, "could not make a certificate", sys.executable)
    ca, certificate, key = child.stdout.split(_BETWEEN)
    return ca, Pair(certificate, key)


def write(names: Sequence[str]) -> None:
    """Do the child's work: write CA, certificate and key to standard output, a pipe that only the parent reads."""
    from webhook.certificates import issue_ca, issue_leaf  # noqa: PLC0415 (the child's import, not the server's)

    now = datetime.now(UTC)
    ca = issue_ca(now)
    leaf = issue_leaf(ca, names, now)
    sys.stdout.buffer.write(_BETWEEN.join((ca.certificate, leaf.certificate, leaf.key)))
