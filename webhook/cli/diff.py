"""Unified diffs that `patch -p0` applies: made document by document, so that long streams stay quick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Final

Opcode = tuple[str, int, int, int, int]

_CONTEXT: Final = 3
_NO_LINE_END: Final = "\\ No newline at end of file\n"


@dataclass(slots=True)
class Lines:
    """The lines of a file before and after, and what happened to them, in difflib's words."""

    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    opcodes: list[Opcode] = field(default_factory=list)

    def add(self, old: str, new: str) -> None:
        """Append a part of the file; a part that is the same before and after costs nothing."""
        before, after = split_lines(old), split_lines(new)
        if old == new:
            self._note("equal", len(before), len(after))
        else:
            matcher = SequenceMatcher(None, before, after, autojunk=False)
            for tag, start, end, new_start, new_end in matcher.get_opcodes():
                self._note(tag, end - start, new_end - new_start, moved=(start, new_start))
        self.old += before
        self.new += after

    def _note(self, tag: str, old: int, new: int, moved: tuple[int, int] = (0, 0)) -> None:
        start, new_start = len(self.old) + moved[0], len(self.new) + moved[1]
        last = self.opcodes[-1] if self.opcodes else None
        if tag == "equal" and last and last[0] == "equal":
            self.opcodes[-1] = ("equal", last[1], start + old, last[3], new_start + new)
        elif old or new:
            self.opcodes.append((tag, start, start + old, new_start, new_start + new))


class _Known(SequenceMatcher[str]):
    """Groups opcodes that are known already, with difflib's rules for context."""

    def __init__(self, opcodes: list[Opcode]) -> None:
        super().__init__(None, "", "")
        self.known = opcodes

    def get_opcodes(self) -> list[Opcode]:  # type: ignore[override]  # typeshed narrows the tags
        return [*self.known]


def split_lines(text: str) -> list[str]:
    """Split at line feeds only: a carriage return belongs to its line, and Unicode's separators are text."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def unified(name: str, parts: Sequence[tuple[str, str]]) -> str:
    """Return the diff of a file from its parts, each before and after; empty when nothing is changed."""
    lines = Lines()
    for old, new in parts:
        lines.add(old, new)
    if all(opcode[0] == "equal" for opcode in lines.opcodes):
        return ""
    label = f"{name}\t" if " " in name else name  # GNU patch takes what comes before a tab for the name
    return "".join([f"--- {label}\n+++ {label}\n", *_hunks(lines)])


def _hunks(lines: Lines) -> Iterator[str]:
    for group in _Known(lines.opcodes).get_grouped_opcodes(_CONTEXT):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                yield from _marked(" ", lines.old[start:end])
                continue
            yield from _marked("-", lines.old[start:end])
            yield from _marked("+", lines.new[new_start:new_end])


def _marked(sign: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield sign + (line if line.endswith("\n") else line + "\n" + _NO_LINE_END)


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
