"""Writing files whole or not at all, with the permissions that were asked for. Nothing is read here."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Put the content at the path in one step, so that no reader sees half of it. Raises OSError.

    The file has its mode before its content: a private key is never readable for others, not for an instant.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)  # or a crash after the rename could leave an empty file in its place
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
