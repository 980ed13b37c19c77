"""Reads the text of one document: its value as Kubernetes would see it, and the nodes that say where each part stands.

One composing pass serves both. The text of several documents is cut before (`stream.py`), and no finding is printed
here.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import yaml
from yaml.cyaml import CParser
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from webhook.cli.scalars import MERGE, TEXT, Tag, shortest, tag_of
from webhook.core.profile import Json

MAX_DEPTH: Final = 200
"""Kubernetes objects are some 40 levels deep at most; deeper text is an attack or a mistake."""

MAX_EXPANDED: Final = 200_000
"""Nodes that aliases may add: `kubectl` refuses such documents by a ratio, we by a number."""


class Unreadable(Exception):  # noqa: N818  (a fact about a text, not a fault of the program)
    """The text is no document that Kubernetes could read; `line` and `column` count from 0 within the text."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        """Keep the place beside the message."""
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A key that stands twice in one mapping: the field path of the later one and its place in the text."""

    key: str
    tokens: tuple[str | int, ...]
    line: int
    column: int


class AliasNode(Node):
    """A `*name` in the text. `place` are the entry numbers that lead to it from the root."""

    id = "alias"

    def __init__(self, target: Node, place: tuple[int, ...], event: yaml.AliasEvent) -> None:
        """Remember the node that it stands for."""
        super().__init__(TEXT + "*", None, event.start_mark, event.end_mark)
        self.target = target
        self.place = place


@dataclass(slots=True)
class Tree:
    """A document: `root` is None for one that holds nothing. `aliases` are those of each anchored node by its id."""

    root: Node | None
    value: Json = None
    duplicates: list[Duplicate] = field(default_factory=list)
    aliases: dict[int, list[AliasNode]] = field(default_factory=dict)


class _Composer(CParser):  # type: ignore[misc]  # untyped C class
    """libyaml's composer with Kubernetes' meaning of scalars: the tag of a node carries its value."""

    def descend_resolver(self, _parent: Node, _index: object) -> None:
        """Path resolvers are not used; the C composer calls this for every node."""

    def ascend_resolver(self) -> None:
        """See `descend_resolver`."""

    def resolve(self, kind: type[Node], value: str, implicit: tuple[bool, bool]) -> Tag:
        """Return the tag of a node without an explicit one."""
        return tag_of(value) if implicit[0] and kind is ScalarNode else TEXT


def read(text: str) -> Tree:
    """Read one YAML document. Raises Unreadable with the place of the fault."""
    try:
        tree = _compose_with_aliases(text) if "&" in text and "*" in text else Tree(_compose(text))
        if tree.root is not None:
            reader = _Reader(MAX_EXPANDED + len(text))
            tree.value = reader.value(tree.root)
            tree.duplicates = [*_duplicates(tree.root, ())] if reader.saw_duplicate else []
            if _looks_deep(text):
                check_depth(tree.value)
    except yaml.YAMLError as error:
        raise _unreadable(error, text) from None
    except RecursionError:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels") from None
    return tree


def _compose(text: str) -> Node | None:
    composer = _Composer(text)
    try:
        root: Node | None = composer.get_single_node()
    finally:
        composer.dispose()
    return root


def _unreadable(error: yaml.YAMLError, text: str) -> Unreadable:
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position]
        message = f"a control character (code {ord(text[error.position])}) has no place in YAML"
        return Unreadable(message, before.count("\n"), len(before) - before.rfind("\n") - 1)
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        context = f" {error.context}" if error.context else ""
        message = f"{error.problem or 'not YAML'}{context}"
        return Unreadable(message, mark.line if mark else 0, mark.column if mark else 0)
    return Unreadable(str(error))


def _looks_deep(text: str) -> bool:
    """Say cheaply whether a text could nest too deeply at all."""
    return (
        text.count("{") + text.count("[") > MAX_DEPTH
        or "- - - - " in text
        or "? ? ? ? " in text
        or " " * MAX_DEPTH in text
    )


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


