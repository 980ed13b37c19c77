"""The editing layer, case by case: the new text is exactly what a careful person would have typed."""

from __future__ import annotations

import pytest

from webhook.cli.plan import EditFailed
from webhook.cli.tree import read
from webhook.cli.yamledit import edit


def add(path, value):
    return {"op": "add", "path": path, "value": value}


QUOTED = ['"120"', '"on"', '""', '"x: y"', "'{\"v\":1}'", "/p", '"it\'s \\"so\\""', '"2024-01-01"', '"é"']

CASES = {
    "at the end of a mapping, before the comment behind it": (
        "a:\n  b: 1 # one\n  # loose end\nc: 2\n",
        [add("/a/x", 3)],
        "a:\n  b: 1 # one\n  x: 3\n  # loose end\nc: 2\n",
    ),
    "a missing parent together with its value, with the steps of the text": (
        "meta:\n    name: n\n",
        [add("/meta/annotations", {"k": {"l": "v"}})],
        "meta:\n    name: n\n    annotations:\n        k:\n            l: v\n",
    ),
    "lists that do not stand in": (
        "spec:\n  items:\n  - name: a\n    args:\n    - one\n",
        [add("/spec/items/0/cmd", ["sh", "-c"]), add("/spec/items/0/args/-", "two")],
        'spec:\n  items:\n  - name: a\n    args:\n    - one\n    - two\n    cmd:\n    - sh\n    - "-c"\n',
    ),
    "lists that stand in": (
        "spec:\n  items:\n    - name: a\n",
        [add("/spec/items/0/cmd", ["sh"])],
        "spec:\n  items:\n    - name: a\n      cmd:\n        - sh\n",
    ),
    "an item of one line, and one with a wide dash": (
        "a:\n- name: x\n-   name: y\n",
        [add("/a/0/k", 1), add("/a/1/k", 2)],
        "a:\n- name: x\n  k: 1\n-   name: y\n    k: 2\n",
    ),
    "items before others keep the comments between them": (
        "a:\n# first\n- 1\n# second\n- 2\n",
        [add("/a/1", 9), add("/a/0", 8)],
        "a:\n# first\n- 8\n- 1\n# second\n- 9\n- 2\n",
    ),
    "an empty value": ("a:\n  labels: # none yet\n  b: 1\n", [add("/a/labels", {"k": "v"})],
                       "a:\n  labels: # none yet\n    k: v\n  b: 1\n"),
    "a null": ("a: ~\nb: 1\n", [add("/a", 5)], "a: 5\nb: 1\n"),
    "braces without content": ("a: {} # c\nb: 1\n", [add("/a/k", "v")], "a: # c\n  k: v\nb: 1\n"),
    "brackets without content": ("a:\n  b: []\n", [add("/a/b/-", {"k": 1})], "a:\n  b:\n    - k: 1\n"),
    "braces on one line": ("a: {b: 1}\n", [add("/a/k", {"l": ["x", 2]})], "a: {b: 1, k: {l: [x, 2]}}\n"),
    "braces with a last comma": ("a: {b: 1,}\n", [add("/a/k", 2)], "a: {b: 1, k: 2}\n"),
    "braces on many lines": (
        "a: {\n  b: 1, # one\n  c: 2 # two\n}\n",
        [add("/a/k", 3)],
        "a: {\n  b: 1, # one\n  c: 2, # two\n  k: 3\n}\n",
    ),
    "braces that would get a script open up": (
        "a: {b: 1, l: [x]}\nc: 2\n",
        [add("/a/run", "one\ntwo\n")],
        "a:\n  b: 1\n  l:\n    - x\n  run: |\n    one\n    two\nc: 2\n",
    ),
    "braces with a comment stay": (
        "a: {b: 1, # why\n    c: 2}\n",
        [add("/a/run", "one\ntwo\n")],
        'a: {b: 1, # why\n    c: 2, run: "one\\ntwo\\n"}\n',
    ),
    "a list in brackets": ("a: [1, 2]\n", [add("/a/-", "x"), add("/a/0", "w")], "a: [w, 1, 2, x]\n"),
    "a value behind its key": ("a: 1 # c\nb: 2\n", [add("/a", "yes")], 'a: "yes" # c\nb: 2\n'),
    "a block instead of a value": ("a: 1 # c\nb: 2\n", [add("/a", {"k": 1})], "a: # c\n  k: 1\nb: 2\n"),
    "a value instead of a block": ("a: # c\n  k: 1\n  l: 2\nb: 2\n", [add("/a", 7)], "a: 7 # c\nb: 2\n"),
    "a block instead of a block": (
        "a: # c\n  k:\n  - 1\n\n# end\nb: 2\n",
        [add("/a", {"z": 1})],
        "a: # c\n  z: 1\n\n# end\nb: 2\n",
    ),
    "a script instead of a script": ("a: |\n  x\n  y\n\nb: 1\n", [add("/a", "p\nq")], "a: |-\n  p\n  q\n\nb: 1\n"),
    "after a literal block and its empty lines": (
        "a:\n  s: |\n    x\n\n\nb: 1\n",
        [add("/a/k", 1)],
        "a:\n  s: |\n    x\n  k: 1\n\n\nb: 1\n",
    ),
    "after a literal block that keeps its empty lines": (
        "a:\n  s: |+\n    x\n\nb: 1\n",
        [add("/a/k", 1)],
        "a:\n  s: |+\n    x\n\n  k: 1\nb: 1\n",
    ),
    "text that ends in blank lines, before blank lines of the document": (
        "a:\n  b: 1\n\n  c: 2\n",
        [add("/a/b", "x\n\n")],
        'a:\n  b: "x\\n\\n"\n\n  c: 2\n',
    ),
    "with carriage returns": (
        "a:\r\n  b: 1\r\n",
        [add("/a/k", "x\ny\n")],
        "a:\r\n  b: 1\r\n  k: |\r\n    x\r\n    y\r\n",
    ),
    "without a last line end": ("a:\n  b: 1", [add("/a/k", {"l": 2})], "a:\n  b: 1\n  k:\n    l: 2"),
    "with markers around": ("--- # d\na: 1\n...\n", [add("/k", 2)], "--- # d\na: 1\nk: 2\n...\n"),
    "text that must be quoted": (
        "a:\n  b: 1\n",
        [add("/a/k", ["120", "on", "", "x: y", '{"v":1}', "/p", "it's \"so\"", "2024-01-01", "é"])],
        "a:\n  b: 1\n  k:\n" + "".join(f"    - {item}\n" for item in QUOTED),
    ),
    "several operations inside one another": (
        "a: 1\n",
        [add("/m", {}), add("/m/q", {}), add("/m/q/o", 1), add("/l", []), add("/l/-", "x"), add("/l/0", "w")],
        "a: 1\nm:\n  q:\n    o: 1\nl:\n  - w\n  - x\n",
    ),
    "an alias gets a copy of its own": (
        "a: &a\n  x: 1\nb: *a # same\n",
        [add("/b/k", 2)],
        "a: &a\n  x: 1\nb: # same\n  x: 1\n  k: 2\n",
    ),
    "an anchor changes without its alias": (
        "a: &a\n  x: 1\nb: *a\n",
        [add("/a/k", 2)],
        "a: &a\n  x: 1\n  k: 2\nb:\n  x: 1\n",
    ),
    "items by alias": (
        "a:\n- &c\n  m: x\nb:\n- *c\n-   *c\n",
        [add("/b/1/k", 2)],
        "a:\n- &c\n  m: x\nb:\n- *c\n-   m: x\n    k: 2\n",
    ),
    "what a merge key brought": (
        "base: &b\n  meta:\n    x: 1\na:\n  <<: *b\n  y: 2\n",
        [add("/a/meta/k", 3)],
        "base: &b\n  meta:\n    x: 1\na:\n  <<: *b\n  y: 2\n  meta:\n    x: 1\n    k: 3\n",
    ),
    "a merged mapping changes without the merge": (
        "base: &b\n  x: 1\na:\n  <<: *b\n",
        [add("/base/k", 3)],
        "base: &b\n  x: 1\n  k: 3\na:\n  <<:\n    x: 1\n",
    ),
    "an anchor on a key's line is replaced with its value": (
        "a: &a # c\n  x: 1\nb: 2\n",
        [add("/a", {"z": 1})],
        "a: # c\n  z: 1\nb: 2\n",
    ),
    "the last of two equal keys": ("a:\n  x: 1\na:\n  x: 2\n", [add("/a/k", 3)], "a:\n  x: 1\na:\n  x: 2\n  k: 3\n"),
    "keys with slashes and tildes": ("a:\n  b: 1\n", [add("/a/p~1q~0r s", 1)], 'a:\n  b: 1\n  "p/q~r s": 1\n'),
    "a list within a list": ("a:\n- - x\n  - y\n", [add("/a/0/0", "w")], "a:\n- - w\n  - x\n  - y\n"),
    "tabs behind values": ("a:\n  b: 1\t# c\n", [add("/a/k", 2)], "a:\n  b: 1\t# c\n  k: 2\n"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "operations", "expected"), CASES.values(), ids=CASES)
