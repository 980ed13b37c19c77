"""Writes changes into flow style, `{a: b}` and `[a, b]`, and so into JSON.

One line or many: as the text does it. Block style is in `blocktext.py`.
"""

from __future__ import annotations

import re
from typing import Final

from yaml.nodes import MappingNode, Node

from webhook.cli.plan import Change
from webhook.cli.splices import Splices
from webhook.cli.yamltext import as_json, inline, scalar
from webhook.core.profile import Json

_REST_OF_LINE: Final = re.compile(r"[ \t]*(?:#[^\n]*)?\n|[ \t]*\r\n|[ \t]+#[^\n]*\n")
_COMMA: Final = re.compile(r"(?:\s|#[^\n]*\n)*,")


def write_flow(splices: Splices, change: Change) -> None:
    """Write the new values, keys and items of one flow collection; what is inside its entries is written before."""
    _Flow(splices, change).write()


class _Flow:
    def __init__(self, splices: Splices, change: Change) -> None:
        self.splices = splices
        self.change = change
        self.entries = [item if isinstance(item, tuple) else (item, item) for item in change.node.value]
        opening = "{" if isinstance(change.node, MappingNode) else "["
        self.inside = splices.text.index(opening, change.node.start_mark.index) + 1
        self.space = " " if change.style.spaced else ""
        self.pad = self._pad()

    def _pad(self) -> str | None:
        """Return what stands before entries that have lines of their own, None where they share one."""
        if not self.entries:
            return None
        before = self.splices.text[self.inside : self.entries[0][0].start_mark.index]
        _, newline, pad = before.rpartition("\n")
        return pad if newline else None

    def write(self) -> None:
        for number, value in self.change.replaced.items():
            node: Node = self.entries[number][1]
            start, end = node.start_mark.index, node.end_mark.index
            space = "" if self.splices.text[start - 1] in " \n[{" else " "
            self.splices.put(start, end, space + self._value(value))
        style, last = self.change.style, len(self.entries)
        added = [f"{scalar(key, style)}:{self.space}{self._value(value)}" for key, value in self.change.keys.items()]
        self._append(added + [self._value(value) for number, value in self.change.items if number == last])
        for number, value in self.change.items:
            if number < last:
                at = self.entries[number][0].start_mark.index
                self.splices.put(at, at, f"{self._value(value)},{self._between()}")

    def _between(self) -> str:
        return self.space if self.pad is None else self.splices.newline + self.pad

    def _append(self, added: list[str]) -> None:
        """Add entries at the end. A comma may stand there already, and a comment may follow the last entry."""
        if not added:
            return
        text, joined = self.splices.text, f",{self._between()}".join(added)
        if not self.entries:
            self.splices.put(self.inside, self.inside, joined)
            return
        end = self.entries[-1][1].end_mark.index
        comma = _COMMA.match(text, end)
        behind = comma.end() if comma else end
        if not comma:
            self.splices.put(end, end, ",")
        rest = _REST_OF_LINE.match(text, behind) if self.pad is not None else None
        if rest:
            line = f"{self.pad}{joined}{',' if comma else ''}"
            self.splices.put(rest.end(), rest.end(), line + self.splices.newline)
        else:
            self.splices.put(behind, behind, self.space + joined)

    def _value(self, value: Json) -> str:
        if self.change.style.quoted and self.pad is not None:
            return as_json(value, self.pad, self.change.style)
        return inline(value, self.change.style)
