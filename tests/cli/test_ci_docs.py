"""The snippets of docs/ci.md are real: YAML that parses, and commands whose options exist."""

from __future__ import annotations

import re
import shlex

import pytest
import yaml

from tests.cli.samples import ROOT
from webhook.cli.main import COMMANDS, cli

PAGE = (ROOT / "docs" / "ci.md").read_text()
YAML = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
LINES = re.findall(r"drainhook (?:patch|validate|completion)[^`|>\n#]*", PAGE)


@pytest.mark.parametrize("text", YAML)
def test_every_yaml_snippet_parses(text):
    assert isinstance(yaml.safe_load(text), dict)


@pytest.mark.parametrize("line", sorted(set(LINES)))
def test_every_command_has_its_options(line):
    name, *argv = shlex.split(line.rstrip('") '))[1:]
    assert name in COMMANDS
    context = cli.make_context("drainhook", [name], resilient_parsing=True)
    known = {option for parameter in cli.get_command(context, name).params for option in parameter.opts}
    assert {word for word in argv if word.startswith("-") and word != "-"} <= known
