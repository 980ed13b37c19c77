"""Finds and reads the files that a command is given: files, folders, globs and standard input.

Bytes in, text out; documents are cut in `stream.py` and read in `documents.py`. Nothing is written here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

STDIN: Final = "-"
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class Source:
    """One file: the name as it was given, its bytes, and its text without byte order mark.

    `text` is None where the bytes are no text; `fault` then says why and `fault_line` where (from 1).
    """

    name: str
    content: bytes
    text: str | None = None
    mark: str = ""
    fault: str = ""
    fault_line: int = 1


def find(names: Iterable[str]) -> list[str]:
    """Return the files behind the given names, each once, in order; folders give their manifests, sorted.

    Raises click.UsageError for a name behind which there is nothing.
    """
    found: dict[str, None] = {}
    for name in names:
        found.update(dict.fromkeys(_files(name)))
    if not found:
        raise click.UsageError("no input: give -f FILE, a folder, a glob, or - for standard input")
    return list(found)


def _files(name: str) -> Iterable[str]:
    if name == STDIN or Path(name).is_file():
        return [name]
    if Path(name).is_dir():
        files = list(_manifests(name))
        if not files:
            raise click.UsageError(f"no {', '.join('*' + suffix for suffix in _SUFFIXES)} in the folder {name}")
        return files
    if Path(name).exists():  # a pipe such as <(helm template ...)
        return [name]
    matches = _matches(name) if set("*?[") & set(name) else []
    if not matches:
        raise click.UsageError(f"no such file: {name}")
    return [file for match in matches for file in _files(match)]


def _matches(pattern: str) -> list[str]:
    from glob import glob  # noqa: PLC0415  # 12 ms that few runs need

    return sorted(glob(pattern, recursive=True))  # noqa: PTH207  (Path would change the names that were given)


def _manifests(folder: str) -> Iterator[str]:
    """Walk a folder in a stable order. Hidden folders (`.git`, `.github`) hold no manifests."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for file in sorted(files):
            if file.lower().endswith(_SUFFIXES):
                yield os.path.join(place, file)  # noqa: PTH118  (Path would drop a leading ./ that was given)


def load(name: str) -> Source:
    """Read one file. What cannot be read is said in the source, so that the other files are still done."""
    try:
        content = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    except OSError as error:
        return Source(name, b"", fault=f"cannot be read: {error.strerror}")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        hint = "UTF-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "not UTF-8"
        line = content.count(b"\n", 0, error.start) + 1
        return Source(name, content, fault=f"is {hint}: save it as UTF-8", fault_line=line)
    mark = _BOM if text.startswith(_BOM) else ""
    return Source(name, content, text.removeprefix(_BOM), mark)
