"""JSON Patch by hand: leaf-level `add` operations, and an applier that copies only along each path.

No decision is taken here. Only `add` is ever made, with a parent that exists: there the API server's library and
Python's `jsonpatch` agree (`replace` of a missing key, index -1 and path "" are read differently by the two).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from webhook.core.profile import Json

Tokens = tuple[str | int, ...]
"""Where a value sits: keys and list indices from the root. The index `-` appends."""

Change = tuple[Tokens, Json]
"""A value that should stand at a place."""


@lru_cache(maxsize=4096)
def pointer(tokens: Tokens) -> str:
    """Write tokens as an RFC 6901 pointer (`~` is escaped before `/`)."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


def keys_of(path: str) -> list[str]:
    """Read an RFC 6901 pointer back: its keys, and list indices as text."""
    return [key.replace("~1", "/").replace("~0", "~") for key in path[1:].split("/")]


@lru_cache(maxsize=4096)
def field_path(tokens: Tokens) -> str:
    """Write tokens as Kubernetes prints a field: `spec.containers[0]`, `metadata.annotations[example.com/key]`."""
    text = ""
    for token in tokens:
        if isinstance(token, int) or "/" in token or "." in token:
            text += f"[{token}]"
        else:
            text += f".{token}" if text else token
    return text


def look(root: Json, tokens: Tokens) -> Json:
    """Return what stands at a place, or None where nothing does."""
    for token in tokens:
        if isinstance(root, dict):
            root = root.get(token)
        elif isinstance(root, list) and isinstance(token, int) and token < len(root):
            root = root[token]
        else:
            return None
    return root


def plan(root: Json, changes: Iterable[Change]) -> tuple[list[Json], Json]:
    """Turn changes into operations and the object that they lead to; what already stands is skipped."""
    operations: list[Json] = []
    for tokens, value in changes:
        operation = _operation(root, tokens, value)
        if operation is not None:
            operations.append(operation)
            root = apply(root, [operation])
    return operations, root


def _operation(root: Json, tokens: Tokens, value: Json) -> Json:
    """Add the value, or the topmost missing or null parent together with it."""
    for depth, token in enumerate(tokens[:-1]):
        root = look(root, (token,))
        if root is None:
            for inner in reversed(tokens[depth + 1 :]):
                value = [value] if inner == "-" else {inner: value}
            return {"op": "add", "path": pointer(tokens[: depth + 1]), "value": value}
    if tokens[-1] != "-" and look(root, tokens[-1:]) == value:
        return None
    return {"op": "add", "path": pointer(tokens), "value": value}


def apply(root: Json, operations: Iterable[Json]) -> Json:
    """Return the object after the operations; the given object is not changed.

    Raises LookupError or TypeError where an operation does not fit, as the API server would refuse it.
    """
    for operation in operations:
        if operation["op"] != "add" or not operation["path"].startswith("/"):
            raise LookupError(operation["path"])
        root = _added(root, keys_of(operation["path"]), operation["value"])
    return root


def _added(node: Json, keys: list[str], value: Json) -> Json:
    """Copy one node and go on along the path."""
    key = keys[0]
    if isinstance(node, dict):
        copy = dict(node)
        copy[key] = value if len(keys) == 1 else _added(copy[key], keys[1:], value)
        return copy
    if not isinstance(node, list):
        raise TypeError(key)
    items = list(node)
    index = len(items) if key == "-" else int(key)
    if len(keys) > 1:
        items[index] = _added(items[index], keys[1:], value)
    else:
        if not 0 <= index <= len(items):
            raise LookupError(key)
        items.insert(index, value)
    return items
