"""Reads and edits JSON documents.

JSON is flow-style YAML, so its text is edited by the same means; where YAML differs (surrogate pairs), the document
is written anew with its own indent. Nothing is decided here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from webhook.cli import tree, yamledit
from webhook.cli.nodes import Unreadable
from webhook.cli.plan import EditFailed
from webhook.core.profile import Json

_INDENT: Final = re.compile(r"\s*[{\[]\r?\n([ \t]*)")


def read(text: str) -> tuple[Json, tuple[tree.Duplicate, ...]]:
    """Return the value of one JSON text and its duplicate keys. Raises Unreadable."""
    twice = False

    def pairs(items: list[tuple[str, Json]]) -> dict[str, Json]:
        nonlocal twice
        made = dict(items)
        twice = twice or len(made) != len(items)
        return made

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=_refuse)
        if tree.looks_deep(text):
            tree.check_depth(value)
        return value, tree.read(text).duplicates if twice else ()
    except json.JSONDecodeError as error:
        raise Unreadable(error.msg, error.lineno - 1, error.colno - 1) from None
    except ValueError as error:
        raise Unreadable(str(error)) from None
    except RecursionError:
        raise Unreadable(f"nested deeper than {tree.MAX_DEPTH} levels") from None


def _refuse(word: str) -> Json:
    raise ValueError(f"{word} is no number that JSON can hold")


def edit(text: str, value: Json, operations: Sequence[Json]) -> yamledit.Edited:
    """Return the document after the operations; the value is used up."""
    try:
        found = tree.read(text)
        if yamledit.is_same(found.value, value):
            edited = yamledit.edit(text, found, operations)
            if yamledit.is_same(json.loads(edited.text), edited.value):
                return edited
    except (Unreadable, EditFailed, ValueError):
        pass
    return _rewritten(text, value, operations)


def _rewritten(text: str, value: Json, operations: Sequence[Json]) -> yamledit.Edited:
    patched = yamledit.patched(value, operations)
    indent = _INDENT.match(text)
    lines = json.dumps(patched, indent=indent[1] if indent else None, ensure_ascii=False)
    if "\r\n" in text:
        lines = lines.replace("\n", "\r\n")
    lead, tail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    try:
        (lead + lines).encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can only hold as an escape
        lines = json.dumps(patched, indent=indent[1] if indent else None)
    return yamledit.Edited(lead + lines + tail, patched)
