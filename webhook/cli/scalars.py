"""What a plain YAML scalar means to Kubernetes: the rules of sigs.k8s.io/yaml, not those of YAML 1.1 or of PyYAML.

`on` and `y` are booleans, `0o17` and `0123` are octal, dates and `22:22` stay text, `1e3` is 1000. Text of documents
is not read here, only single scalars.
"""

from __future__ import annotations

import re
from typing import Final

from webhook.core.profile import Json

TEXT: Final = "text"
"""Tag of a scalar that is a string. Compared by identity: it is the answer for nine scalars of ten."""

MERGE: Final = ("<<",)
"""Tag of the merge key. Any other tuple holds the value that the scalar stands for."""

Tag = str | tuple[Json]

_WORDS: Final[dict[str, Tag]] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], (True,)),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], (False,)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (None,)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (float("nan"),)),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), (float("inf"),)),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (float("-inf"),)),
    "<<": MERGE,
}
FIRST: Final = frozenset("yYnNtTfFoO~+-.0123456789<")
"""What a plain scalar that is no text begins with."""

_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASES: Final = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}
_LONGEST: Final = 64
_EXACT: Final = float(1 << 53)  # up to here a float and a whole number are the same thing
_UINT64: Final = 1 << 64
_INT64: Final = -(1 << 63)


def tag_of(text: str) -> Tag:
    """Return TEXT, MERGE, or a tuple with the value that a plain (unquoted, untagged) scalar stands for."""
    if text and text[0] not in FIRST:
        return TEXT
    word = _WORDS.get(text)
    if word is not None:
        return word
    return _number(text) if text[0] in "+-.0123456789" else TEXT


def _number(text: str) -> Tag:
    plain = text.replace("_", "")
    integer = _INTEGER.fullmatch(plain)
    if integer and len(plain) <= _LONGEST:
        base = integer.lastgroup or "dec"
        value = int(integer[1] + integer[base], _BASES[base])
        if _INT64 <= value < _UINT64:
            return (value,)
    if not _FLOAT.fullmatch(plain):
        return TEXT
    number = float(plain)
    if number in (float("inf"), float("-inf")):
        # Digits alone are a number that no JSON field can hold; with an exponent Go gives up and keeps the text.
        return (number,) if plain.lstrip("+-").isdigit() else TEXT
    return (shortest(number),)


def shortest(number: float) -> int | float:
    """Return a float as the number that reaches the API server: whole ones arrive without a fraction (1e3 as 1000)."""
    return int(number) if number.is_integer() and abs(number) <= _EXACT else number
