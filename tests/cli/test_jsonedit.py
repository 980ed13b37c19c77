"""JSON documents keep their layout; where YAML and JSON differ they are written anew with their own indent."""

from __future__ import annotations

import json

import pytest

from webhook.cli import jsonedit
from webhook.cli.nodes import Unreadable


def add(path, value):
    return {"op": "add", "path": path, "value": value}


CASES = {
    "on one line": ('{"a":{"b":1}}\n', [add("/a/k", ["x", 2])], '{"a":{"b":1,"k":["x",2]}}\n'),
    "on one line with spaces": ('{"a": {"b": 1}}', [add("/k", "v")], '{"a": {"b": 1}, "k": "v"}'),
    "on many lines": (
        '{\n    "a": {\n        "b": 1\n    }\n}\n',
        [add("/a/k", {"l": ["x"]})],
        '{\n    "a": {\n        "b": 1,\n        "k": {\n            "l": [\n                "x"\n            ]\n        }\n    }\n}\n',
    ),
    "short lists stay short": (
        '{\n  "a": ["x", "y"],\n  "b": 1\n}',
        [add("/a/-", "z"), add("/k", 1)],
        '{\n  "a": ["x", "y", "z"],\n  "b": 1,\n  "k": 1\n}',
    ),
    "with tabs": ('{\n\t"a": 1\n}\n', [add("/k", 2)], '{\n\t"a": 1,\n\t"k": 2\n}\n'),
    "with carriage returns": ('{\r\n  "a": 1\r\n}\r\n', [add("/k", {"l": 2})], '{\r\n  "a": 1,\r\n  "k": {\r\n    "l": 2\r\n  }\r\n}\r\n'),
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
