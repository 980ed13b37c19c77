"""`drainhook render`, as its users see it."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from webhook.cli.main import run
from webhook.cli.render import render
from webhook.render.backendruntime import GRACE_SECONDS, PORT

EXAMPLE = Path(__file__).parents[3] / "examples/llmaz/backendruntime.yaml"


def called(*words):
    return CliRunner().invoke(render, ["backendruntime", *map(str, words)])


def test_the_example_is_what_the_command_prints():
    """examples/llmaz/README.md says how it is made anew."""
    done = called("--backend", "vllm", "--image", "vllm/vllm-openai:v0.32.0")
    assert done.exit_code == 0
    assert done.output == EXAMPLE.read_text()


def test_json_is_the_same_object():
    """Only the comments go."""
    words = ("--backend", "sglang", "--name", "sglang-drained")
    text, data = called(*words).output, json.loads(called(*words, "-o", "json").output)
    assert yaml.safe_load(text) == data
    assert data["metadata"] == {"name": "sglang-drained"}


def test_every_number_has_its_reason_above_it():
    """A comment stands before each field that holds numbers; lines stay within 120 columns."""
    own = [line for line in called("--backend", "vllm").output.splitlines() if not line.startswith(" " * 12)]
    keys = [(before, line) for before, line in pairwise(own) if re.match(r"  [a-zA-Z]+:", line)]
    bare = {line.strip().partition(":")[0] for before, line in keys if not before.startswith("  #")}
    assert bare == {"name", "version", "command"}
    assert max(map(len, own)) <= 120


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--backend", "vlm"), "no profile vlm; did you mean vllm?"),
        (("--backend", "zzz"), "no profile zzz; known: fastapi, infinity, "),
        (("--backend", "auto"), "no profile auto"),
        ((), "Missing option '--backend'"),
        (("--backend", "vllm", "--grace-period-seconds", "20"), "--grace-period-seconds 20 s: must be at least 30"),
        (("--backend", "vllm", "--port", "0"), "0 is not in the range"),
        (("--backend", "vllm", "--image", "a@sha256:0"), "no digest can be given"),
        (("--backend", "vllm", "--kubernetes-version", "new"), "--kubernetes-version: 'new' is no Kubernetes version"),
        (("--backend", "vllm", "-o", "toml"), "'toml' is not one of"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(capsys, words, says):
    """The line names the option and the value."""
    assert run(["render", "backendruntime", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert says in err


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("vllm/vllm-openai:v1", ["vllm/vllm-openai", "v1"]),
        ("mirror.example:5000/vllm/vllm-openai", ["mirror.example:5000/vllm/vllm-openai", "latest"]),
        ("mirror.example:5000/vllm/vllm-openai:v1", ["mirror.example:5000/vllm/vllm-openai", "v1"]),
    ],
)
def test_an_image_is_split_into_name_and_version(image, parts):
    """A port of a registry is no tag."""
    spec = json.loads(called("--backend", "vllm", "--image", image, "-o", "json").output)["spec"]
    assert [spec["image"], spec["version"]] == parts


def test_warnings_go_to_standard_error():
    """What is printed can be piped to kubectl."""
    done = called("--backend", "tensorrt-llm")
    assert yaml.safe_load(done.stdout)["kind"] == "BackendRuntime"
    assert done.stderr.startswith("drainhook: warning: the gauges of TensorRT-LLM")
    assert done.exit_code == 0


def test_a_profile_of_ones_own_is_rendered(tmp_path):
    """--profiles works as everywhere; a faulty one ends with 2."""
    (tmp_path / "vllm.yaml").write_text("extends: vllm\nbudget: {settle: 20}\n")
    made = json.loads(called("--backend", "vllm", "--profiles", tmp_path, "-o", "json").output)
    assert made["spec"]["lifecycle"]["preStop"]["exec"]["command"][4:6] == ["settle=20", "drain=95"]

    (tmp_path / "vllm.yaml").write_text("extends: vllm\nbudget: {settle: -1}\n")
    assert called("--backend", "vllm", "--profiles", tmp_path).exit_code == 2


def test_defaults_of_the_command_are_those_of_the_module():
    """A number is spelled once; help shows it without importing the module."""
    defaults = {option.name: option.default for option in render.commands["backendruntime"].params}
    assert (defaults["port"], defaults["grace"]) == (PORT, GRACE_SECONDS)
