"""The text of a document and the pieces of it that are replaced. Where nodes end in the text is known here.

What is written, and in which style, is decided in `blocktext.py` and `flowtext.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from yaml.nodes import MappingNode, Node, ScalarNode

from webhook.cli.nodes import is_block
from webhook.cli.plan import EditFailed

_KEEPS_LINES: Final = re.compile(r"[^\n]*?[|>][0-9-]*\+")
_BLANK_LINES: Final = re.compile(r"(?:(?<=\n)\r?\n)+\Z")


def is_block_scalar(node: Node) -> bool:
    """Say whether a node is a literal or folded block (`|`, `>`)."""
    return isinstance(node, ScalarNode) and node.style in ("|", ">")


class Splices:
    """Collects (start, end, new text) in an order that settles equal places: what stands deeper is put first."""

    def __init__(self, text: str, newline: str) -> None:
        """Start with a text that ends with a line end."""
        self.text = text
        self.newline = newline
        self.pieces: list[tuple[int, int, str]] = []

    def put(self, start: int, end: int, new: str) -> None:
        """Replace a piece of the text; an empty piece is an insertion."""
        self.pieces.append((start, end, new))

    def put_lines(self, start: int, end: int, lines: Sequence[str]) -> None:
        """Replace whole lines."""
        self.put(start, end, "".join(line + self.newline for line in lines))

    def result(self) -> str:
        """Return the text with all pieces replaced. Raises EditFailed where two of them overlap."""
        parts, at = [], 0
        for start, end, new in sorted(self.pieces, key=lambda piece: piece[0]):
            if start < at:
                raise EditFailed("two edits meet in one place")
            parts += [self.text[at:start], new]
            at = end
        return "".join([*parts, self.text[at:]])

    def end_of(self, node: Node) -> int:
        """Return where the content of a node ends; the marks of block collections lie behind the comments after it."""
        while is_block(node) and node.value:
            node = node.value[-1][1] if isinstance(node, MappingNode) else node.value[-1]
        end: int = node.end_mark.index
        start = node.start_mark.index
        if is_block_scalar(node) and not _KEEPS_LINES.match(self.text, start):
            blank = _BLANK_LINES.search(self.text, start, end)
            return blank.start() if blank else end
        return end

    def line_after(self, end: int) -> int:
        """Return where the line after some content begins; block scalars end there already."""
        if end and self.text[end - 1] == "\n":
            return end
        found = self.text.find("\n", end)
        return len(self.text) if found < 0 else found + 1
