"""The pages on annotations and reasons say what the code does: every key, bound, choice and sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from webhook import names
from webhook.core import overrides
from webhook.core.decision import Reason

DOCS = Path(__file__).parents[2] / "docs"
CHOICES = {
    names.HOOK: overrides.HOOKS,
    names.EXISTING_HOOK: overrides.EXISTING,
    names.READINESS: overrides.READINESS,
    names.NATIVE_DRAIN: overrides.NATIVE,
}


def rows(page, columns):
    """Return the table rows of a page that have so many columns and begin with a word in backticks."""
    found = []
    for line in (DOCS / page).read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == columns and re.fullmatch(r"`[^`]+`", cells[0]):
            found.append((cells[0].strip("`"), *cells[1:]))
    return found


def test_each_label_and_annotation_stands_once():
    assert [key for key, *_ in rows("annotations.md", 4)] == [*overrides.LABELS, *overrides.KNOWN_KEYS]


@pytest.mark.parametrize("key", overrides.SECONDS)
def test_bounds_of_seconds(key):
    said = {name: values for name, values, *_ in rows("annotations.md", 4)}
    assert said[key] == "{} to {}".format(*overrides.SECONDS[key])


@pytest.mark.parametrize("key", CHOICES)
def test_choices_and_their_default(key):
    said = {name: (values, default) for name, values, default, _ in rows("annotations.md", 4)}
    assert said[key] == (", ".join(f"`{choice}`" for choice in CHOICES[key]), f"`{CHOICES[key][0]}`")


def test_each_row_of_hook_and_existing_hook_stands():
    page = (DOCS / "annotations.md").read_text("utf-8")
    kinds = [kind for kind in overrides.HOOKS if kind != "auto"]
    assert re.findall(r"^\| `(\w+)` \| [^|]+ \|$", page, re.MULTILINE) == [*kinds, *overrides.EXISTING]


def test_each_reason_stands_once_with_its_sentence():
    assert [(key, sentence) for key, sentence, _ in rows("reasons.md", 3)] == [
        (str(reason), reason.sentence) for reason in Reason
    ]


def test_each_reason_says_what_to_do():
    assert all(advice.endswith(".") for *_, advice in rows("reasons.md", 3))
