"""Reads the text of one document: its value as Kubernetes would see it, and the nodes that say where each part stands.

One composing pass serves both. A stream of documents is cut before (`stream.py`); no finding is printed here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from webhook.cli.compose import Aliases, compose
from webhook.cli.nodes import AliasNode, Unreadable, children, key_of, merged, place_of, value_of
from webhook.cli.scalars import MERGE, TEXT
from webhook.core.patch import Tokens
from webhook.core.profile import Json

MAX_DEPTH: Final = 200
"""Kubernetes objects are some 40 levels deep at most; deeper text is an attack or a mistake."""

MAX_EXPANDED: Final = 200_000
"""Nodes that aliases may add. Where `kubectl` refuses by a ratio, a number is enough here."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A key that stands twice in one mapping: the place of the later one, as field and within the text (from 0)."""

    key: str
    tokens: Tokens
    line: int
    column: int


@dataclass(slots=True)
class Tree:
    """A document: `root` is None for one that holds nothing. `aliases` are those of each anchored node by its id."""

    root: Node | None
    aliases: Aliases = field(default_factory=dict)
    value: Json = None
    duplicates: tuple[Duplicate, ...] = ()


def read(text: str) -> Tree:
    """Read the one YAML document in the text. Raises Unreadable with the place of the fault."""
    try:
        tree = Tree(*compose(text))
        if tree.root is not None:
            reader = Reader(MAX_EXPANDED)
            tree.value = reader.value(tree.root)
            if reader.saw_duplicate:
                tree.duplicates = tuple(_duplicates(tree.root, ()))
            if looks_deep(text):
                check_depth(tree.value)
    except RecursionError:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels") from None
    return tree


def looks_deep(text: str) -> bool:
    """Say cheaply whether a text could nest too deeply at all."""
    nested = text.count("{") + text.count("[") > MAX_DEPTH or " " * MAX_DEPTH in text
    return nested or "- - - - " in text or "? ? ? ? " in text


def check_depth(value: Json) -> None:
    """Raise Unreadable for a value that is nested too deeply for what comes after; takes no stack itself."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for item in level for inner in _inner(item)]
        if not level:
            return
    raise Unreadable(f"nested deeper than {MAX_DEPTH} levels")


def _inner(value: Json) -> Json:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


class Reader:
    """Makes values from nodes. Aliased parts are made anew each time, so that a change in one is not in the other."""

    def __init__(self, limit: int = MAX_EXPANDED) -> None:
        """Start with the number of nodes that aliases may add."""
        self.left = limit
        self.saw_duplicate = False

    def value(self, node: Node) -> Json:
        """Return the value of a node. Raises Unreadable for what no JSON can hold."""
        if type(node) is ScalarNode:
            return node.value if node.tag is TEXT else self._rare_scalar(node)
        if type(node) is MappingNode:
            return self._mapping(node)
        if type(node) is SequenceNode:
            return [
                item.value if item.tag is TEXT and type(item) is ScalarNode else self.value(item) for item in node.value
            ]
        return self._expanded(node)

    def _mapping(self, node: MappingNode) -> Json:
        made: dict[str, Json] = {}
        for key, item in node.value:
            if key.tag is not TEXT or type(key) is not ScalarNode:
                return self._rare_mapping(node)
            made[key.value] = item.value if item.tag is TEXT and type(item) is ScalarNode else self.value(item)
        if len(made) != len(node.value):
            self.saw_duplicate = True
        return made

    def _rare_mapping(self, node: MappingNode) -> Json:
        """Make a mapping with merge keys or keys that are no text; as in kubectl, the later of two wins."""
        made: dict[str, Json] = {}
        own: set[str] = set()
        for key, item in node.value:
            if key.tag is MERGE:
                for part in reversed(merged(item)):
                    made.update(self.value(part))
                continue
            name = key_of(key)
            self.saw_duplicate |= name in own
            own.add(name)
            made[name] = self.value(item)
        return made

    def _rare_scalar(self, node: ScalarNode) -> Json:
        value = value_of(node)
        if isinstance(value, float) and not math.isfinite(value):
            raise Unreadable("a number that JSON cannot hold", *place_of(node))
        return value

    def _expanded(self, node: Node) -> Json:
        """Make the value of an alias; what all aliases add together is bounded."""
        if not isinstance(node, AliasNode):
            raise TypeError(type(node))
        self.left -= _size(node.target, self.left)
        if self.left < 0:
            raise Unreadable("aliases expand without bound", *place_of(node))
        return self.value(node.target)


def _size(node: Node, limit: int) -> int:
    """Count nodes without following aliases, at most a little over the limit."""
    count, level = 0, [node]
    while level and count <= limit:
        count += len(level)
        level = [child for item in level for child in children(item)]
    return count


def _duplicates(node: Node, tokens: Tokens) -> Iterator[Duplicate]:
    """Find the keys that stand twice. Slow, and only called where there are some."""
    if isinstance(node, SequenceNode):
        for index, item in enumerate(node.value):
            yield from _duplicates(item, (*tokens, index))
    if not isinstance(node, MappingNode):
        return
    seen: set[str] = set()
    for key, item in node.value:
        if key.tag is MERGE:
            continue
        name = key_of(key)
        if name in seen:
            yield Duplicate(name, (*tokens, name), *place_of(key))
        seen.add(name)
        yield from _duplicates(item, (*tokens, name))
