"""A validation as JUnit XML: a suite per file, a case per document; findings that fail the run are its failures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Final
from xml.sax.saxutils import escape, quoteattr

import click

from webhook.cli.documents import Placed
from webhook.cli.explain import finding_line
from webhook.cli.report import Checked, Report

_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: Report) -> str:
    """Return the report as one XML document."""
    suites = [_suite(file, list(group), report) for file, group in groupby(report.checked, lambda item: item.file)]
    failures = sum(_fails(checked, report) for checked in report.checked)
    head = f'<testsuites name="drainhook" tests="{len(report.checked)}" failures="{failures}" errors="0">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>"])


def _suite(file: str, documents: Sequence[Checked], report: Report) -> str:
    failures = sum(_fails(checked, report) for checked in documents)
    head = f'  <testsuite name={_quoted(file)} tests="{len(documents)}" failures="{failures}" errors="0" skipped="0">'
    return "\n".join([head, *(_case(checked, report) for checked in documents), "  </testsuite>"])


def _fails(checked: Checked, report: Report) -> bool:
    return any(report.fails(placed) for placed in checked.findings)


def _case(checked: Checked, report: Report) -> str:
    name = f"{checked.subject or 'document'} [{checked.index}]"
    head = f"    <testcase classname={_quoted(checked.file)} name={_quoted(name)}"
    if not checked.findings:
        return head + "/>"
    failing = [placed for placed in checked.findings if report.fails(placed)]
    others = [placed for placed in checked.findings if not report.fails(placed)]
    lines = [head + ">", *(_failure(placed) for placed in failing)]
    if others:
        lines.append(f"      <system-out>{_clean(chr(10).join(map(_line, others)))}</system-out>")
    return "\n".join([*lines, "    </testcase>"])


def _failure(placed: Placed) -> str:
    kind, message = _quoted(placed.finding.reason.value), _quoted(placed.finding.message)
    return f"      <failure type={kind} message={message}>{_clean(_line(placed))}</failure>"


def _line(placed: Placed) -> str:
    return click.unstyle(finding_line(placed))


def _clean(text: str) -> str:
    """Escape text; XML has no place for control characters at all."""
    return escape(_NO_XML.sub("\ufffd", text))


def _quoted(text: str) -> str:
    return quoteattr(_NO_XML.sub("\ufffd", text))
