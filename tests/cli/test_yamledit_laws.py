"""Laws of the editing layer over documents in random styles: the edit is what was asked, and nothing else changes."""

from __future__ import annotations

import copy
import json
import random
import re

import jsonpatch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webhook.cli.tree import read
from webhook.cli.yamledit import edit, is_same

KEYS = ["a", "b", "name", "spec", "on", "x-y", "app.kubernetes.io/name", "with space", "120", "k#k", "ünï"]
TEXTS = ["v", "", "true", "0123", "1e3", "a: b", "# no", "it's", 'say "x"', "line\nline\n", "#!/bin/sh\n\n  x\ny"]
TEXTS += ["é😀", "-", "- a", "{{ x }}", "tail \n", "\n lead", "yes", "2024-01-01", "*a", "&a", "a,b", "[x]", "\t"]
TEXTS += ["keep\n\n\n"]
NUMBERS = st.one_of(st.integers(-5, 10**12), st.sampled_from([0.5, -2.25]))
SCALARS = st.one_of(st.sampled_from(TEXTS), NUMBERS, st.booleans(), st.none())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(st.sampled_from(KEYS), VALUES, min_size=1, max_size=4)


class Author:
    """Writes a value as a person might: steps, offsets, quotes, comments, flow or block, all by the dice."""

    def __init__(self, dice: random.Random, *, flow: bool, shares: bool = False) -> None:
        """Draw the habits of this author."""
        self.shares = shares
        self.named = 0
        self.anchors: list[tuple[str, object]] = []
        self.dice = dice
        self.flow = flow
        self.step = dice.choice([2, 2, 4, 3])
        self.offset = dice.choice([0, self.step])
        self.comments = 0
        self.keeps = False  # a block that keeps empty lines would take one of ours for its own

    def comment(self) -> str:
        self.comments += 1
        return f"# note {self.comments}."

    def remark(self) -> str:
        return f" {self.comment()}" if self.dice.random() < 0.2 else ""

    def above(self, indent: int) -> list[str]:
        roll = self.dice.random()
        if roll < 0.12:
            return [" " * indent + self.comment()]
        return [""] if roll < 0.18 and not self.keeps else []

    def scalar(self, value: object) -> str:
        if isinstance(value, str):
            simple = re.fullmatch(r"[a-z][a-z./-]*", value) and value not in ("on", "yes", "true", "y", "n")
            if simple and self.dice.random() < 0.7:
                return value
            if re.fullmatch(r"[ -~]*", value) and self.dice.random() < 0.5:
                return "'" + value.replace("'", "''") + "'"
            return json.dumps(value, ensure_ascii=False)
        if value is None:
            return self.dice.choice(["null", "~"])
        return json.dumps(value)

    def inline(self, value: object) -> str:
        if isinstance(value, dict):
            space = self.dice.choice(["", " "])
            inner = ", ".join(f"{self.scalar(key)}: {self.inline(item)}" for key, item in value.items())
            return f"{{{space}{inner}{space}}}"
        if isinstance(value, list):
            last = self.dice.choice(["", "," if value else ""])
            return "[" + ", ".join(self.inline(item) for item in value) + last + "]"
        return self.scalar(value)

    def lines_of_flow(self, value: object, head: str, indent: int) -> list[str]:
        """Write a collection in braces over several lines."""
        pad = " " * (indent + self.step)
        if isinstance(value, dict):
            inner = [f"{self.scalar(k)}: {self.inline(v)}" for k, v in value.items()]
        else:
            inner = [self.inline(item) for item in value]
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        last = self.dice.choice(["", ","])
        rows = [pad + row + "," + self.remark() for row in inner[:-1]] + [pad + inner[-1] + last + self.remark()]
        return [f"{head} {opening}", *rows, pad + closing]

    def anchored(self, head: str, value: object, indent: int) -> list[str]:
        """Write a collection that is there already as an alias, and a new one with an anchor."""
        known = [name for name, old in self.anchors if is_same(old, value)]
        if known:
            return [f"{head} *{known[-1]}{self.remark()}"]
        self.named += 1
        name = f"a{self.named}"
        inner = indent + (2 if head.endswith("-") else self.offset if isinstance(value, list) else self.step)
        lines = [f"{head} &{name}{self.remark()}", *self.block(value, inner)]
        self.anchors.append((name, value))
        return lines

    def entry(self, head: str, value: object, indent: int) -> list[str]:
        if self.shares and isinstance(value, dict | list) and value and self.dice.random() < 0.5:
            return self.anchored(head, value, indent)
        if isinstance(value, dict | list) and value:
            roll = self.dice.random()
            if self.flow and roll < 0.15:
                return self.lines_of_flow(value, head, indent)
            if self.flow and roll < 0.35:
                return [f"{head} {self.inline(value)}{self.remark()}"]
            if head.endswith("-"):
                width = self.dice.choice([1, 1, 3])
                lines = self.block(value, indent + 1 + width, first=True)
                return [head + " " * width + lines[0].lstrip(" "), *lines[1:]]
            inner = indent + (self.offset if isinstance(value, list) else self.step)
            return [head + self.remark(), *self.block(value, inner)]
        if isinstance(value, str) and "\n" in value and not value.startswith(("\n", " ")) and self.dice.random() < 0.8:
            return self.literal(head, value, indent)
        if value is None and self.dice.random() < 0.5:
            return [head + self.remark()]
        return [f"{head} {self.inline(value)}{self.remark()}"]

    def literal(self, head: str, value: str, indent: int) -> list[str]:
        ends = len(value) - len(value.rstrip("\n"))
        self.keeps = self.keeps or ends > 1
        mark = "|-" if not ends else "|" if ends == 1 else "|+"
        pad = " " * (indent + max(self.step, 2))
        return [f"{head} {mark}", *[pad + line if line else "" for line in value.removesuffix("\n").split("\n")]]

    def block(self, value: object, indent: int, *, first: bool = False) -> list[str]:
        lines: list[str] = []
        items = value.items() if isinstance(value, dict) else [(None, item) for item in value]
        for number, (key, item) in enumerate(items):
            if number or not first:
                lines += self.above(indent)
            head = " " * indent + ("-" if key is None else f"{self.scalar(key)}:")
            lines += self.entry(head, item, indent)
        return lines


