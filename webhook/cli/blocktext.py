"""Writes changes into block style, the form of nearly every manifest: new lines behind the content of a collection.

Comments belong to the line or the item that they stand at and are never moved. Flow style is in `flowtext.py`.
"""

from __future__ import annotations

import re
from typing import Final

from yaml.nodes import MappingNode, Node, SequenceNode

from webhook.cli.flowtext import write_flow
from webhook.cli.nodes import is_block, is_flow
from webhook.cli.plan import Change, EditFailed, outcome
from webhook.cli.splices import Splices, is_block_scalar
from webhook.cli.yamltext import entry, scalar
from webhook.core.profile import Json

_COLON: Final = re.compile(r"\s*:")
_PROPERTIES: Final = re.compile(r"(?:[ \t]+[&!][^\s,\[\]{}]*)+")
_FIRST_DASH: Final = re.compile(r"^( *)-(?=\s)", re.MULTILINE)


def write(splices: Splices, change: Change) -> None:
    """Write the change of a collection and of all below it, the deepest first."""
    for number, inner in change.inside.items():
        if _opens(splices, change, inner):
            change.replaced[number] = outcome(inner)
        else:
            write(splices, inner)
    if is_flow(change.node):
        write_flow(splices, change)
    elif isinstance(change.node, MappingNode):
        _write_mapping(splices, change)
    else:
        _write_list(splices, change)


def _opens(splices: Splices, outer: Change, inner: Change) -> bool:
    """Say whether flow style below block style becomes lines: where it is empty, or would get text of several lines.

    Where it holds comments, anchors or merge keys it stays, since they would be lost.
    """
    if not is_flow(inner.node) or is_flow(outer.node):
        return False
    text = splices.text[inner.node.start_mark.index : inner.node.end_mark.index]
    is_bare = text[0] in "{[" and not re.search(r"[#&*!]|<<", text)
    return is_bare and (not inner.node.value or _has_lines(inner))


def _has_lines(change: Change) -> bool:
    """Say whether any new value holds text of several lines."""
    new = [*change.replaced.values(), *change.keys.values(), *(item for _, item in change.items)]
    return any(_is_long(value) for value in new) or any(_has_lines(inner) for inner in change.inside.values())


def _is_long(value: Json) -> bool:
    if isinstance(value, dict | list):
        return any(_is_long(item) for item in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and "\n" in value


def _write_mapping(splices: Splices, change: Change) -> None:
    column = _column(splices, change.node)
    for number, value in change.replaced.items():
        key, item = change.node.value[number]
        _replace_value(splices, key, item, entry("", value, column, change.style))
    lines = []
    for name, value in change.keys.items():
        lines += entry(f"{scalar(name, change.style)}:", value, column, change.style)
    if lines:
        at = splices.line_after(splices.end_of(change.node))
        splices.put_lines(at, at, lines)


def _replace_value(splices: Splices, key: Node, item: Node, lines: list[str]) -> None:
    """Write a new value behind its key. A comment on the key's line stays, those inside the old value go with it."""
    found = _COLON.match(splices.text, key.end_mark.index)
    if not found:
        raise EditFailed("a key without a colon")
    colon, end, first = found.end(), splices.end_of(item), lines[0].strip(" ")
    head = f" {first}" if first else ""
    if is_block(item):
        line = splices.line_after(colon)
        properties = _PROPERTIES.match(splices.text, colon, line)
        if item.start_mark.index < line and not properties:
            raise EditFailed("a block value on the line of its key")
        splices.put(colon, properties.end() if properties else colon, head)
        splices.put_lines(line, splices.line_after(end), lines[1:])
    elif is_block_scalar(item):
        splices.put_lines(colon, end, [head, *lines[1:]])
    else:
        splices.put(colon, end, head)
        after = splices.line_after(end)
        splices.put_lines(after, after, lines[1:])


def _write_list(splices: Splices, change: Change) -> None:
    column, items = _column(splices, change.node), change.node.value
    for number, value in change.replaced.items():
        start, end = items[number].start_mark, splices.end_of(items[number])
        width = 1 if splices.text[start.index - 1] == "-" else 2
        lines = entry("-", value, start.column - width, change.style)
        splices.put(start.index, end, lines[0][start.column :])
        after = splices.line_after(end)
        splices.put_lines(after, after, lines[1:])
    for number, value in change.items:
        lines = entry("-", value, column, change.style)
        if number == len(items):
            at = splices.line_after(splices.end_of(change.node))
            splices.put_lines(at, at, lines)
        else:
            at = _dash(splices, change.node, number, column)
            splices.put(at, at, splices.newline.join(lines)[column:] + splices.newline + " " * column)


def _dash(splices: Splices, node: Node, number: int, column: int) -> int:
    """Return where the dash of an item stands."""
    start = splices.end_of(node.value[number - 1]) if number else node.start_mark.index
    if not number and splices.text[start] == "-":
        return start
    found = re.compile(rf"^ {{{column}}}-(?=\s)", re.MULTILINE).search(splices.text, start)
    if not found:
        raise EditFailed("a list item without a dash of its own")
    return found.end() - 1


def _column(splices: Splices, node: Node) -> int:
    """Return the column of the keys or dashes of a block collection; its anchor and tag stand before them."""
    column: int = node.start_mark.column
    if splices.text[node.start_mark.index] in "&!":
        if isinstance(node, SequenceNode):
            found = _FIRST_DASH.search(splices.text, node.start_mark.index)
            return len(found[1]) if found else column
        column = node.value[0][0].start_mark.column
    return column
