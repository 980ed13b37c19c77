"""One document's text: what it holds, and what is said of one that no Kubernetes could read."""

from __future__ import annotations

import pytest

from webhook.cli.nodes import Unreadable
from webhook.cli.tree import MAX_DEPTH, read

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)

FAULTS = [
    ("a: \x00b\n", "control character", 0, 3),
    ("ok: 1\nx: \x07\n", "control character", 1, 3),
    ("a:\n\tb: 1\n", "cannot start any token", 1, 0),
    ("a: b: c\n", "mapping values", 0, 4),
    ("a: {{ .Values.x }}\n", "cannot be a key", 0, 4),
    ("a: [\n", "did not find", 1, 0),
    ("a: *nope\n", "undefined alias", 0, 3),
    ("b: &b 1\na: *nope\n", "no anchor", 1, 3),
    ("a: &x [*x]\n", "contains itself", 0, 7),
    ("a: .inf\n", "JSON cannot hold", 0, 3),
    ("a: 1" + "0" * 5000 + "\n", "JSON cannot hold", 0, 3),
    ("~: 1\n", "empty value", 0, 0),
    ("a: !!int x\n", "as !!int", 0, 3),
    ("a: !!binary '*'\n", "!!binary", 0, 3),
    ("<<: 3\n", "merge key", 0, 4),
    ("%YAML 3.0\n---\na: 1\n", "incompatible", 0, 0),
    ("a: " + "[" * (MAX_DEPTH + 5) + "]" * (MAX_DEPTH + 5), "deeper", 0, 0),
    ("[" * 5000, "depth", 0, 1000),
    ("- " * 900 + "x", "deeper", 0, 0),
    (BOMB, "without bound", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "line", "column"), FAULTS)
def test_a_fault_is_said_with_its_place(text, message, line, column):
    with pytest.raises(Unreadable, match=message) as caught:
        read(text)
    assert line is None or (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "---\n# c\n...\n", "\n\n"])
def test_a_document_may_hold_nothing(text):
    assert read(text).root is None or read(text).value is None


def test_aliases_and_merge_keys_are_expanded_without_sharing():
    value = read("a: &a {x: [1]}\nb: *a\nc:\n  <<: *a\n  k: 2\nd:\n  <<: [*a, {x: 3, z: 4}]\n").value
    assert value == {"a": {"x": [1]}, "b": {"x": [1]}, "c": {"x": [1], "k": 2}, "d": {"x": [1], "z": 4}}
    value["a"]["x"].append(2)
    assert value["b"] == {"x": [1]}
    assert value["c"]["x"] == [1]


def test_a_merge_that_comes_later_wins_as_in_kubectl():
    assert read("x: &a {p: 1, q: 2}\nz:\n  p: 9\n  <<: *a\n").value["z"] == {"p": 1, "q": 2}


def test_every_duplicate_key_is_found_and_the_last_one_wins():
    tree = read("a: 1\nb:\n- c: 1\n  c: 2\na: 3\n")
    assert tree.value == {"a": 3, "b": [{"c": 2}]}
    assert [(found.tokens, found.line, found.column) for found in tree.duplicates] == [
        (("b", 0, "c"), 3, 2),
        (("a",), 4, 0),
    ]


def test_a_shell_script_with_ampersands_is_no_anchor():
    text = "run: |\n  a && b &\n  case x in *) echo >&2;; esac\n  *glob\n"
    assert read(text).value == {"run": "a && b &\ncase x in *) echo >&2;; esac\n*glob\n"}
    assert read(text).aliases == {}


def test_the_latest_of_equal_anchors_counts_as_in_kubectl():
    assert read("a: &x 1\nb: *x\nc: &x 2\nd: *x\n").value == {"a": 1, "b": 1, "c": 2, "d": 2}
    assert read("a: &x 1\nb: &x 2\n").value == {"a": 1, "b": 2}
