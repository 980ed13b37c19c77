"""A profile as people read it: its own text with comments where one file says all, unverified facts marked.

Nothing here is used in a decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from webhook.catalog import shipped, shipped_text
from webhook.core.profile import Json
from webhook.profile_check import schema
from webhook.profile_file import Place, ProfileText, dotted, from_text
from webhook.profile_folder import read_layer

MARK = "  # UNVERIFIED"


def source_of(name: str, directories: Sequence[Path]) -> tuple[Json, str]:
    """Return the whole data of a profile in force, and its text: the file's own, or one made of the merged values."""
    known = shipped()
    text = shipped_text(name) or ""
    for directory in directories:
        layer = read_layer(directory, known)
        known.update(layer.profiles)
        if name in layer.profiles:
            text = _merged_text(known[name], layer.texts[name])
    return known[name], text


def _merged_text(data: Json, file: ProfileText) -> str:
    """Return a file's own text; where it extends another profile, all values with a line that says so."""
    if "extends" not in file.data:
        return file.text
    head = f"# {file.path} on top of profile {file.data['extends']}\n"
    return head + str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120))


def marked(data: Json, text: str) -> str:
    """Return the text with every unverified field marked, and the defaults in force for what it leaves out."""
    rows = text.splitlines()
    lines = from_text(text, "", data["name"]).lines
    for path in data.get("unverified", {}):
        place: Place = tuple(path.split("."))
        if place in lines:
            rows[lines[place] - 1] += MARK
    left_out = [f"#   {dotted(place)}: {value}" for place, value in defaults(schema(), data)]
    if left_out:
        rows += ["", "# Not said here, so the default is in force:", *left_out]
    return "\n".join(rows) + "\n"


def defaults(node: Json, data: Json, place: Place = (), root: Json = None) -> Iterator[tuple[Place, Json]]:
    """Yield place and value of every default of the schema for what the data leaves out."""
    root = root or node
    for key, inner in _resolve(node, root).get("properties", {}).items():
        if key not in data:
            value = _resolve(inner, root).get("default")
            if value is not None:
                yield (*place, key), str(value).lower() if isinstance(value, bool) else value
        elif isinstance(data[key], dict):
            yield from defaults(inner, data[key], (*place, key), root)


def _resolve(node: Json, root: Json) -> Mapping[str, Json]:
    """Follow a reference, and the first alternative of a field that may be null."""
    if "anyOf" in node:
        return _resolve(node["anyOf"][0], root)
    if "$ref" in node:
        return {**root["$defs"][node["$ref"].rsplit("/", 1)[-1]], **node}
    return dict(node)
