"""Finds the place in a text of a field path such as `spec.containers[0].args` or `metadata.labels[a.b/c]`.

Paths are written by `webhook.core.patch.field_path`; what stands at the place is not looked at.
"""

from __future__ import annotations

import re
from typing import Final

from yaml.nodes import MappingNode, Node, SequenceNode

from webhook.cli.nodes import Unreadable, key_of, place_of, resolved

_TOKEN: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


def parse(path: str) -> list[str]:
    """Return the keys and indices of a field path."""
    return [bracket or name for bracket, name in _TOKEN.findall(path)]


def locate(root: Node | None, path: str) -> tuple[int, int]:
    """Return line and column (from 0, within the text) of a field's key, or of its nearest parent that is there."""
    if root is None:
        return 0, 0
    place = place_of(root)
    node: Node | None = root
    for token in parse(path):
        node, found = _step(node, token)
        if node is None:
            break
        place = found
    return place


def _step(node: Node | None, token: str) -> tuple[Node | None, tuple[int, int]]:
    """Go one token down: the node there, and the place to point at (a key, or a list item)."""
    node = resolved(node) if node is not None else None
    if isinstance(node, SequenceNode) and token.isdigit() and int(token) < len(node.value):
        item = node.value[int(token)]
        return item, place_of(item)
    if isinstance(node, MappingNode):
        for key, item in reversed(node.value):
            if _is_key(key, token):
                return item, place_of(key)
    return None, (0, 0)


def _is_key(key: Node, token: str) -> bool:
    try:
        return key_of(key) == token
    except Unreadable:
        return False
