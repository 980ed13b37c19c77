"""decision: every reason has a key and a sentence of its own."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError

import pytest

from webhook import names
from webhook.core.decision import Allow, Cause, Deny, Finding, Level, Outcome, Patch, Policy, Reason, Request, Rule


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_is_its_key_with_a_sentence(reason):
    """The key serves as label of a metric, the sentence is one that ends with a full stop."""
    assert reason == reason.value == reason.name.lower() == str(reason)
    assert re.fullmatch(r"[a-z0-9]+(?:_[a-z0-9]+)*", reason.value)
    assert re.fullmatch(r"[A-Z].*[^.]\.", reason.sentence)


def test_no_sentence_stands_twice():
    """Two reasons that say the same are one."""
    assert len({reason.sentence for reason in Reason}) == len(Reason)


def test_a_sentence_names_keys_as_they_are():
    """They come from names."""
    assert Reason.OPTED_OUT.sentence == f"The label {names.INJECT}: disabled opts this pod out."


def test_causes_are_kubernetes_own_words():
    """`kubectl` prints them as it does for built-in kinds."""
    assert [str(cause) for cause in Cause] == [
        "FieldValueInvalid",
        "FieldValueRequired",
        "FieldValueForbidden",
        "FieldValueNotSupported",
        "FieldValueDuplicate",
    ]


@pytest.mark.parametrize(
    "value",
    [
        Finding(Reason.BAD_OVERRIDE, Level.ERROR, "a", "b"),
        Request(object={}),
        Outcome("", ()),
        Allow(),
        Patch((), ()),
        Deny(()),
        Rule("own"),
        Policy("1.0"),
    ],
)
def test_values_are_frozen(value):
    """A decision cannot change after it was taken."""
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        value.path = "x"


def test_what_is_not_said_of_a_request():
    """A document of a manifest is created, in no namespace that is known."""
    said = Request(object={})
    assert (said.operation, said.namespace, said.labels, said.annotations) == ("CREATE", "", {}, {})
