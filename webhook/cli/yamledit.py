"""Edits the text of one document at the places of its nodes, so that comments, order and style stay.

Every edit is proven: the new text is read again and compared with what the operations make of the object. The change
is planned in `plan.py` and written by `blocktext.py` and `flowtext.py`; nothing is decided here.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import jsonpatch
import orjson
from yaml.nodes import MappingNode, Node, ScalarNode

from webhook.cli.blocktext import write
from webhook.cli.nodes import Unreadable
from webhook.cli.plan import EditFailed, plan
from webhook.cli.splices import Splices
from webhook.cli.tree import Tree, read
from webhook.cli.yamltext import Style
from webhook.core.profile import Json


@dataclass(frozen=True, slots=True)
class Edited:
    """The new text of a document and the object that it holds."""

    text: str
    value: Json


def edit(text: str, tree: Tree, operations: Sequence[Json]) -> Edited:
    """Return the document after the operations; `tree` is what `read(text)` gave.

    Raises EditFailed where the new text is not proven to hold exactly what the operations make of the object.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    whole = text if text.endswith("\n") else text + newline
    style = _style(whole, newline, tree.root)
    splices = Splices(whole, newline)
    write(splices, plan(tree, operations, style))
    new, expected = splices.result(), patched(tree.value, operations)
    if whole is not text:
        # The text had no line end, so the new one has none, unless a literal block needs it for its value.
        bare = new.removesuffix(newline)
        new = bare if is_same(_read_again(bare).value, expected) else new
    after = _read_again(new)
    if len(after.duplicates) > len(tree.duplicates) or not is_same(after.value, expected):
        raise EditFailed("the new text would not hold the patched object")
    return Edited(new, after.value)


def patched(value: Json, operations: Sequence[Json]) -> Json:
    """Return the object after the operations, made by the library that is the oracle; the given object is used up."""
    if _are_nested([operation["path"] for operation in operations]):
        # Older libraries put values in by reference and change them later: the decision must not change under it.
        operations = copy.deepcopy(operations)
    try:
        return jsonpatch.apply_patch(value, operations, in_place=True)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise EditFailed(f"the operations do not fit: {error}") from error


def _are_nested(paths: Sequence[str]) -> bool:
    """Say whether an operation may change what another one added."""
    return any(later.startswith(f"{path}/") for index, path in enumerate(paths) for later in paths[index + 1 :])


def is_same(one: Json, other: Json) -> bool:
    """Say whether two values are the same JSON; true and 1 are not, nor are 1 and 1.0."""
    try:
        return orjson.dumps(one, option=orjson.OPT_SORT_KEYS) == orjson.dumps(other, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a number beyond 64 bits
        return bool(one == other)


def _read_again(text: str) -> Tree:
    try:
        return read(text)
    except Unreadable as error:
        raise EditFailed(f"the new text would not be readable: {error}") from error


def _style(text: str, newline: str, root: Node | None) -> Style:
    """Learn the style of the whole document; steps are learnt on the way to each change."""
    if not isinstance(root, MappingNode) or not root.flow_style or not root.value:
        return Style(newline=newline)
    key, _ = root.value[0]
    is_json = isinstance(key, ScalarNode) and key.style == '"'
    on_lines = key.start_mark.line > root.start_mark.line
    spaced = text.startswith((": ", " :"), key.end_mark.index)
    step = key.start_mark.column if on_lines else 0
    return Style(step=step or (0 if is_json else 2), newline=newline, quoted=is_json, spaced=spaced or not is_json)
