"""Field paths find their place in the text, or that of the nearest parent."""

from __future__ import annotations

import pytest

from webhook.cli.fieldpath import locate, parse
from webhook.cli.tree import read
from webhook.core.patch import field_path

TEXT = """\
metadata:
  labels: {a.b/c: v, x: y}
spec:
  containers:
  - name: one
    args: [a,
      b]
  - &second
    name: two
copy: *second
"""

PLACES = [
    ("", 0, 0),
    ("metadata.labels[a.b/c]", 1, 11),
    ("metadata.annotations[a.b/c]", 0, 0),
    ("spec.containers[0].args[1]", 6, 6),
    ("spec.containers[1].name", 8, 4),
    ("spec.containers[1].lifecycle.preStop", 7, 4),
    ("spec.containers[7]", 3, 2),
    ("copy.name", 8, 4),
    ("nothing.here", 0, 0),
]


@pytest.mark.parametrize(("path", "line", "column"), PLACES)
def test_a_path_leads_to_its_key(path, line, column):
    assert locate(read(TEXT).root, path) == (line, column)


def test_without_a_text_the_place_is_its_beginning():
    assert locate(None, "a.b") == (0, 0)


@pytest.mark.parametrize("tokens", [("a", 0, "b.c/d", "e"), (), ("metadata", "labels", "app.kubernetes.io/name")])
def test_the_tokens_of_a_path_are_those_it_was_written_from(tokens):
    assert parse(field_path(tokens)) == [str(token) for token in tokens]
