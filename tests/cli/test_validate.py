"""`drainhook validate`: what is found, where it stands, in four formats, and when the run fails."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from tests.cli.samples import DEPLOYMENT, SERVICE, program

WRONG = DEPLOYMENT.replace(
    "    spec:\n", '      annotations:\n        drainhook.dev/drain-seconds: "soon"\n    spec:\n', 1
)
MISPLACED = DEPLOYMENT.replace("  name: llm ", "  labels: {drainhook.dev/backend: vllm}\n  name: llm ").replace(
    "        drainhook.dev/backend: vllm\n", ""
)
DRAIN_PATH = "spec.template.metadata.annotations[drainhook.dev/drain-seconds]"


def test_a_finding_is_one_line_with_file_line_column_and_field(drainhook, manifests):
    manifests(**{"a.yaml": f"{SERVICE}---\n{WRONG}"})
    done = drainhook("validate", "-f", "a.yaml")
    assert done.code == 1
    first, summary = done.out.splitlines()
    line = f"{SERVICE}---\n{WRONG}".splitlines().index('        drainhook.dev/drain-seconds: "soon"') + 1
    assert first.startswith(f"a.yaml:{line}:9: error: {DRAIN_PATH}: ")
    assert first.endswith("[bad_override]")
    assert summary == "2 documents, 1 errors, 0 warnings"


def test_nothing_found_is_said(drainhook):
    done = drainhook("validate", "-f", "-", stdin=DEPLOYMENT.encode())
    assert (done.code, done.out, done.err) == (0, "1 documents, 0 errors, 0 warnings\n", "")


def test_warnings_fail_a_run_only_when_asked(drainhook):
    done = drainhook("validate", "-f", "-", stdin=MISPLACED.encode())
    assert done.code == 0
    assert "-:5:12: warning: metadata.labels[drainhook.dev/backend]: " in done.out
    assert drainhook("validate", "--fail-on", "warning", "-f", "-", stdin=MISPLACED.encode()).code == 1


def test_an_error_in_a_bare_pod_fails_the_run_too(drainhook):
    pod = """
apiVersion: v1
kind: Pod
metadata:
  name: p
  labels: {drainhook.dev/backend: vllm}
  annotations: {drainhook.dev/hook: loud}
spec:
  containers: [{name: vllm, image: vllm/vllm-openai}]
"""
    done = drainhook("validate", "-f", "-", stdin=pod.encode())
    assert done.code == 1
    assert "-:7:17: error: metadata.annotations[drainhook.dev/hook]: " in done.out


def test_json_has_all_parts_of_a_finding(drainhook):
    done = drainhook("validate", "-o", "json", "-f", "-", stdin=f"x: [\n---\n{WRONG}".encode())
    report = json.loads(done.out)
    assert {key: report[key] for key in ("documents", "errors", "warnings")} == {
        "documents": 2,
        "errors": 2,
        "warnings": 0,
    }
    assert [row["reason"] for row in report["findings"]] == ["unreadable", "bad_override"]
    assert report["findings"][1] | {"message": ""} == {
        "file": "-",
        "line": 15,
        "column": 9,
        "subject": "Deployment llm",
        "level": "error",
        "reason": "bad_override",
        "path": DRAIN_PATH,
        "message": "",
        "value": "soon",
        "cause": "FieldValueInvalid",
    }


def test_junit_has_a_suite_per_file_and_a_case_per_document(drainhook, manifests):
    manifests(**{"a<b>.yaml": f"{SERVICE}---\n{WRONG}---\nx: \x07[\n", "c.yaml": MISPLACED})
    done = drainhook("validate", "-o", "junit", "-f", ".")
    root = ET.fromstring(done.out)  # noqa: S314  (our own output)
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "4", "2")
    assert [suite.get("name") for suite in root] == ["./a<b>.yaml", "./c.yaml"]
    assert [suite.get("failures") for suite in root] == ["2", "0"]
    cases = root.findall("testsuite/testcase")
    assert [case.get("name") for case in cases] == [
        "Service llm [0]",
        "Deployment llm [1]",
        "document [2]",
        "Deployment llm [0]",
    ]
    assert [case.find("failure") is not None for case in cases] == [False, True, True, False]
    assert cases[1].find("failure").get("type") == "bad_override"
    assert "./a<b>.yaml:" in cases[1].findtext("failure")
    assert "[wrong_object]" in cases[3].findtext("system-out")


def test_warnings_are_failures_in_junit_when_they_fail_the_run(drainhook):
    done = drainhook("validate", "--fail-on", "warning", "-o", "junit", "-f", "-", stdin=MISPLACED.encode())
    root = ET.fromstring(done.out)  # noqa: S314  (our own output)
    assert root.find("testsuite/testcase/failure").get("type") == "wrong_object"


def test_sarif_has_rules_results_and_places(drainhook, manifests):
    folder = manifests(**{"k/ä b.yaml": f"{WRONG}---\n{WRONG}", "c.yaml": MISPLACED})
    done = drainhook("validate", "-o", "sarif", "-f", "k", "-f", str(folder / "c.yaml"), "-f", "-", stdin=b"x: [\n")
    log = json.loads(done.out)
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    run = log["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["bad_override", "wrong_object", "unreadable"]
    assert all(rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"])
    assert [rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"]] == [True] * 4
    assert [result["level"] for result in run["results"]] == ["error", "error", "warning", "error"]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert [place["artifactLocation"]["uri"] for place in places] == [
        "k/%C3%A4%20b.yaml",
        "k/%C3%A4%20b.yaml",
        (folder / "c.yaml").as_uri(),
        "stdin",
    ]
    assert all(place["region"]["startLine"] >= 1 and place["region"]["startColumn"] >= 1 for place in places)
    assert run["results"][0]["locations"][0]["logicalLocations"] == [{"fullyQualifiedName": DRAIN_PATH}]


@pytest.mark.parametrize("output", ["text", "json", "junit", "sarif"])
def test_a_pipe_gets_no_colours(manifests, output):
    folder = manifests(**{"a.yaml": WRONG})
    done = program("validate", "-f", "a.yaml", "-o", output, cwd=folder)
    assert done.returncode == 1
    assert b"\x1b" not in done.stdout + done.stderr
