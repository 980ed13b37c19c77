"""Turns JSON Patch operations into changes of single entries of a document's nodes, before any text is touched.

Operations follow one another, text is edited once: what a later operation does inside a value that an earlier one
added is done to that value. Text is written in `yamledit.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from webhook.cli.nodes import AliasNode, children, is_flow, key_of, merged, resolved
from webhook.cli.scalars import MERGE, TEXT
from webhook.cli.tree import Reader, Tree
from webhook.cli.yamltext import Style
from webhook.core.patch import apply, keys_of, pointer
from webhook.core.profile import Json

_WIDEST: Final = 8  # a step wider than that is an odd place, not a style


class EditFailed(Exception):  # noqa: N818  (an expected outcome: the document is left as it is)
    """The text cannot be edited so that it provably holds what the operations ask for."""


@dataclass(slots=True)
class Change:
    """What becomes of one collection: entries by their number get a new value, entries are added, or change inside.

    A list's `added` are pairs (number of the old item before which it stands, value), in their order.
    """

    node: Node
    style: Style
    replaced: dict[int, Json] = field(default_factory=dict)
    inside: dict[int, Change] = field(default_factory=dict)
    keys: dict[str, Json] = field(default_factory=dict)
    items: list[tuple[int, Json]] = field(default_factory=list)


def plan(tree: Tree, operations: Iterable[Json], style: Style) -> Change:
    """Return the change of the root. Raises EditFailed for an operation that does not fit the document."""
    if not isinstance(tree.root, MappingNode | SequenceNode):
        raise EditFailed("the document is no mapping")
    planner = _Planner(tree, style)
    for operation in operations:
        if operation["op"] != "add" or not operation["path"].startswith("/"):
            raise EditFailed(f"operation {operation['op']} at {operation['path']!r}")
        planner.add(planner.root, keys_of(operation["path"]), operation["value"])
    planner.free_aliases()
    return planner.root


class _Planner:
    def __init__(self, tree: Tree, style: Style) -> None:
        if not isinstance(tree.root, MappingNode | SequenceNode):
            raise EditFailed("the document is no mapping")
        self.aliases = tree.aliases
        self.root = Change(tree.root, style)
        self.touched: dict[int, Node] = {}

    def add(self, change: Change, tokens: list[str], value: Json) -> None:
        self._touch(change.node)
        if isinstance(change.node, MappingNode):
            self._add_to_mapping(change, tokens, value)
        else:
            self._add_to_list(change, tokens, value)

    def _add_to_mapping(self, change: Change, tokens: list[str], value: Json) -> None:
        key = tokens[0]
        if key in change.keys:
            change.keys[key] = _within(change.keys[key], tokens[1:], value)
            return
        number, node = _entry(change.node, key)
        if number is not None:
            self._change_entry(change, number, tokens[1:], value)
        elif len(tokens) == 1:
            change.keys[key] = value
        elif node is not None:
            change.keys[key] = _within(_value(node), tokens[1:], value)
        else:
            raise EditFailed(f"no field {key}")

    def _add_to_list(self, change: Change, tokens: list[str], value: Json) -> None:
        order = _order(change)
        index = int(tokens[0]) if tokens[0].isdecimal() else len(order) if tokens[0] == "-" else -1
        if not 0 <= index <= len(order) - (len(tokens) > 1):
            raise EditFailed(f"no item {tokens[0]}")
        if len(tokens) == 1:
            _insert(change, order, index, value)
            return
        number, place = order[index]
        if place is None:
            self._change_entry(change, number, tokens[1:], value)
        else:
            change.items[place] = (number, _within(change.items[place][1], tokens[1:], value))

    def _change_entry(self, change: Change, number: int, tokens: list[str], value: Json) -> None:
        """Change an entry of the text: as a whole, inside, or by a copy where it is shared with another place."""
        node = _child(change.node, number)
        if number in change.replaced:
            change.replaced[number] = _within(change.replaced[number], tokens, value)
        elif tokens and isinstance(node, MappingNode | SequenceNode):
            if number not in change.inside:
                change.inside[number] = Change(node, _style_below(change, node))
            self.add(change.inside[number], tokens, value)
        else:
            self._lose(node)
            change.inside.pop(number, None)
            change.replaced[number] = _within(_value(node), tokens, value) if tokens else value

    def _touch(self, node: Node) -> None:
        if id(node) in self.aliases:
            self.touched[id(node)] = node

    def _lose(self, node: Node) -> None:
        """Note every anchor below a node whose text goes."""
        self._touch(node)
        if self.aliases:
            for child in children(node):
                self._lose(child)

    def free_aliases(self) -> None:
        """Write out, with the value that they had, the aliases of every part that changes."""
        for node in self.touched.values():
            for alias in self.aliases[id(node)]:
                self._free(alias)

    def _free(self, alias: AliasNode) -> None:
        change = self.root
        for number in alias.place[:-1]:
            if number in change.replaced:
                return
            if number not in change.inside:
                change.inside[number] = Change(_child(change.node, number), change.style)
            change = change.inside[number]
        if alias.place[-1] not in change.replaced:
            change.replaced[alias.place[-1]] = _value(alias)


def outcome(change: Change) -> Json:
    """Return the value that a collection has after its change."""
    node = change.node
    values = []
    for number, _ in enumerate(node.value):
        if number in change.replaced:
            values.append(change.replaced[number])
        else:
            inner = change.inside.get(number)
            values.append(_value(_child(node, number)) if inner is None else outcome(inner))
    if isinstance(node, MappingNode):
        own = {key_of(key): value for (key, _), value in zip(node.value, values, strict=True)}
        return {**own, **change.keys}
    order = _order(change)
    return [values[number] if place is None else change.items[place][1] for number, place in order]


def _value(node: Node) -> Json:
    return Reader().value(node)


def _within(root: Json, tokens: list[str], value: Json) -> Json:
    """Return a value with another one added inside; the given one is not changed."""
    if not tokens:
        return value
    path = pointer(tuple(tokens))
    try:
        return apply(root, [{"op": "add", "path": path, "value": value}])
    except (LookupError, TypeError, ValueError) as error:
        raise EditFailed(f"no place for {path}") from error


def _entry(mapping: Node, key: str) -> tuple[int | None, Node | None]:
    """Find the entry that gives a key its value: its number, or only the node where it comes by a merge key."""
    for number in range(len(mapping.value) - 1, -1, -1):
        name, item = mapping.value[number]
        if name.tag is TEXT and type(name) is ScalarNode:  # nearly every key, and this is called often
            if name.value == key:
                return number, item
        elif name.tag is MERGE:
            inner = _merged_entry(item, key)
            if inner is not None:
                return None, inner
        elif key_of(name) == key:
            return number, item
    return None, None


def _merged_entry(item: Node, key: str) -> Node | None:
    """Find the value that a merge key brings; the first of several mappings counts."""
    found = (_entry(resolved(part), key)[1] for part in merged(item))
    return next((node for node in found if node is not None), None)


def _child(node: Node, number: int) -> Node:
    entry = node.value[number]
    child: Node = entry[1] if isinstance(node, MappingNode) else entry
    return child


def _order(change: Change) -> list[tuple[int, int | None]]:
    """Return the items of a list as they stand now: (old number, None), or (old number behind, place in `items`)."""
    order: list[tuple[int, int | None]] = []
    for number in range(len(change.node.value) + 1):
        order += [(number, place) for place, item in enumerate(change.items) if item[0] == number]
        if number < len(change.node.value):
            order.append((number, None))
    return order


def _insert(change: Change, order: list[tuple[int, int | None]], index: int, value: Json) -> None:
    """Add an item before the one that stands at the index now."""
    if index == len(order):
        change.items.append((len(change.node.value), value))
        return
    number, place = order[index]
    if place is None:
        change.items.append((number, value))
    else:
        change.items.insert(place, (number, value))


def _style_below(change: Change, node: Node) -> Style:
    """Learn from the text on the way how far things stand in."""
    parent = change.node
    if is_flow(parent) or is_flow(node) or not isinstance(parent, MappingNode):
        return change.style
    offset = node.start_mark.column - parent.start_mark.column
    if isinstance(node, SequenceNode):
        return replace(change.style, list_offset=offset) if 0 <= offset <= _WIDEST else change.style
    return replace(change.style, step=offset) if 0 < offset <= _WIDEST else change.style
