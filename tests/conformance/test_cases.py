"""Every case through three doors, with one expectation.

`pytest tests/conformance --update-cases` writes the expectations anew from the core; the diff is what you review.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.conformance import commandline
from tests.conformance.case import all_cases
from tests.conformance.doors import Http, core, finding, mutation, pods
from tests.conformance.expectation import operation, statuses, wanted_statuses
from webhook.core.decision import Level
from webhook.core.review import warnings


def cases(door):
    return [pytest.param(case, id=case.name) for case in all_cases() if door in case.doors]


@pytest.mark.parametrize("case", cases("core"))
def test_core_decides_as_expected(case, request):
    said = core(case)
    if request.config.getoption("--update-cases"):
        case.write(said)
    assert said == case.expected


@pytest.mark.parametrize("case", cases("http"))
def test_webhook_says_the_same_of_each_pod(case):
    http = Http(case)
    for document, expected in zip(case.documents, case.expected["documents"], strict=True):
        for at, pod in pods(document, expected):
            operations, reasons, said = http.mutated(pod)
            wanted_operations, wanted_reasons, wanted_warnings = mutation(expected, at)
            assert [operation(item, case.catalog.script) for item in operations] == wanted_operations
            assert statuses(operations) == wanted_statuses(item for item in expected["templates"] if item["at"] == at)
            assert reasons == wanted_reasons
            assert said == wanted_warnings


@pytest.mark.parametrize("case", cases("http"))
def test_webhook_gives_the_same_verdict(case):
    http = Http(case)
    for document, expected in zip(case.documents, case.expected["documents"], strict=True):
        operation = case.options.get("operation", "CREATE")
        verdict, said = http.validated(http.admitted(case, document), operation, case.old)
        wanted = dict(expected["validate"])
        findings = [finding(text) for text in (*expected.get("findings", []), *wanted.pop("also", []))]
        assert verdict == wanted
        if wanted["verdict"] == "deny":
            assert set(warnings(item for item in findings if item.level is Level.WARNING)) <= set(said)
            assert set(said) <= set(warnings(findings))
        else:
            assert said == warnings(_softened(item) for item in findings)


@pytest.mark.parametrize("case", [param for param in cases("cli") if not param.values[0].is_text])
def test_command_line_patches_the_same(case):
    for line, expected in zip(commandline.patches(case), case.expected["documents"], strict=True):
        assert f"{line['kind']}/{line['name']}" == expected["object"]
        assert [operation(item, case.catalog.script) for item in line["patch"]] == expected.get("patch", [])
        assert statuses(line["patch"]) == wanted_statuses(expected["templates"])


@pytest.mark.parametrize("case", [param for param in cases("cli") if not param.values[0].is_text])
def test_command_line_finds_the_same(case):
    said = [(row["reason"], row["path"], row["message"]) for row in commandline.findings(case)]
    wanted = []
    for expected in case.expected["documents"]:
        lines = (*expected.get("findings", []), *expected["validate"].get("also", []))
        wanted += [(item.reason, item.path, item.message) for item in map(finding, lines)]
    assert said == wanted
    if any(expected["validate"]["verdict"] == "deny" for expected in case.expected["documents"]):
        assert any(row["level"] == "error" for row in commandline.findings(case))


@pytest.mark.parametrize("case", [param for param in cases("cli") if param.values[0].is_text])
def test_command_line_reads_texts(case, request):
    said = commandline.text_said(case)
    if request.config.getoption("--update-cases"):
        case.write(said)
    assert said == case.expected


def _softened(item):
    """Say an error that may not deny as a warning."""
    return replace(item, level=Level.WARNING)
