"""The schema in sentences: which file is a profile, and what a wrong one is told."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from webhook.catalog import shipped, shipped_text
from webhook.profile_check import check, has_field, schema
from webhook.profile_file import from_text

ROOT = Path(__file__).parents[2]

OWN = """\
title: Own
shutdown_class: A
match: {images: ["*own*"], commands: [own serve]}
http: {default: 9000}
host: {default: 0.0.0.0}
readiness: {path: /ready}
metrics:
  path: /metrics
tools: [sh]
"""

WRONG = [
    ("title: Own", "title: ''", 1, "title", '"" does not fit; right is: The engine\'s name for people'),
    ("title: Own", "title: 3", 1, "title", "must be text, not 3; put it in quotes"),
    ("title: Own\n", "", 1, "title", "is missing"),
    ("title: Own", "title: Own\nname: other", 2, "name", "must be the file's name, own, not other"),
    ("title: Own", "title: Own\nname: Own", 2, "name", '"Own" does not fit; right is: '),
    ("class: A", "class: E", 2, "shutdown_class", 'must be one of A, B, C, D, not "E"'),
    ("tools: [sh]", "toolz: [sh]\ntools: [sh]", 9, "toolz", "is no field; did you mean tools?"),
    ("tools: [sh]", "x9: 1\ntools: []", 9, "x9", "is no field; known here: base_path, budget"),
    ("tools: [sh]", "tools: [sh, sh]", 9, "tools", "holds a value twice"),
    ("tools: [sh]", "tools: [zsh]", 9, "tools[0]", 'must be one of sh, bash, curl, wget, python3, not "zsh"'),
    ('"*own*"', '"own:1"', 3, "match.images[0]", '"own:1" does not fit; right is: A glob over'),
    ('"*own*"', '"own@sha256:1"', 3, "match.images[0]", '"own@sha256:1" does not fit; right is: A glob over'),
    ("own serve", "own  serve", 3, "match.commands[0]", '"own  serve" does not fit; right is: Words that'),
    ("own serve]", "own serve], auto: 1", 3, "match.auto", "must be true or false, not 1"),
    ("default: 9000", "default: '9000'", 4, "http.default", 'must be a whole number or null, not "9000"'),
    ("default: 9000", "default: 65536", 4, "http.default", "65536 does not fit; right is: A TCP port, 1 to 65535"),
    ("default: 9000", "default: 1, flags: [port]", 4, "http.flags[0]", '"port" does not fit; right is: A flag'),
    ("default: 9000", "default: 1, env: [port]", 4, "http.env[0]", '"port" does not fit; right is: The name of an'),
    ("http: {default: 9000}", "http: {}", 4, "http.default", "is missing"),
    ("host: {default: 0.0.0.0}", "host: {}", 5, "host.default", "is missing"),
    ("path: /ready", "path: ready", 6, "readiness.path", '"ready" does not fit; right is: A path that starts with /'),
    ("path: /ready", "path: /r, min_seconds: 5", 6, "readiness.min_seconds", "5 does not fit; right is: Seconds that"),
    ("  path: /metrics", "  pth: /m", 7, "metrics.path", "is missing"),
    ("metrics:\n  path: /metrics", "metrics: 3", 7, "metrics", "3 does not fit; right is: The page of gauges"),
    ("/metrics\n", "/m\n  running: [a b]\n", 9, "metrics.running[0]", '"a b" does not fit; right is: A metric name'),
    ("/metrics\n", "/m\n  running: ['a{b=c}']\n", 9, "metrics.running[0]", '"a{b=c}" does not fit; right is: A metric'),
    ("/metrics\n", "/m\n  absent: zero\n", 9, "metrics.absent", 'must be one of idle, unknown, not "zero"'),
    ("/metrics\n", "/m\n  refresh_seconds: 5\n", 9, "metrics.refresh_seconds", "zeros must span more than refresh"),
    ("/metrics\n", "/m\n  idle_seconds: 0\n", 9, "metrics.idle_seconds", "0 does not fit; right is: Whole seconds, 1"),
    ("/metrics\n", "/m\n  port: {flags: [-p]}\n", 9, "metrics.port.default", "is missing"),
    (
        "tools: [sh]",
        "tools: []\nbudget: {settle: 301}",
        10,
        "budget.settle",
        "301 does not fit; right is: Whole seconds",
    ),
    ("tools: [sh]", "tools: []\nbudget: {drain: 0}", 10, "budget.drain", "0 does not fit; right is: Whole seconds, 1"),
    ("tools: [sh]", "tools: []\nbudget: {drain: 86401}", 10, "budget.drain", "86401 does not fit"),
    (
        "tools: [sh]",
        "tools: []\nbudget: {reserve: 1}",
        10,
        "budget.reserve",
        "1 does not fit; right is: Whole seconds, 2",
    ),
    ("tools: [sh]", "tools: []\nbudget: {reserve: 601}", 10, "budget.reserve", "601 does not fit"),
    ("tools: [sh]", "tools: []\nshutdown: {since: '1.2'}", 10, "shutdown", "since needs flag"),
    ("tools: [sh]", "tools: []\npost_start: {httpGet: {port: 1}}", 10, "post_start.httpGet.path", "is missing"),
    ("tools: [sh]", "tools: []\npost_start: []", 10, "post_start", "[] does not fit; right is: A command"),
    ("tools: [sh]", "tools: []\ndrain_endpoint: {path: '/d?s={x}'}", 10, "drain_endpoint.path", '"/d?s={x}" does not'),
    ("tools: [sh]", "tools: []\nunverified: {a.b: why}", 10, "unverified.a.b", "names no field of this profile"),
    ("tools: [sh]", "tools: []\nunverified: {A: why}", 10, "unverified", '"A" does not fit; right is: The path of a'),
]


def _faults(text: str):
    found = from_text(text, "own.yaml", "own")
    return check({"name": "own", **found.data}, found)


def test_the_schema_is_a_schema_and_the_smallest_profile_fits():
    Draft202012Validator.check_schema(schema())

    assert _faults(OWN) == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"), WRONG, ids=[f"{case[3]}-{case[1]}" for case in WRONG]
)
def test_a_wrong_value_is_told_at_its_line(old, new, line, field, message):
    assert OWN.count(old) == 1, "the case replaces exactly one text"

    faults = [fault for fault in _faults(OWN.replace(old, new)) if fault.field == field]

    assert [(fault.path, fault.line) for fault in faults] == [("own.yaml", line)]
    assert faults[0].message.startswith(message)


def test_all_faults_of_a_file_are_told_by_line():
    faults = _faults(OWN.replace("class: A", "class: E").replace("tools: [sh]", "tools: [zsh]\nfoo: 1"))

    assert [(fault.line, fault.field) for fault in faults] == [(2, "shutdown_class"), (9, "tools[0]"), (10, "foo")]


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_profile_fits_and_its_unverified_paths_exist(name):
    text = from_text(shipped_text(name), f"{name}.yaml", name)

    assert text.faults == ()
    assert check(text.data, text) == ()
    assert [path for path in text.data.get("unverified", {}) if not has_field(text.data, path)] == []


def _properties(node):
    """Yield name and definition of every field of the schema."""
    if isinstance(node, dict):
        for key, inner in node.get("properties", {}).items():
            yield key, inner
        for key, inner in node.items():
            if key != "else":
                yield from _properties(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _properties(inner)


def test_every_field_has_a_description_and_every_time_its_unit():
    definitions = schema()["$defs"]
    for name, field in _properties(schema()):
        described = field.get("description") or definitions[field["$ref"].rsplit("/", 1)[-1]]["description"]
        assert len(described) > 3, name
        if name.endswith("_seconds") or name in {"settle", "drain", "reserve"}:
            assert "seconds" in described.lower(), name


def test_the_docs_name_every_field():
    text = (ROOT / "docs/profiles.md").read_text("utf-8")
    rows = set(re.findall(r"^\| `([a-z_A-Z.]+)`", text, re.MULTILINE))

    assert {name for name, _ in _properties(schema())} - {row.rsplit(".", 1)[-1] for row in rows} == set()


def test_the_schema_file_is_formatted():
    path = ROOT / "webhook/profile.schema.json"

    assert path.read_text("utf-8") == json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
