"""Writes a patched file back: whole or not at all, with its mode, through symbolic links to the file itself."""

from __future__ import annotations

import stat
from pathlib import Path

from webhook.files import write_whole


def write_back(name: str, content: bytes) -> None:
    """Replace a file's content in one step. Raises OSError, and then the file is as it was."""
    target = Path(name).resolve(strict=True)
    write_whole(target, content, stat.S_IMODE(target.stat().st_mode))
