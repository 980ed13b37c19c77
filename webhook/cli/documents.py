"""The documents of a file: each with its text, its object, and what is wrong with its text.

A document that cannot be read keeps its text and gets a finding; the others of its file are read all the same. What
becomes of a document is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from webhook.cli import jsonedit, tree, yamledit
from webhook.cli.fieldpath import locate
from webhook.cli.nodes import Unreadable
from webhook.cli.sources import Source
from webhook.cli.stream import Piece, split
from webhook.core.decision import Finding, Level, Reason
from webhook.core.patch import field_path
from webhook.core.profile import Json

_TEMPLATE: Final = "render the chart first: helm template ... | drainhook patch -f -"


@dataclass(frozen=True, slots=True)
class Placed:
    """A finding and its place: line and column of the file count from 1; `subject` is `Deployment vllm`, or empty.

    For an object of a live cluster `file` is its place there, and `line` is 0.
    """

    finding: Finding
    file: str
    line: int
    column: int = 1
    subject: str = ""

    @property
    def is_error(self) -> bool:
        """Say whether the finding fails a run."""
        return self.finding.level is Level.ERROR


@dataclass(slots=True)
class Document:
    """One document of a file. `value` is None where it holds nothing or could not be read; `index` counts from 0."""

    file: str
    index: int
    piece: Piece
    value: Json = None
    tree: tree.Tree | None = None
    findings: list[Placed] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """Return the kind of the object, or an empty string."""
        return _text(self.value, "kind")

    @property
    def name(self) -> str:
        """Return the name of the object, or what stands for it."""
        metadata = self.value.get("metadata") if isinstance(self.value, dict) else None
        return _text(metadata, "name") or _text(metadata, "generateName")

    @property
    def subject(self) -> str:
        """Return kind and name, for people."""
        return f"{self.kind} {self.name}".strip()

    def place(self, finding: Finding) -> Placed:
        """Say where in the file the field of a finding stands, or its nearest parent."""
        if self.tree is None and self.value is not None:
            self.tree = _tree_or_none(self.piece.text)
        line, column = locate(self.tree.root if self.tree else None, finding.path)
        return Placed(finding, self.file, self.piece.line + line, column + 1, self.subject)

    def fill(self) -> None:
        """Read the text into the document, or note why that is not possible."""
        self.findings = []
        try:
            if self.piece.is_json:
                self.value, duplicates = jsonedit.read(self.piece.text)
            else:
                self.tree = tree.read(self.piece.text)
                self.value, duplicates = self.tree.value, self.tree.duplicates
        except Unreadable as error:
            self.findings.append(_broken(self, error))
            return
        self.findings += [_twice(self, duplicate) for duplicate in duplicates]

    def forget(self) -> None:
        """Let go of the nodes, the greater part of a document; they are read again where they are needed."""
        self.tree = None

    def edit(self, operations: Sequence[Json]) -> yamledit.Edited:
        """Return the new text of the document. Raises EditFailed; the document is used up."""
        if self.piece.is_json:
            return jsonedit.edit(self.piece.text, self.value, operations)
        return yamledit.edit(self.piece.text, self.tree or tree.read(self.piece.text), operations)


def read(source: Source) -> Iterator[Document]:
    """Yield the documents of a file, one at a time. One that only holds comments has no value and no finding."""
    if source.text is None:
        broken = Finding(Reason.UNREADABLE, Level.ERROR, "", source.fault)
        document = Document(source.name, 0, Piece("", 1))
        document.findings.append(Placed(broken, source.name, source.fault_line))
        yield document
        return
    index = 0
    for piece in split(source.text):
        document = Document(source.name, index, piece)
        document.fill()
        index += document.value is not None or bool(document.findings)
        yield document


def _broken(document: Document, error: Unreadable) -> Placed:
    piece = document.piece
    if "{{" in piece.text:
        finding = Finding(Reason.TEMPLATE_TEXT, Level.ERROR, "", f"holds template text; {_TEMPLATE}")
    else:
        finding = Finding(Reason.UNREADABLE, Level.ERROR, "", f"cannot be read: {error}")
    return Placed(finding, document.file, piece.line + error.line, error.column + 1)


def _twice(document: Document, duplicate: tree.Duplicate) -> Placed:
    message = f"the key {duplicate.key} stands twice in one mapping, and the last one wins"
    finding = Finding(Reason.DUPLICATE_KEY, Level.WARNING, field_path(duplicate.tokens), message)
    line = document.piece.line + duplicate.line
    return Placed(finding, document.file, line, duplicate.column + 1, document.subject)


def _tree_or_none(text: str) -> tree.Tree | None:
    try:
        return tree.read(text)
    except Unreadable:
        return None


def _text(value: Json, key: str) -> str:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