class _Reader:
    """Makes values from nodes. Aliased parts are made anew each time, so that a change in one is not in the other."""

    def __init__(self, limit: int) -> None:
        self.left = limit
        self.saw_duplicate = False

    def value(self, node: Node) -> Json:
        if type(node) is ScalarNode:
            return self._scalar(node)
        if type(node) is MappingNode:
            return self._mapping(node)
        if type(node) is SequenceNode:
            return [
                item.value if item.tag is TEXT and type(item) is ScalarNode else self.value(item)
                for item in node.value
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
        """Make a mapping with merge keys or keys that are no text; entries count in the order of the text."""
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

    def _scalar(self, node: ScalarNode) -> Json:
        value = _explicit(node) if isinstance(node.tag, str) and node.tag is not TEXT else node.value
        if isinstance(node.tag, tuple):
            value = node.tag[0]
        if isinstance(value, float) and not math.isfinite(value):
            raise Unreadable(f"{node.value[:40]} is no number that JSON can hold", *_place(node))
        return value

    def _expanded(self, node: Node) -> Json:
        """Make the value of an alias; what all aliases add together is bounded."""
        target: Node = node.target  # type: ignore[attr-defined]  # only AliasNode comes here
        self.left -= _size(target, self.left)
        if self.left < 0:
            raise Unreadable("aliases expand without bound", *_place(node))
        return self.value(target)


def _size(node: Node, limit: int) -> int:
    """Count nodes without following aliases, at most a little over the limit."""
    count, level = 0, [node]
    while level and count <= limit:
        count += len(level)
        level = [child for item in level for child in children(item)]
    return count


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes directly below: values of a mapping (its keys are no fields), items of a sequence."""
    if isinstance(node, MappingNode):
        for _, item in node.value:
            yield item
    elif isinstance(node, SequenceNode):
        yield from node.value


def resolved(node: Node) -> Node:
    """Return what an alias stands for, and any other node itself."""
    return node.target if isinstance(node, AliasNode) else node


def merged(node: Node) -> list[Node]:
    """Return the mappings that a merge key names, the most important first."""
    parts = resolved(node)
    found = parts.value if isinstance(parts, SequenceNode) else [node]
    if not all(isinstance(resolved(part), MappingNode) for part in found):
        raise Unreadable("a merge key needs a mapping", *_place(node))
    return [*found]


def key_of(node: Node) -> str:
    """Return a mapping's key as the string that JSON has: `on` becomes `true`, `0x10` becomes `16`."""
    node = resolved(node)
    if not isinstance(node, ScalarNode):
        raise Unreadable("a mapping or list cannot be a key", *_place(node))
    if node.tag is TEXT:
        return str(node.value)
    value = node.tag[0] if isinstance(node.tag, tuple) else _explicit(node)
    if value is None:
        raise Unreadable("an empty value cannot be a key", *_place(node))
    return value if isinstance(value, str) else json.dumps(value)


_EXPLICIT: Final = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}


def _explicit(node: ScalarNode) -> Json:
    """Return the value of a scalar with a tag of its own, such as `!!str 1`; unknown tags leave text."""
    kind = re.sub(r"^tag:yaml\.org,2002:", "", str(node.tag))
    if kind == "binary":
        try:
            return base64.b64decode(node.value).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise Unreadable("!!binary does not hold text", *_place(node)) from None
    if kind not in _EXPLICIT:
        return node.value
    tag = tag_of(node.value)
    value = tag[0] if isinstance(tag, tuple) else tag
    if not isinstance(value, _EXPLICIT[kind]) or (isinstance(value, bool) and kind != "bool"):
        raise Unreadable(f"cannot read {node.value[:40]!r} as !!{kind}", *_place(node))
    return shortest(value) if isinstance(value, float) else value


def _place(node: Node) -> tuple[int, int]:
    return node.start_mark.line, node.start_mark.column


def _duplicates(node: Node, tokens: tuple[str | int, ...]) -> Iterator[Duplicate]:
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
            yield Duplicate(name, (*tokens, name), *_place(key))
        seen.add(name)
        yield from _duplicates(item, (*tokens, name))


def _compose_with_aliases(text: str) -> Tree:
    raise NotImplementedError
