"""One profile file as text: bytes in, plain data and the line of every field out, or faults with a line.

Only what YAML itself gets wrong is found here; whether the data is a profile, `webhook.profile_check` says.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import yaml

from webhook.core.profile import Json

LARGEST = 1 << 20  # bytes; no ConfigMap can hold more
_SHOWN = 40  # characters of a value in a message
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ProfileFault:
    """What is wrong in a profile file. `line` is 0 and `field` empty where the whole file or folder is meant."""

    path: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        """Return one line as compilers print it."""
        return self.line_of("")

    def line_of(self, level: str) -> str:
        """Return the line with a level, such as error; what is not known (level, line, field) leaves no trace."""
        place = f"{self.path}:{self.line}" if self.line else self.path
        return ": ".join(part for part in (place, level, self.field, self.message) if part)


@dataclass(frozen=True, slots=True)
class ProfileText:
    """The content of one file: its data (None with faults), the line of each field, and what YAML got wrong."""

    path: str
    name: str
    data: Json
    lines: Mapping[Place, int] = field(default_factory=dict)
    faults: tuple[ProfileFault, ...] = ()
    text: str = ""

    def line(self, place: Place) -> int:
        """Return the line of a field, or of the nearest one around it that is written down."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def fault(self, place: Place, message: str) -> ProfileFault:
        """Make a fault at a field of this file."""
        return ProfileFault(self.path, self.line(place), dotted(place), message)


def dotted(place: Place) -> str:
    """Write a place as a path: `match.images[0]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def digest(data: Json) -> str:
    """Return the 8 hex digits that identify a profile's content, however its file is written."""
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(canonical.encode()).hexdigest()[:8]


def parse(text: str) -> Json:
    """Decode a file that is known to be right (a shipped one)."""
    return yaml.load(text, Loader=_Loader)  # noqa: S506  # a safe loader


def read(path: Path) -> ProfileText:
    """Read one file; what can't be read or is no YAML mapping becomes a fault, never an exception."""
    name, shown = path.stem, str(path)
    try:
        if not path.is_file():
            path.stat()  # says why: a loop of links, nothing there
            return _broken(shown, name, 0, "is no regular file")
        raw = path.read_bytes()
    except OSError as error:
        return _broken(shown, name, 0, f"can't be read: {error.strerror}")
    if len(raw) > LARGEST:
        return _broken(shown, name, 0, f"is larger than {LARGEST} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _broken(shown, name, raw.count(b"\n", 0, error.start) + 1, "is not UTF-8 here")
    return from_text(text, shown, name)


def from_text(text: str, path: str, name: str) -> ProfileText:
    """Decode a profile's text; `path` is only shown."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return _broken(path, name, 1, "is empty; a profile is a mapping that begins with `title:`")
        if not isinstance(node, yaml.MappingNode):
            return _broken(path, name, _line(node), "must be a mapping of fields to values")
        walk = _Walk(loader, path)
        walk.visit(node)
        data = None if walk.faults else loader.construct_document(node)
    except yaml.YAMLError as error:
        line, message = _explain(error, text)
        return _broken(path, name, line, message)
    except RecursionError:  # only the reader in pure Python; the other one has a limit of its own
        return _broken(path, name, 1, "is nested too deep")
    return ProfileText(path, name, data, walk.lines, tuple(walk.faults), text)


def _broken(path: str, name: str, line: int, message: str) -> ProfileText:
    return ProfileText(path, name, None, faults=(ProfileFault(path, line, "", message),))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


class _Walk:
    """Notes the line of every field, and finds what a plain reader would swallow or stumble over."""

    def __init__(self, loader: Json, path: str) -> None:
        self._loader, self._path = loader, path
        self._seen: set[int] = set()
        self.lines: dict[Place, int] = {}
        self.faults: list[ProfileFault] = []

    def visit(self, node: yaml.Node, place: Place = ()) -> None:
        """Visit a node and all below it; an alias is refused, so that no text grows without end."""
        self.lines.setdefault(place, _line(node))
        if id(node) in self._seen:
            line = self.lines[place]  # the node itself stands where its anchor is
            self.faults.append(ProfileFault(self._path, line, dotted(place), "is an alias; write the value out"))
            return
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                self._item(key, value, place)
        elif isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self.visit(item, (*place, index))
        else:
            self._scalar(node, place)

    def _item(self, key: yaml.Node, value: yaml.Node, place: Place) -> None:
        if not isinstance(key, yaml.ScalarNode) or not key.tag.endswith(":str"):
            shown = key.value if isinstance(key, yaml.ScalarNode) else "a list or mapping"
            self._note(key, place, f"has a key that YAML reads as no text: {shown}")
            return
        inner = (*place, key.value)
        if inner in self.lines:
            self._note(key, inner, f"stands twice; the first is in line {self.lines[inner]}")
            return
        self.lines[inner] = _line(key)
        self.visit(value, inner)

    def _scalar(self, node: yaml.Node, place: Place) -> None:
        """Refuse what has the form of a date or number but is none (month 13, 5,000 digits, `.nan`)."""
        try:
            value = self._loader.construct_object(node)
            is_number = not isinstance(value, float) or math.isfinite(value)
        except ValueError:
            is_number = False
        if not is_number:
            self._note(node, place, f"is no value that can be used: {node.value[:_SHOWN]}")

    def _note(self, node: yaml.Node, place: Place, message: str) -> None:
        self.faults.append(ProfileFault(self._path, _line(node), dotted(place), message))


def _explain(error: yaml.YAMLError, text: str) -> tuple[int, str]:
    """Return line and sentence of what the YAML reader refused."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        line = text.count("\n", 0, int(getattr(error, "position", 0))) + 1
        return line, "holds a control character, which YAML does not allow"
    rows = text.splitlines()
    row = rows[mark.line] if mark.line < len(rows) else ""
    if "\t" in row[: mark.column + 1]:
        return mark.line + 1, "is indented with a tab; YAML wants blanks"
    problem = str(getattr(error, "problem", None) or error)
    if "expected a single document" in str(error):
        return mark.line + 1, "holds several documents; write one profile per file"
    return mark.line + 1, f"is no YAML: {problem}"
