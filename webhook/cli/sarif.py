"""A validation as SARIF 2.1.0, the format of code scanning: one rule per reason, one result per finding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final
from urllib.parse import quote

from webhook import __version__
from webhook.cli.documents import Placed
from webhook.cli.report import Report
from webhook.core.decision import Reason
from webhook.core.profile import Json

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(report: Report) -> str:
    """Return the report as one SARIF log."""
    found = list(report.findings)
    reasons = list(dict.fromkeys(placed.finding.reason for placed in found))
    driver = {"name": "drainhook", "version": __version__, "rules": [_rule(reason) for reason in reasons]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(placed, reasons) for placed in found],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _rule(reason: Reason) -> Json:
    return {"id": reason.value, "shortDescription": {"text": reason.sentence}}


def _result(placed: Placed, reasons: list[Reason]) -> Json:
    finding = placed.finding
    physical: dict[str, Json] = {"artifactLocation": {"uri": _uri(placed.file)}}
    if placed.line:
        physical["region"] = {"startLine": placed.line, "startColumn": placed.column}
    location: dict[str, Json] = {"physicalLocation": physical}
    if finding.path:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.path}]
    return {
        "ruleId": finding.reason.value,
        "ruleIndex": reasons.index(finding.reason),
        "level": finding.level.value,
        "message": {"text": finding.text},
        "locations": [location],
    }


def _uri(file: str) -> str:
    """Return a file as URI: relative ones stay relative to the checkout; standard input has a name of its own."""
    if file == "-":
        return "stdin"
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
