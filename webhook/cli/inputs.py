"""One pass over the input: files are read one at a time, the Namespaces among their documents beforehand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from webhook.cli import offline
from webhook.cli.documents import Document, read
from webhook.cli.sources import Source, find, load
from webhook.cli.stream import split
from webhook.core.profile import Json

_NAMESPACE: Final = re.compile(r"kind[\"']?\s*:\s*[\"']?Namespace\b")


@dataclass(slots=True)
class Input:
    """The files of a run by name. What can be read only once (standard input, pipes) is kept."""

    names: list[str]
    kept: dict[str, Source] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Iterable[str]) -> Input:
        """Find the files. Raises click.UsageError for a name without any."""
        found = find(names)
        return cls(found, {name: load(name) for name in found if not Path(name).is_file()})

    def source(self, name: str) -> Source:
        """Return one file's bytes and text."""
        return self.kept[name] if name in self.kept else load(name)

    def files(self) -> Iterator[tuple[Source, Iterator[Document]]]:
        """Yield each file with its documents, which are read as they are taken."""
        for name in self.names:
            source = self.source(name)
            yield source, read(source)

    def namespaces(self) -> dict[str, tuple[offline.Metadata, offline.Metadata]]:
        """Return labels and annotations of the Namespaces in the input; only documents that name the kind are read."""
        return offline.namespaces_of(self._namespace_values())

    def _namespace_values(self) -> Iterator[Json]:
        for name in self.names:
            source = self.source(name)
            if source.text is None or not _NAMESPACE.search(source.text):
                continue
            for piece in split(source.text):
                if _NAMESPACE.search(piece.text):
                    document = Document(name, 0, piece)
                    document.fill()
                    yield document.value
