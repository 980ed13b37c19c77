"""A stream is cut at its markers, nothing of it is lost, and lines are counted right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cli.stream import split

CASES = [
    ("", []),
    ("a: 1\n", ["a: 1\n"]),
    ("---\na: 1\n---\nb: 2\n", ["---\na: 1\n", "---\nb: 2\n"]),
    ("# head\n---\na: 1\n", ["# head\n---\na: 1\n"]),
    ("%YAML 1.1\n# c\n---\na: 1\n", ["%YAML 1.1\n# c\n---\na: 1\n"]),
    ("a: |\n  x\n  ---\n  y\n---\nb: 2\n", ["a: |\n  x\n  ---\n  y\n", "---\nb: 2\n"]),
    ("a: 1\n...\n%YAML 1.1\n---\nb: 2\n", ["a: 1\n...\n", "%YAML 1.1\n---\nb: 2\n"]),
    ("a: 1\n...\nb: 2\n", ["a: 1\n...\n", "b: 2\n"]),
    ("--- {a: 1}\n--- |\n text\n", ["--- {a: 1}\n", "--- |\n text\n"]),
    ("---\n---\n# only\n---\na: 1", ["---\n", "---\n# only\n", "---\na: 1"]),
    ("a: 1\n---x: 2\n", ["a: 1\n---x: 2\n"]),
    ("a: 1\r\n---\r\nb: 2\r\n", ["a: 1\r\n", "---\r\nb: 2\r\n"]),
    ("a: 1\n---", ["a: 1\n", "---"]),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_documents_are_cut_at_their_markers(text, expected):
    assert [piece.text for piece in split(text)] == expected


@given(
    st.lists(
        st.sampled_from(["---\n", "...\n", "a: 1\n", "# c\n", "\n", "%X 1\n", "  ---\n", "--- x", "{\n", '{"a":1}'])
    )
)
def test_the_pieces_are_the_text_and_know_their_lines(parts):
    text = "".join(parts)
    pieces = split(text)
    assert "".join(piece.text for piece in pieces) == text
    before = ""
    for piece in pieces:
        assert piece.line == before.count("\n") + 1
        before += piece.text


def test_json_objects_that_follow_one_another_are_cut_between_them():
    pieces = split('{"a": 1}\n{"b": [2]} {"c": 3}\n')
    assert [piece.text for piece in pieces] == ['{"a": 1}\n', '{"b": [2]} ', '{"c": 3}\n']
    assert [piece.line for piece in pieces] == [1, 2, 2]
    assert all(piece.is_json for piece in pieces)


def test_a_flow_mapping_is_no_json():
    assert [piece.is_json for piece in split("{a: 1}\n")] == [False]