def test_the_text_is_edited_as_by_hand(text, operations, expected):
    assert edit(text, read(text), operations).text == expected


REFUSED = [
    ("a: 1\n", [add("/b/c", 1)]),
    ("a: 1\n", [add("/a/c", 1)]),
    ("a: [1]\n", [add("/a/5", 1)]),
    ("a: [1]\n", [add("/a/x", 1)]),
    ("a: 1\n", [{"op": "remove", "path": "/a"}]),
    ("a: 1\n", [add("", {})]),
    ("- 1\n", [add("/0/x", 1)]),
    ("text\n", [add("/a", 1)]),
    ("base: &b {x: {p: 1}}\na:\n  x: {q: 1}\n  <<: *b\n", [add("/a/x/k", 2)]),  # a second key x would stand there
    ("a: |\n  x", [add("/b", 1)]),  # a line end after the block would change it
]


@pytest.mark.parametrize(("text", "operations"), REFUSED)
def test_what_cannot_be_proven_is_refused(text, operations):
    with pytest.raises(EditFailed):
        edit(text, read(text), operations)


def test_operations_are_not_changed_by_the_proof():
    operations = [add("/m", {}), add("/m/n", {"o": 1})]
    edit("a: 1\n", read("a: 1\n"), operations)
    assert operations == [add("/m", {}), add("/m/n", {"o": 1})]
