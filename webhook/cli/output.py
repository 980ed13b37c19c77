"""The formats of `drainhook patch`: each takes file after file and writes to standard output."""

from __future__ import annotations

import re
from typing import Final, Protocol

import orjson

from webhook.cli.explain import explain
from webhook.cli.patching import Patched
from webhook.cli.terminal import say, write
from webhook.core.profile import Json

_HAS_MARKER: Final = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)*---[ \t\r\n]")


class Writer(Protocol):
    """Takes the files of a run in order."""

    def add(self, patched: Patched) -> None:
        """Take one file."""

    def end(self) -> None:
        """Finish the output."""


class _Silent:
    def add(self, patched: Patched) -> None:
        """Print nothing."""

    def end(self) -> None:
        """Print nothing."""


class _Yaml(_Silent):
    """One stream of all files; a single file comes out byte by byte but for the edited lines."""

    def __init__(self) -> None:
        self.last = b""

    def add(self, patched: Patched) -> None:
        content = patched.content()
        if self.last:
            content = content.removeprefix(b"\xef\xbb\xbf")
            ending = b"" if self.last.endswith(b"\n") else b"\n"
            content = ending + (b"" if _HAS_MARKER.match(content) else b"---\n") + content
        write(content)
        self.last = content or self.last


class _Json(_Silent):
    """The objects: one as it is, several as a List that kubectl takes."""

    def __init__(self) -> None:
        self.values: list[Json] = []

    def add(self, patched: Patched) -> None:
        objects = (result.document.value for result in patched.results)
        self.values += [value for value in objects if value is not None]

    def end(self) -> None:
        if not self.values:
            return
        several = {"apiVersion": "v1", "kind": "List", "items": self.values}
        write(_dump(self.values[0] if len(self.values) == 1 else several) + b"\n")


def _dump(value: Json) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2)
    except TypeError:  # a number beyond 64 bits, or a lone surrogate
        import json  # noqa: PLC0415

        return json.dumps(value, indent=2).encode()


class _Diff(_Silent):
    def add(self, patched: Patched) -> None:
        from webhook.cli.diff import unified  # noqa: PLC0415  # difflib costs 9 ms

        if patched.is_changed:
            parts = [(result.document.piece.text, result.text) for result in patched.results]
            parts[0] = (patched.source.mark + parts[0][0], patched.source.mark + parts[0][1])
            write(unified(patched.source.name, parts).encode())


class _Patch(_Silent):
    """One JSON line per document that could be read."""

    def add(self, patched: Patched) -> None:
        for result in patched.results:
            document = result.document
            if document.value is None:
                continue
            row = {"file": document.file, "index": document.index, "kind": document.kind, "name": document.name}
            write(orjson.dumps({**row, "patch": result.decided.operations}) + b"\n")


class _Explain(_Silent):
    def add(self, patched: Patched) -> None:
        for result in patched.results:
            text = explain(result)
            if text:
                say(text)


def writer_of(name: str) -> Writer:
    """Return the writer of a format; `none` prints nothing."""
    writers = {"yaml": _Yaml, "json": _Json, "diff": _Diff, "patch": _Patch, "explain": _Explain}
    return writers.get(name, _Silent)()
