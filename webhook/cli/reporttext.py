"""A validation as text, JSON, JUnit or SARIF: one function for all formats. Values in, text out; nothing is judged."""

from __future__ import annotations

import json

from webhook.cli.documents import Placed
from webhook.cli.report import Report
from webhook.core.decision import Level
from webhook.core.profile import Json


def render(report: Report, output: str) -> str:
    """Return the report in one of the formats, without a line end."""
    if output == "text":
        return _text(report)
    if output == "json":
        return _json(report)
    if output == "junit":
        from webhook.cli.junit import junit  # noqa: PLC0415

        return junit(report)
    from webhook.cli.sarif import sarif  # noqa: PLC0415

    return sarif(report)


def _text(report: Report) -> str:
    from webhook.cli.explain import finding_line  # noqa: PLC0415

    lines = [finding_line(placed) for placed in report.findings]
    errors, warnings = report.count(Level.ERROR), report.count(Level.WARNING)
    lines.append(f"{len(report.checked)} {report.noun}, {errors} errors, {warnings} warnings")
    return "\n".join(lines)


def _json(report: Report) -> str:
    rows = [row(placed) for placed in report.findings]
    counts = {"errors": report.count(Level.ERROR), "warnings": report.count(Level.WARNING)}
    return json.dumps({report.noun: len(report.checked), **counts, "findings": rows}, indent=2, ensure_ascii=False)


def row(placed: Placed) -> dict[str, Json]:
    """Return a finding as JSON."""
    finding = placed.finding
    return {
        "file": placed.file,
        "line": placed.line,
        "column": placed.column,
        "subject": placed.subject,
        "level": finding.level.value,
        "reason": finding.reason.value,
        "path": finding.path,
        "message": finding.message,
        "value": finding.value,
        "cause": finding.cause.value,
    }
