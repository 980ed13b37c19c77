"""`drainhook profiles`, as its users see it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from webhook.catalog import shipped
from webhook.cli.profiles import profiles
from webhook.profile_check import schema


def _run(*words):
    return CliRunner().invoke(profiles, [str(word) for word in words])


@pytest.fixture
def faulty(tmp_path):
    (tmp_path / "vllm.yaml").write_text("extends: vllm\nbudget: {drain: 0}\n")
    return tmp_path


def test_list_shows_class_port_gauges_budget_and_tools():
    rows = _run("list").output.splitlines()

    assert len(rows) == 17
    assert rows[0].split() == ["NAME", "CLASS", "PORT", "GAUGES", "BUDGET", "TOOLS", "UNVERIFIED"]
    assert rows[-1].split() == [
        "vllm", "A", "8000", "vllm:num_requests_running,vllm:num_requests_waiting", "10/95/15",
        "sh,bash,curl,python3", "2",
    ]  # fmt: skip
    assert [row.split()[2] for row in rows if row.startswith(("tgi", "openvino"))] == ["-", "3000/80"]


def test_list_for_machines():
    rows = json.loads(_run("list", "-o", "json").output)

    assert [row["name"] for row in rows] == sorted(shipped())
    assert rows == yaml.safe_load(_run("list", "-o", "yaml").output)
    assert rows[3]["gauges"] == ["llamacpp:requests_processing", "llamacpp:requests_deferred"]


def test_list_takes_folders_and_prints_their_faults(tmp_path, faulty):
    bad = _run("list", "--profiles", faulty)
    (tmp_path / "vllm.yaml").write_text("extends: vllm\nbudget: {drain: 300}\n")
    good = _run("list", "--profiles", tmp_path)

    assert bad.exit_code == 1
    assert bad.stderr.startswith(f"{tmp_path / 'vllm.yaml'}:2: budget.drain: 0 does not fit; right is: Whole seconds")
    assert bad.stdout == ""
    assert good.exit_code == 0
    assert "10/300/15" in good.stdout


def test_show_keeps_comments_and_marks_what_nobody_has_confirmed():
    result = _run("show", "tgi")

    assert result.exit_code == 0
    assert "  running: [tgi_batch_current_size]  # UNVERIFIED\n" in result.output
    assert "# The image sets PORT=80; the flag beats the variable." in result.output
    assert "#   metrics.idle_seconds: 5\n" in result.output
    assert yaml.safe_load(result.output) == shipped()["tgi"]
    assert json.loads(_run("show", "tgi", "-o", "json").output) == shipped()["tgi"]


def test_show_of_an_unknown_name_is_a_usage_error_that_names_the_known_ones():
    result = _run("show", "vlm")

    assert result.exit_code == 2
    assert "no profile vlm; known: fastapi, infinity" in result.stderr


def test_check_prints_what_it_proved(tmp_path):
    (tmp_path / "mine.yaml").write_text("extends: vllm\nmatch: {auto: false}\n")

    result = _run("check", tmp_path)

    assert result.exit_code == 0
    assert [row.split(": ")[:2] for row in result.stdout.splitlines()] == [
        ["mine", "schema"],
        ["mine", "patterns"],
        ["mine", "unverified"],
        ["mine", "unverified"],
        ["mine", "decision"],
    ]
    assert "mine: decision: a minimal pod gets a proven patch: hook_exec, probe_added, grace_raised" in result.stdout


def test_check_warns_of_patterns_that_another_profile_has(tmp_path):
    (tmp_path / "mine.yaml").write_text("extends: vllm\n")

    result = _run("check", tmp_path / "mine.yaml")

    assert result.exit_code == 0
    assert "mine: patterns: warning: vllm serve is also that of profile vllm; `auto` finds neither" in result.stdout


def test_check_fails_with_file_line_field_and_message(faulty):
    result = _run("check", faulty)

    assert result.exit_code == 1
    assert result.stderr.startswith(f"{faulty / 'vllm.yaml'}:2: budget.drain: 0 does not fit")
    assert result.stdout == ""


def test_check_wants_something_to_check():
    assert _run("check").exit_code == 2


def test_schema_is_the_published_one():
    assert json.loads(_run("schema").output) == schema()


def test_help_imports_nothing_heavy():
    code = "import sys, webhook.cli.profiles; print({'yaml', 'jsonschema', 'json'} & set(sys.modules))"

    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "set()\n"


def test_the_profile_in_the_docs_proves_itself_as_the_docs_say(tmp_path):
    text = (Path(__file__).parents[2] / "docs/profiles.md").read_text("utf-8")
    example = next(block for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "acme.yaml" in block)
    (tmp_path / "acme.yaml").write_text(example)

    printed = _run("check", tmp_path).stdout

    assert "".join(f"    {row}\n" for row in printed.splitlines()) in text
