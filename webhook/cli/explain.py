"""Explains decisions to people: what changes, what is kept, why, and the budget as a sum. Text only."""

from __future__ import annotations

from collections.abc import Iterator

import click

from webhook.cli.documents import Placed
from webhook.cli.patching import Result
from webhook.core.decision import Level, Outcome
from webhook.core.profile import Json


def explain(result: Result) -> str:
    """Return the explanation of one document; empty for one that holds nothing."""
    document = result.document
    if document.value is None and not result.findings:
        return ""
    title = f"{document.file}:{document.piece.line}"
    lines = [click.style(f"{title} {document.subject or 'document'}", bold=True)]
    if document.value is not None and not isinstance(document.value, dict):
        lines.append("  no Kubernetes object")
    for outcome in result.decided.outcomes:
        lines += [f"  {outcome.path}:"] if outcome.path else []
        lines += [f"    {line}" for line in outcome_lines(outcome)]
    lines += [f"  {finding_line(placed)}" for placed in result.findings]
    return "\n".join(lines)


def outcome_lines(outcome: Outcome) -> Iterator[str]:
    """Explain one pod template."""
    status = outcome.status
    if status is not None:
        yield f"profile {status['profile']}, container {status['container']}, hook {status['hook']}"
        yield _budget(status["budget"])
        for path in status["changed"]:
            yield click.style(f"+ {path}", fg="green")
        for path in status["kept"]:
            yield f"= {path} (kept)"
    for reason in outcome.reasons:
        yield f"{reason.value}: {reason.sentence}"


def _budget(budget: Json) -> str:
    parts = " + ".join(f"{name} {budget[name]}" for name in ("settle", "drain", "reserve"))
    return f"grace {budget['grace']} s = {parts}"


def finding_line(placed: Placed) -> str:
    """Return a finding as one line: place, level, field, what would be right, and the reason's key."""
    finding = placed.finding
    level = click.style(finding.level.value, fg="red" if finding.level is Level.ERROR else "yellow")
    place = f"{placed.file}:{placed.line}:{placed.column}" if placed.line else placed.file
    return f"{place}: {level}: {' '.join(finding.text.split())} [{finding.reason.value}]"
