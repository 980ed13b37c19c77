"""Kubernetes' own validation as a child process: questions in, verdicts out (`tests/cluster/k8soracle`)."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import orjson


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the API server would say. `patched` is the object after the patch, `shown` what a webhook would be shown."""

    accepted: bool
    stage: str
    message: str
    warnings: tuple[str, ...]
    patched: Any
    shown: Any


class Oracle:
    """The validation of one Kubernetes version; ends with its context."""

    def __init__(self, binary: Path) -> None:
        """Start it."""
        self._process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._questions, self._answers = self._process.stdin, self._process.stdout
        self._writer = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._writer.shutdown()
        self._process.communicate()

    def ask(self, questions: Sequence[tuple[Any, Sequence[Any]]]) -> list[Verdict]:
        """Give the verdict on each object with its patch (none: empty), in order."""
        lines = [_line(document, patch) for document, patch in questions]
        writing = self._writer.submit(self._write, lines)  # both pipes at once: either may be full
        answers = [self._answers.readline() for _ in lines]
        writing.result()
        return [_verdict(orjson.loads(answer)) for answer in answers]

    def _write(self, lines: Sequence[bytes]) -> None:
        self._questions.writelines(lines)
        self._questions.flush()


def _line(document: Any, patch: Sequence[Any]) -> bytes:
    question = {"kind": document["kind"], "object": document}
    return orjson.dumps({**question, "patch": patch} if patch else question, option=orjson.OPT_APPEND_NEWLINE)


def _verdict(answer: dict[str, Any]) -> Verdict:
    return Verdict(
        answer["ok"],
        answer.get("stage", ""),
        answer.get("message", ""),
        tuple(answer.get("warnings", ())),
        answer.get("patched"),
        answer.get("object"),
    )
