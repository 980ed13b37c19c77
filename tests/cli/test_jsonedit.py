"""JSON documents keep their layout; where YAML and JSON differ they are written anew with their own indent."""

from __future__ import annotations

import json

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.cli import jsonedit
from webhook.cli.nodes import Unreadable

JSON = st.recursive(
    st.one_of(st.text(max_size=4), st.integers(), st.booleans(), st.none(), st.sampled_from([0.5, 1e300])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def add(path, value):
    return {"op": "add", "path": path, "value": value}


CASES = {
    "on one line": ('{"a":{"b":1}}\n', [add("/a/k", ["x", 2])], '{"a":{"b":1,"k":["x",2]}}\n'),
    "on one line with spaces": ('{"a": {"b": 1}}', [add("/k", "v")], '{"a": {"b": 1}, "k": "v"}'),
    "on many lines": (
        '{\n    "a": {\n        "b": 1\n    }\n}\n',
        [add("/a/k", {"m": ["x"]})],
        json.dumps({"a": {"b": 1, "k": {"m": ["x"]}}}, indent=4) + "\n",
    ),
    "short lists stay short": (
        '{\n  "a": ["x", "y"],\n  "b": 1\n}',
        [add("/a/-", "z"), add("/k", 1)],
        '{\n  "a": ["x", "y", "z"],\n  "b": 1,\n  "k": 1\n}',
    ),
    "with tabs": ('{\n\t"a": 1\n}\n', [add("/k", {"m": 2})], '{\n\t"a": 1,\n\t"k": {\n\t\t"m": 2\n\t}\n}\n'),
    "with carriage returns": (
        '{\r\n  "a": 1\r\n}\r\n',
        [add("/k", {"m": 2})],
        '{\r\n  "a": 1,\r\n  "k": {\r\n    "m": 2\r\n  }\r\n}\r\n',
    ),
    "with surrogate pairs": ('{\n  "a": "\\ud83d\\ude00"\n}\n', [add("/k", 1)], '{\n  "a": "😀",\n  "k": 1\n}\n'),
    "with a lone surrogate": ('{"a": "\\ud83d"}', [add("/k", 1)], '{"a": "\\ud83d", "k": 1}'),
    "with a huge number": ('{"a": ' + "9" * 30 + "}", [add("/k", 1)], '{"a": ' + "9" * 30 + ', "k": 1}'),
    "text of several lines": ('{"a": 1}', [add("/k", 'x\n"y"')], '{"a": 1, "k": "x\\n\\"y\\""}'),
    "an empty object": ("{}", [add("/k", 1)], '{"k": 1}'),
}  # fmt: skip


@pytest.mark.parametrize(("text", "operations", "expected"), CASES.values(), ids=CASES)
def test_json_is_edited_in_its_own_layout(text, operations, expected):
    value, _ = jsonedit.read(text)
    edited = jsonedit.edit(text, value, operations)
    assert edited.text == expected
    assert json.loads(edited.text) == edited.value


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [('{\n"a": }', "Expecting value", 1), ('{"a": NaN}', "NaN", 0), ("[" * 300 + "]" * 300, "deeper", 0)],
)
def test_a_fault_is_said_with_its_line(text, message, line):
    with pytest.raises(Unreadable, match=message) as caught:
        jsonedit.read(text)
    assert caught.value.line == line


def test_duplicate_keys_are_found():
    value, duplicates = jsonedit.read('{"a": 1,\n "a": 2}')
    assert value == {"a": 2}
    assert [(found.key, found.line, found.column) for found in duplicates] == [("a", 1, 1)]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_layout_of_json_holds_what_was_asked(data):
    value = data.draw(st.dictionaries(st.sampled_from("abc"), JSON, max_size=3))
    indent = data.draw(st.sampled_from([None, 1, 2, 4, "\t"]))
    separators = data.draw(st.sampled_from([None, (",", ":"), (", ", ": ")]))
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=data.draw(st.booleans()))
    operations = [add(f"/k{number}", item) for number, item in enumerate(data.draw(st.lists(JSON, max_size=3)))]
    operations += [add(f"/{key}/new", 1) for key, item in value.items() if isinstance(item, dict)]
    operations += [add(f"/{key}/0", "first") for key, item in value.items() if isinstance(item, list)]
    expected = jsonpatch.apply_patch(json.loads(text), operations)
    edited = jsonedit.edit(text, jsonedit.read(text)[0], operations)
    assert json.loads(edited.text) == expected
    assert ("\n" in edited.text) == ("\n" in text)
