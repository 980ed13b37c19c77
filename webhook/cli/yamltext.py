"""Writes values as YAML or JSON text in the style of the document around them.

Where the text goes is decided in `yamledit.py`. Only values that drainhook adds are written here, never a user's.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from webhook.core.profile import Json

_PLAIN: Final = re.compile(r"[A-Za-z/_](?:[A-Za-z0-9_./@%+=~-]|:(?=[A-Za-z0-9/]))*")
_NOT_PLAIN: Final = frozenset(("true", "false", "yes", "no", "on", "off", "y", "n", "null"))
_LITERAL: Final = re.compile(
    r"(?=\S)[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*"
)
_SINGLE_QUOTED: Final = re.compile(r"[\x20-\x26\x28-\x7e]*")
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_DASH: Final = "- "


@dataclass(frozen=True, slots=True)
class Style:
    """How a document is written: indent step, columns by which lists stand in from their key, and line ends.

    `quoted` is for JSON: every string in double quotes. `spaced` says whether a space follows its colons and commas.
    """

    step: int = 2
    list_offset: int = 2
    newline: str = "\n"
    quoted: bool = False
    spaced: bool = True


def entry(head: str, value: Json, indent: int, style: Style) -> list[str]:
    """Return the lines of a block entry: `head` is `key:` or `-`, at `indent` columns."""
    pad = " " * indent
    if value and isinstance(value, dict | list):
        if head == "-":
            lines = block(value, indent + 2, style)
            return [pad + _DASH + lines[0][indent + 2 :], *lines[1:]]
        inner = style.list_offset if isinstance(value, list) else style.step
        return [pad + head, *block(value, indent + inner, style)]
    if isinstance(value, str) and "\n" in value and _fits_literal(value):
        return [f"{pad}{head} {_chomping(value)}", _literal(value, indent + max(style.step, 2), style.newline)]
    return [f"{pad}{head} {inline(value, style)}"]


def block(value: Json, indent: int, style: Style) -> list[str]:
    """Return the lines of a mapping or list that is not empty, in block style."""
    lines: list[str] = []
    if isinstance(value, dict):
        for key, item in value.items():
            lines += entry(f"{scalar(key, style)}:", item, indent, style)
    else:
        for item in value:
            lines += entry("-", item, indent, style)
    return lines


@lru_cache(maxsize=64)
def _fits_literal(text: str) -> bool:
    """Say whether a literal block can hold a text. Kept, since every document gets the same drain script.

    Not one that ends in blank lines: a block that keeps its own would keep those that stand behind it in the text too.
    """
    return _LITERAL.fullmatch(text) is not None and not text.endswith("\n\n")


def _chomping(text: str) -> str:
    """Return the header of a literal block that keeps exactly the line end that the text has, or has not."""
    return "|" if text.endswith("\n") else "|-"


@lru_cache(maxsize=64)
def _literal(text: str, indent: int, newline: str) -> str:
    """Return the lines of a literal block as one; kept as `_fits_literal` is."""
    pad = " " * indent
    return newline.join(pad + line if line else "" for line in text.removesuffix("\n").split("\n"))


def inline(value: Json, style: Style) -> str:
    """Return a value on one line, in flow style."""
    if isinstance(value, str):
        return scalar(value, style)
    space = " " if style.spaced else ""
    if isinstance(value, dict):
        items = (f"{scalar(key, style)}:{space}{inline(item, style)}" for key, item in value.items())
        return "{" + f",{space}".join(items) + "}"
    if isinstance(value, list):
        return "[" + f",{space}".join(inline(item, style) for item in value) + "]"
    return json.dumps(value)


def scalar(text: str, style: Style) -> str:
    """Return a string so that every YAML reader takes it for a string: plain where that is beyond doubt."""
    if not style.quoted:
        if _PLAIN.fullmatch(text) and text.lower() not in _NOT_PLAIN:
            return text
        if '"' in text and _SINGLE_QUOTED.fullmatch(text):
            return f"'{text}'"
    return _escaped(json.dumps(text, ensure_ascii=False))


def _escaped(text: str) -> str:
    """Escape what no YAML may hold. Nothing else: YAML does not know the surrogate pairs of JSON."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def as_json(value: Json, pad: str, style: Style) -> str:
    """Return a value as JSON over several lines, each behind `pad`; tabs there mean tabs everywhere."""
    text = _escaped(json.dumps(value, indent="\t" if "\t" in pad else style.step, ensure_ascii=False))
    return text.replace("\n", style.newline + pad)
