"""patch: leaf-level `add` operations, and an applier that agrees with jsonpatch."""

from __future__ import annotations

import copy

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.core.patch import apply, field_path, look, plan, pointer

ROOT = {"a": {"b": [1, {"c": None}]}, "n": None}


@pytest.mark.parametrize(
    ("tokens", "text"),
    [((), ""), (("a", 0), "/a/0"), (("a/b", "c~d"), "/a~1b/c~0d"), (("~1",), "/~01"), (("a", "-"), "/a/-")],
)
def test_a_pointer_escapes_tilde_before_slash(tokens, text):
    """RFC 6901: `~` is `~0` and `/` is `~1`."""
    assert pointer(tokens) == text


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ((), ""),
        (("spec", "containers", 0, "args"), "spec.containers[0].args"),
        (("metadata", "annotations", "x.io/y"), "metadata.annotations[x.io/y]"),
        (("metadata", "labels", "a.b"), "metadata.labels[a.b]"),
        (("items", 1, "spec"), "items[1].spec"),
    ],
)
def test_a_field_path_is_written_as_kubernetes_does(tokens, text):
    """Indices and keys with a dot or a slash stand in brackets."""
    assert field_path(tokens) == text


@pytest.mark.parametrize(
    ("tokens", "value"),
    [
        ((), ROOT),
        (("a", "b", 0), 1),
        (("a", "b", 2), None),
        (("a", "b", "0"), None),
        (("a", "x", "y"), None),
        (("n", "x"), None),
        (("a", "b", 0, "x"), None),
    ],
)
def test_looking_at_a_place_never_fails(tokens, value):
    """What does not stand there is None, whatever is in the way."""
    assert look(ROOT, tokens) == value


@pytest.mark.parametrize(
    ("root", "tokens", "operations"),
    [
        ({}, ("a",), [{"op": "add", "path": "/a", "value": 1}]),
        ({"a": 1}, ("a",), []),
        ({"a": 2}, ("a",), [{"op": "add", "path": "/a", "value": 1}]),
        ({}, ("a", "b", "c"), [{"op": "add", "path": "/a", "value": {"b": {"c": 1}}}]),
        ({"a": None}, ("a", "b"), [{"op": "add", "path": "/a", "value": {"b": 1}}]),
        ({"a": {}}, ("a", "b"), [{"op": "add", "path": "/a/b", "value": 1}]),
        ({"a": {"x": 0}}, ("a", "b"), [{"op": "add", "path": "/a/b", "value": 1}]),
        ({"l": [1]}, ("l", "-"), [{"op": "add", "path": "/l/-", "value": 1}]),
        ({"l": [{}]}, ("l", 0, "x/y"), [{"op": "add", "path": "/l/0/x~1y", "value": 1}]),
    ],
)
def test_a_change_adds_the_topmost_missing_parent(root, tokens, operations):
    """Only `add`, always below a parent that exists; what already stands makes no operation."""
    assert plan(root, [(tokens, 1)])[0] == operations


def test_changes_build_on_each_other():
    """The second change below a new parent does not add the parent again."""
    operations, result = plan({}, [(("a", "b"), 1), (("a", "c"), 2), (("a", "b"), 1)])
    assert operations == [{"op": "add", "path": "/a", "value": {"b": 1}}, {"op": "add", "path": "/a/c", "value": 2}]
    assert result == {"a": {"b": 1, "c": 2}}


def test_null_takes_a_value_away_once():
    """A change to None is an `add` of null, and none where nothing stands."""
    assert plan({"a": {"b": 1}}, [(("a", "b"), None)]) == (
        [{"op": "add", "path": "/a/b", "value": None}],
        {"a": {"b": None}},
    )
    assert plan({"a": {}}, [(("a", "b"), None)]) == ([], {"a": {}})


@pytest.mark.parametrize(
    ("root", "operations"),
    [
        ({"l": [0]}, [{"op": "add", "path": "/l/-", "value": 1}, {"op": "add", "path": "/l/-", "value": 2}]),
        ({"l": []}, [{"op": "add", "path": "/l/-", "value": 1}, {"op": "add", "path": "/l/-", "value": 2}]),
        ({"l": None}, [{"op": "add", "path": "/l", "value": [1]}, {"op": "add", "path": "/l/-", "value": 2}]),
        ({}, [{"op": "add", "path": "/l", "value": [1]}, {"op": "add", "path": "/l/-", "value": 2}]),
    ],
)
def test_what_is_appended_brings_its_list(root, operations):
    """A missing or null list is added with its first item; others go behind what stands."""
    assert plan(root, [(("l", "-"), 1), (("l", "-"), 2)]) == (operations, {"l": [*(root.get("l") or []), 1, 2]})


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "add", "path": "/a", "value": 1}, {"a": 1, "l": [1, [2]]}),
        ({"op": "add", "path": "/l/0", "value": 0}, {"l": [0, 1, [2]]}),
        ({"op": "add", "path": "/l/2", "value": 0}, {"l": [1, [2], 0]}),
        ({"op": "add", "path": "/l/-", "value": 0}, {"l": [1, [2], 0]}),
        ({"op": "add", "path": "/l/1/0", "value": 0}, {"l": [1, [0, 2]]}),
        ({"op": "add", "path": "/x~1y", "value": 0}, {"l": [1, [2]], "x/y": 0}),
    ],
)
def test_an_operation_is_applied_to_a_copy(operation, result):
    """The given object stays as it is, and jsonpatch says the same."""
    root = {"l": [1, [2]]}
    before = copy.deepcopy(root)
    assert apply(root, [operation]) == result == jsonpatch.apply_patch(root, [operation])
    assert root == before


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        ({"op": "remove", "path": "/l"}, LookupError),
        ({"op": "replace", "path": "/l", "value": 1}, LookupError),
        ({"op": "add", "path": "", "value": 1}, LookupError),
        ({"op": "add", "path": "l", "value": 1}, LookupError),
        ({"op": "add", "path": "/x/y", "value": 1}, LookupError),
        ({"op": "add", "path": "/l/3", "value": 1}, LookupError),
        ({"op": "add", "path": "/l/-1", "value": 1}, LookupError),
        ({"op": "add", "path": "/l/x", "value": 1}, ValueError),
        ({"op": "add", "path": "/l/9/x", "value": 1}, LookupError),
        ({"op": "add", "path": "/s/x", "value": 1}, TypeError),
        ({"op": "add", "path": "/n/x", "value": 1}, TypeError),
    ],
)
def test_an_operation_that_does_not_fit_is_refused(operation, error):
    """What the API server would refuse raises, so that it is never sent."""
    with pytest.raises(error):
        apply({"l": [1, 2], "s": "text", "n": None}, [operation])


KEYS = st.text("ab/~0-", min_size=1, max_size=3).filter(lambda key: key != "-")  # alone it is the end of a list
TREES = st.recursive(st.none(), lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=12)


@given(root=st.dictionaries(KEYS, TREES, max_size=3), changes=st.lists(st.tuples(st.lists(KEYS, min_size=1), TREES)))
def test_a_plan_leads_where_jsonpatch_leads(root, changes):
    """The planned object is what jsonpatch makes of the operations, and the root is untouched."""
    before = copy.deepcopy(root)
    operations, result = plan(root, [(tuple(tokens), value) for tokens, value in changes])
    assert root == before
    assert jsonpatch.apply_patch(root, operations) == result
