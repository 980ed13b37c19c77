"""What `drainhook patch` makes of a file: each document decided and edited, and whether the file may be written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from webhook.cli.documents import Document, Placed
from webhook.cli.offline import Decided, Settings, decide_document
from webhook.cli.plan import EditFailed
from webhook.cli.sources import Source
from webhook.core.decision import Finding, Level, Reason


@dataclass(slots=True)
class Result:
    """One document after the decision: `text` is the old one where nothing is changed.

    Where it is changed, the document's own object is the new one: editing uses the old one up.
    """

    document: Document
    decided: Decided
    text: str
    findings: list[Placed] = field(default_factory=list)

    @property
    def is_changed(self) -> bool:
        """Say whether the document has another text now."""
        return self.text is not self.document.piece.text


@dataclass(slots=True)
class Patched:
    """One file after the decision."""

    source: Source
    results: list[Result]

    @property
    def is_changed(self) -> bool:
        """Say whether any document of the file is changed."""
        return any(result.is_changed for result in self.results)

    @property
    def has_errors(self) -> bool:
        """Say whether any finding of the file is an error: then nothing of it is written."""
        return any(placed.is_error for result in self.results for placed in result.findings)

    def content(self) -> bytes:
        """Return the bytes of the file with all changes; those of an unreadable file as they were."""
        if self.source.text is None:
            return self.source.content
        return (self.source.mark + "".join(result.text for result in self.results)).encode()


def patch_file(source: Source, documents: Iterable[Document], settings: Settings) -> Patched:
    """Decide about every document of a file and edit its text."""
    return Patched(source, [_patch(document, settings) for document in documents])


def _patch(document: Document, settings: Settings) -> Result:
    decided = decide_document(document.value, settings)
    findings = [*document.findings, *(document.place(finding) for finding in decided.findings)]
    result = Result(document, decided, document.piece.text, findings)
    if decided.operations:
        try:
            result.text = document.edit(decided.operations).text
        except EditFailed as error:
            message = f"left as it is: {error}; write this part in plain block style"
            findings.append(document.place(Finding(Reason.EDIT_FAILED, Level.ERROR, "", message)))
            decided.operations = []
            decided.outcomes = []
            document.fill()  # the object may be half changed
    document.forget()
    return result
