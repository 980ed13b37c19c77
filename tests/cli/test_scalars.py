"""Plain scalars mean what sigs.k8s.io/yaml 1.6.0 makes of them; each row is its answer."""

from __future__ import annotations

import json

import pytest

from webhook.cli.tree import read

ORACLE = [
    ("y", "true"), ("N", "false"), ("on", "true"), ("Off", "false"), ("yes", "true"), ("TRUE", "true"),
    ("nUll", '"nUll"'), ("~", "null"), ("Null", "null"), ("~a", '"~a"'), ("", "null"),
    ("0123", "83"), ("0o17", "15"), ("0O17", "15"), ("0b11", "3"), ("-0b11", "-3"), ("0x1F", "31"), ("-0x1f", "-31"),
    ("1_000", "1000"), ("1__0", "10"), ("0_7", "7"), ("+5", "5"), ("-0", "0"), ("00", "0"), ("08", "8"), ("09", "9"),
    ("0o8", '"0o8"'), ("0x", '"0x"'), ("0b2", '"0b2"'), ("_1", '"_1"'),
    ("1e3", "1000"), ("1e+3", "1000"), ("+1e3", "1000"), ("1.", "1"), ("0.", "0"), ("1.0", "1"), ("1.e3", "1000"),
    (".5", "0.5"), ("+.5", "0.5"), ("1_0.5", "10.5"), ("08.5", "8.5"), ("1.5e3", "1500"), ("0.1e-7", "1e-08"),
    ("1e", '"1e"'), (".5e", '".5e"'), (".", '"."'), ("+", '"+"'), ("1e3.5", '"1e3.5"'), ("1e400", '"1e400"'),
    ("9007199254740993", "9007199254740993"), ("12345678901234567890", "12345678901234567890"),
    ("123456789012345678901234567890", "1.2345678901234568e+29"),
    ("2024-01-01", '"2024-01-01"'), ("2024-1-1", '"2024-1-1"'), ("2001-12-14t21:59:43Z", '"2001-12-14t21:59:43Z"'),
    ("12:30:45", '"12:30:45"'), ("22:22", '"22:22"'), ("=", '"="'), ("<<", '"<<"'), ("-.inf0", '"-.inf0"'),
    ("!!str 1", '"1"'), ("!foo bar", '"bar"'), ('!!int "3"', "3"), ("!!float 3", "3"), ("!!binary aGk=", '"hi"'),
    ("!!bool yes", "true"), ('!!null ""', "null"), ("!!timestamp 2024-01-01", '"2024-01-01"'), ("!!str", '""'),
]  # fmt: skip

KEYS = [
    ("on", "true"),
    ("0x10", "16"),
    ("1.5", "1.5"),
    ("no", "false"),
    ("8080", "8080"),
    ('"on"', "on"),
    ("y", "true"),
]


@pytest.mark.parametrize(("text", "expected"), ORACLE)
def test_a_plain_scalar_is_read_as_kubernetes_reads_it(text, expected):
    value = read(f"- {text}\n").value[0]
    assert json.dumps(value) == expected


@pytest.mark.parametrize(("text", "expected"), KEYS)
def test_a_key_becomes_the_string_that_json_has(text, expected):
    assert read(f"{text}: v\n").value == {expected: "v"}


def test_quotes_and_blocks_are_always_text():
    assert read("- '1'\n- \"on\"\n- |-\n  on\n- >-\n  1\n").value == ["1", "on", "on", "1"]
