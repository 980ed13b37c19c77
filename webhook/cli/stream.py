"""Cuts a stream of YAML or JSON documents into its pieces, so that one broken document never costs the others.

The pieces joined are the text again. Nothing is parsed here but the markers between documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_MARKER: Final = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
_NO_CONTENT: Final = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)*[ \t]*(?:#[^\n]*)?\Z")
_SPACE: Final = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one document with its markers and comments, and the line of the file on which it begins."""

    text: str
    line: int
    is_json: bool = False


def split(text: str) -> list[Piece]:
    """Cut a file at its document markers, or a JSON file between its objects."""
    if text.lstrip()[:1] in ("{", "["):
        pieces = _split_json(text)
        if pieces:
            return pieces
    cuts = [*_cuts(text), len(text)]
    pieces, start, line = [], 0, 1
    for end in cuts:
        if end > start:
            pieces.append(Piece(text[start:end], line))
            line += text.count("\n", start, end)
            start = end
    return pieces


def _cuts(text: str) -> Iterator[int]:
    """Yield where documents begin. A marker in a block scalar is indented, so the first column always tells.

    Comments and directives before a `---` belong to the document that it opens; so does what follows a `...`.
    """
    start = 0
    for marker in _MARKER.finditer(text):
        if marker[0] == "---":
            if not _NO_CONTENT.match(text[start : marker.start()]):
                start = marker.start()
                yield start
        else:
            end = text.find("\n", marker.end())
            start = len(text) if end < 0 else end + 1
            yield start


def _split_json(text: str) -> list[Piece]:
    """Cut concatenated JSON values, as kubectl reads them; nothing when the text is no JSON."""
    decoder = json.JSONDecoder()
    pieces, start, line = [], 0, 1
    try:
        while start < len(text):
            _, end = decoder.raw_decode(text, _end_of_space(text, start))
            end = _end_of_space(text, end)
            pieces.append(Piece(text[start:end], line, is_json=True))
            line += text.count("\n", start, end)
            start = end
    except (ValueError, RecursionError):
        return []
    return pieces


def _end_of_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start