@st.composite
def texts(draw, *, flow: bool, shares: bool = False):
    """Draw a document as (value, text)."""
    value = draw(DOCUMENTS)
    if shares:
        value = json.loads(json.dumps({**value, "copy": value, "copies": [value, *value.values()]}))
    dice = draw(st.randoms(use_true_random=False))
    author = Author(dice, flow=flow, shares=shares)
    lines = author.block(value, 0)
    if dice.random() < 0.3:
        lines = ["---", author.comment(), *lines]
    if dice.random() < 0.3:
        lines += [author.comment(), ""]
    newline = dice.choice(["\n", "\n", "\r\n"])
    text = newline.join(lines)
    ends = dice.choice([newline, newline, ""])
    # A literal block that ends the text without a line end has another value than one with it.
    return value, text + (ends if is_same(read(text).value, value) else newline)


def places(value, path=()):
    """Yield every place of a value where something can be added, as (path, does it replace)."""
    if isinstance(value, dict):
        yield (*path, "new.key/~x"), False
        yield (*path, "lifecycle"), False
        for key, item in value.items():
            yield (*path, key), True
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        yield (*path, "-"), False
        for index, item in enumerate(value):
            yield (*path, index), False
            yield from places(item, (*path, index))


def pointer(path):
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in path)


@st.composite
def operations(draw, value, *, replace: bool):
    """Draw operations that follow one another."""
    made, current = [], copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 4))):
        possible = [path for path, replaces in places(current) if replace or not replaces]
        operation = {"op": "add", "path": pointer(draw(st.sampled_from(possible))), "value": draw(VALUES)}
        made.append(operation)
        current = jsonpatch.apply_patch(current, copy.deepcopy(made[-1:]))
    return made, current


def is_subsequence(some, others):
    rest = iter(others)
    return all(any(item == other for other in rest) for item in some)


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
LAW = settings(max_examples=300, deadline=None, suppress_health_check=SLOW)


@LAW
@given(st.data())
def test_what_is_added_to_block_style_is_only_added(data):
    """Every line of the user's text is still there, in order."""
    value, text = data.draw(texts(flow=False))
    tree = read(text)
    assert is_same(tree.value, value)
    made, expected = data.draw(operations(value, replace=False))
    edited = edit(text, tree, made)
    assert is_same(read(edited.text).value, expected)
    old = text.splitlines()
    # An empty collection may open up, and a list within a list shares its first line with it.
    kept = [line for line in old if not re.search(r"\{ *\}|\[\]|^ *- +-", line)]
    assert is_subsequence(kept, edited.text.splitlines())
    assert edited.text.endswith("\n") == text.endswith("\n") or edited.text.rstrip().endswith(" line")


@LAW
@given(st.data())
def test_any_style_holds_what_was_asked_and_keeps_comments(data):
    """Flow style on one line or many, replaced values, line ends: the text holds the patched object."""
    value, text = data.draw(texts(flow=True))
    tree = read(text)
    assert is_same(tree.value, value)
    replace = data.draw(st.booleans())
    made, expected = data.draw(operations(value, replace=replace))
    edited = edit(text, tree, made)
    assert is_same(read(edited.text).value, expected)
    if not replace:
        assert re.findall(r"# note \d+\.", text) == re.findall(r"# note \d+\.", edited.text)
    if "\r\n" in text:
        assert "\n" not in edited.text.replace("\r\n", "")


@LAW
@given(st.data())
def test_a_change_in_one_place_is_none_where_an_alias_repeats_it(data):
    """Anchors and aliases: only the place that was asked for changes, whatever is shared."""
    value, text = data.draw(texts(flow=True, shares=True))
    tree = read(text)
    assert is_same(tree.value, value)
    made, expected = data.draw(operations(value, replace=data.draw(st.booleans())))
    assert is_same(read(edit(text, tree, made).text).value, expected)
