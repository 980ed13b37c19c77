"""The nodes of one document's text: YAML's own three, and the alias, which YAML's composer forgets.

What a node says about its place and key lives here. Values are made in `tree.py`, edits in `yamledit.py`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Final

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from webhook.cli.scalars import shortest, tag_of
from webhook.core.profile import Json

_YAML_TAG: Final = "tag:yaml.org,2002:"
_EXPLICIT: Final = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}
_SHOWN: Final = 40


class Unreadable(Exception):  # noqa: N818  (a fact about a text, not a fault of the program)
    """The text is no document that Kubernetes could read; `line` and `column` count from 0 within the text."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        """Keep the place beside the message."""
        super().__init__(message)
        self.line = line
        self.column = column


class AliasNode(Node):
    """A `*name` in the text. `place` are the entry numbers that lead to it from the root."""

    id = "alias"

    def __init__(self, target: Node, place: tuple[int, ...], event: Json) -> None:
        """Remember the node that it stands for."""
        super().__init__("alias", None, event.start_mark, event.end_mark)
        self.target = target
        self.place = place


def place_of(node: Node) -> tuple[int, int]:
    """Return line and column of a node within the text, from 0."""
    return node.start_mark.line, node.start_mark.column


def is_flow(node: Node) -> bool:
    """Say whether a node is a mapping or list in braces or brackets."""
    return bool(getattr(node, "flow_style", False))


def is_block(node: Node) -> bool:
    """Say whether a node is a mapping or list in block style."""
    return isinstance(node, MappingNode | SequenceNode) and not node.flow_style


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
    """Return the mappings that a merge key names, the most important first. Raises Unreadable for anything else."""
    parts = resolved(node)
    found = parts.value if isinstance(parts, SequenceNode) else [node]
    if not all(isinstance(resolved(part), MappingNode) for part in found):
        raise Unreadable("a merge key needs a mapping", *place_of(node))
    return [*found]


def key_of(node: Node) -> str:
    """Return a mapping's key as the string that JSON has: `on` becomes `true`, `0x10` becomes `16`."""
    node = resolved(node)
    if not isinstance(node, ScalarNode):
        raise Unreadable("a mapping or list cannot be a key", *place_of(node))
    value = value_of(node)
    if value is None:
        raise Unreadable("an empty value cannot be a key", *place_of(node))
    return value if isinstance(value, str) else json.dumps(value)


def value_of(node: ScalarNode) -> Json:
    """Return the value of a scalar: from its tag where that carries one (see `scalars.py`), else as its tag says."""
    tag: object = node.tag
    if isinstance(tag, tuple):
        return tag[0]
    kind = str(tag).removeprefix(_YAML_TAG)
    if kind == "binary":
        return _binary(node)
    if kind not in _EXPLICIT:
        return node.value
    found = tag_of(node.value)
    value = found[0] if isinstance(found, tuple) else found
    if not isinstance(value, _EXPLICIT[kind]) or (isinstance(value, bool) and kind != "bool"):
        raise Unreadable(f"cannot read {node.value[:_SHOWN]!r} as !!{kind}", *place_of(node))
    return shortest(value) if isinstance(value, float) else value


def _binary(node: ScalarNode) -> str:
    try:
        return base64.b64decode(node.value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise Unreadable("!!binary does not hold text", *place_of(node)) from None
