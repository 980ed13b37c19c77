"""overrides: drainhook's annotations in a closed form, everything else a finding."""

from __future__ import annotations

import pytest

from webhook import names
from webhook.core.decision import Cause, Finding, Level, Reason
from webhook.core.overrides import SECONDS, Overrides, bad_value, label_findings, nearest, read, unknown_keys

PATH = "spec.template.metadata.annotations"


def bad(key, value, message, cause=Cause.INVALID, **changes):
    """Return the finding for a value that does not fit."""
    fields = {"level": Level.ERROR, "path": f"{PATH}[{key}]", **changes}
    return Finding(Reason.BAD_OVERRIDE, message=message, value=value, cause=cause, **fields)


def unread(key, message, path=PATH):
    """Return the finding for a key that nobody reads."""
    return Finding(Reason.UNKNOWN_KEY, Level.WARNING, f"{path}[{key}]", message, cause=Cause.NOT_SUPPORTED)


def test_without_annotations_everything_is_the_default():
    """Nothing asked for, nothing found."""
    assert read({}, {}, PATH) == Overrides()


def test_every_annotation_is_read():
    """Each key ends in its own field."""
    annotations = {
        names.CONTAINER: "main",
        names.PORT: "http",
        names.SETTLE: "0",
        names.DRAIN: "86400",
        names.RESERVE: "2",
        names.GRACE: "0300",
        names.HOOK: "sleep",
        names.EXISTING_HOOK: "chain",
        names.READINESS: "none",
        names.NATIVE_DRAIN: "enabled",
        names.IMAGE_TOOLS: "sh, curl",
        names.ELASTIC_CONFIG: "{}",
        names.STATUS: "{}",
        "example.com/other": "x",
    }
    assert read(annotations, {}, PATH) == Overrides(
        container="main",
        port="http",
        seconds={names.SETTLE: 0, names.DRAIN: 86400, names.RESERVE: 2, names.GRACE: 300},
        hook="sleep",
        existing_hook="chain",
        readiness="none",
        native_drain=True,
        tools=("sh", "curl"),
    )


@pytest.mark.parametrize(("key", "bounds"), SECONDS.items())
def test_seconds_may_be_both_bounds(key, bounds):
    """The range is closed."""
    assert [read({key: str(bound)}, {}, PATH).seconds for bound in bounds] == [{key: bound} for bound in bounds]


@pytest.mark.parametrize(
    ("key", "low", "high"),
    [(names.SETTLE, 0, 300), (names.DRAIN, 1, 86400), (names.RESERVE, 2, 600), (names.GRACE, 1, 87300)],
)
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-1",
        "+5",
        "5s",
        "5m",
        "1.5",
        "1e2",
        "0x5",
        "1_0",
        "\u0665",
        "99999999",
        "9" * 5000,
        "5 ",
        "5\n",
        '"5"',
        "$(X)",
    ],
)
def test_seconds_are_whole_numbers_in_range(key, low, high, text):
    """Signs, units, fractions, other digits and anything huge are findings, and count as absent."""
    message = f'must be whole seconds from {low} to {high}, such as "{low + 10}"'
    assert read({key: text}, {}, PATH) == Overrides(findings=[bad(key, text, message)])


@pytest.mark.parametrize(("key", "text"), [(names.SETTLE, "301"), (names.DRAIN, "0"), (names.RESERVE, "1")])
def test_seconds_outside_the_range_are_findings(key, text):
    """One below and one above do not fit."""
    found = read({key: text}, {}, PATH)
    assert (found.seconds, [item.value for item in found.findings]) == ({}, [text])


@pytest.mark.parametrize(
    ("key", "field", "default", "allowed"),
    [
        (names.HOOK, "hook", "auto", '"auto", "exec", "http", "sidecar", "sleep", "none"'),
        (names.EXISTING_HOOK, "existing_hook", "keep", '"keep", "chain", "replace"'),
        (names.READINESS, "readiness", "auto", '"auto", "none"'),
        (names.NATIVE_DRAIN, "native_drain", False, '"disabled", "enabled"'),
    ],
)
@pytest.mark.parametrize("text", ["", "Auto", "exec ", "true", "yes\nno", "'none'"])
def test_a_choice_is_one_of_its_words(key, field, default, allowed, text):
    """Any other word is a finding that names the words, and the default counts."""
    found = read({key: text}, {}, PATH)
    assert found.findings == [bad(key, text, f"supported values: {allowed}", Cause.NOT_SUPPORTED)]
    assert getattr(found, field) == default


@pytest.mark.parametrize(
    ("text", "tools"),
    [("none", ()), ("sh", ("sh",)), ("sh,curl", ("sh", "curl")), ("sh, python3 ", ("sh", "python3"))],
)
def test_tools_are_names(text, tools):
    """`none` says that the image holds nothing."""
    assert read({names.IMAGE_TOOLS: text}, {}, PATH).tools == tools


@pytest.mark.parametrize("text", ["", ",", "sh,", "sh;rm", "$(x)", "SH", "sh curl;", "-x", "none\n"])
def test_tools_that_are_no_names_are_a_finding(text):
    """Then the profile's tools count."""
    message = 'must be "none" or names such as "sh,curl"'
    found = read({names.IMAGE_TOOLS: text}, {}, PATH)
    assert (found.tools, found.findings) == (None, [bad(names.IMAGE_TOOLS, text, message)])


@pytest.mark.parametrize(
    ("pod", "namespace", "seconds"),
    [
        ({}, {names.DRAIN: "200"}, {names.DRAIN: 200}),
        ({names.DRAIN: "100"}, {names.DRAIN: "200"}, {names.DRAIN: 100}),
        ({names.SETTLE: "20"}, {names.DRAIN: "200"}, {names.SETTLE: 20, names.DRAIN: 200}),
        ({}, {names.HOOK: "none", names.PORT: "1", "x": "y"}, {}),
        ({}, {names.DRAIN: 200}, {}),
        ({}, {names.DRAIN: None}, {}),
    ],
)
def test_the_pods_annotations_beat_its_namespaces(pod, namespace, seconds):
    """Of a namespace only the budget counts here, and a value of another type counts as absent."""
    assert read(pod, namespace, PATH).seconds == seconds


def test_a_bad_value_on_the_pod_leaves_the_namespaces_in_force():
    """What does not fit counts as absent, so the next in line is used."""
    found = read({names.DRAIN: "long"}, {names.DRAIN: "200"}, PATH)
    assert (found.seconds, [item.level for item in found.findings]) == ({names.DRAIN: 200}, [Level.ERROR])


def test_a_bad_value_on_the_namespace_is_a_warning():
    """The object at hand is not at fault, so nothing may be denied for it."""
    message = 'of the Namespace: must be whole seconds from 1 to 86400, such as "11"'
    where = {"level": Level.WARNING, "path": f"metadata.annotations[{names.DRAIN}]"}
    assert read({}, {names.DRAIN: "x"}, PATH).findings == [bad(names.DRAIN, "x", message, **where)]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            f"{names.DOMAIN}/setle-seconds",
            f"unknown annotation; did you mean {names.SETTLE} or {names.RESERVE} or {names.DRAIN}?",
        ),
        (f"{names.DOMAIN}/{'q' * 80}", "unknown annotation"),
        (names.BACKEND, "is a label here"),
        (names.INJECT, "is a label here"),
    ],
)
def test_an_annotation_that_nobody_reads_is_said(key, message):
    """A misspelt one would do nothing, silently; the nearest names are offered."""
    assert read({key: "1"}, {}, PATH).findings == [unread(key, message)]


@pytest.mark.parametrize(
    ("labels", "findings"),
    [
        ({names.BACKEND: "own", names.INJECT: "disabled", "app": "x"}, []),
        ({names.INJECT: "enabled"}, []),
        ({names.PORT: "1"}, [unread(names.PORT, "is an annotation")]),
        (
            {f"{names.DOMAIN}/backnd": "own"},
            [unread(f"{names.DOMAIN}/backnd", f"unknown label; did you mean {names.BACKEND} or {names.INJECT}?")],
        ),
        (
            {names.INJECT: "false"},
            [bad(names.INJECT, "false", 'only "disabled" opts a pod out', Cause.NOT_SUPPORTED)],
        ),
    ],
)
def test_a_label_that_nobody_reads_is_said(labels, findings):
    """So is an opt-out that would not work."""
    assert label_findings(labels, PATH) == findings


@pytest.mark.parametrize("find", [unknown_keys, label_findings])
def test_near_names_are_looked_up_for_the_first_keys_only(find):
    """Thousands of keys cost a finding each, and no more."""
    found = find({f"{names.DOMAIN}/drain-second-{at}": "1" for at in range(1000)}, PATH)
    assert (len(found), len([item for item in found if "did you mean" in item.message])) == (1000, 10)


def test_a_name_that_the_pod_does_not_have_is_a_finding():
    """It reads like any other bad value."""
    assert bad_value(PATH, names.PORT, "x", "why") == bad(names.PORT, "x", "why")


@pytest.mark.parametrize(
    ("word", "text"),
    [("vlm", "; did you mean vllm?"), ("zzz", ""), ("", "")],
)
def test_the_nearest_words_are_offered(word, text):
    """Nothing near, nothing said."""
    assert nearest(word, ["vllm", "sglang"]) == text
