"""command: how a container starts, and where a flag or a program stands in it."""

from __future__ import annotations

import pytest

from webhook.core.command import (
    MOST_IMAGE,
    Start,
    command_of,
    env_value,
    flag_value,
    has_words,
    is_image,
    is_on,
    repository,
    setting_value,
    start_of,
)
from webhook.core.profile import Match, Setting
from webhook.core.shell import MOST_EXPANDED, MOST_PROGRAMS


def words(*argv, **env):
    """Return a command line as it is read from a container."""
    return command_of(argv, env)


def argvs(**container):
    """Return the words of every program of a container."""
    return [item.argv for item in start_of(container).commands]


@pytest.mark.parametrize(
    ("container", "found", "by_shell", "by_image"),
    [
        ({}, [], False, True),
        ({"args": ["--port", "1"]}, [("--port", "1")], False, True),
        ({"args": ["serve", "m"]}, [("serve", "m")], False, True),
        ({"command": ["own"], "args": ["serve"]}, [("own", "serve")], False, False),
        ({"command": [], "args": None}, [], False, True),
        ({"command": ["env", "A=1", "own"]}, [("own",)], False, False),
        ({"command": ["env", "A=1"]}, [], False, False),
        ({"command": ["sh", "-c"], "args": ["own serve; other"]}, [("own", "serve"), ("other",)], True, False),
        ({"args": ["sh", "-c", "own serve"]}, [("own", "serve")], True, False),
        ({"args": ["python3", "-m", "own"]}, [("python3", "-m", "own")], False, False),
        ({"args": ["/usr/bin/python3.11", "x"]}, [("/usr/bin/python3.11", "x")], False, False),
        ({"args": ["/start.sh"]}, [("/start.sh",)], False, False),
        ({"command": ["/start.sh"]}, [("/start.sh",)], False, False),
        ({"command": ["sh", "-c", "# nothing"]}, [], True, False),
        ({"command": ["own", 8000, True]}, [("own", "8000", "True")], False, False),
    ],
)
def test_a_start_is_read_from_command_and_args(container, found, by_shell, by_image):
    """The image's own entry point runs only where neither a command nor a program as first argument stands."""
    start = start_of(container)
    assert ([item.argv for item in start.commands], start.by_shell, start.by_image) == (found, by_shell, by_image)


@pytest.mark.parametrize(
    ("env", "known", "unknown"),
    [
        (None, {}, set()),
        ([{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(C)"}], {"A": "1", "B": "1$(C)"}, set()),
        ([{"name": "B", "value": "$(A)"}, {"name": "A", "value": "1"}], {"A": "1", "B": "$(A)"}, set()),
        ([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}], {"A": "2"}, set()),
        ([{"name": "A", "valueFrom": {"secretKeyRef": {}}}], {}, {"A"}),
        ([{"name": "A", "value": "1"}, {"name": "A", "valueFrom": {"x": {}}}], {}, {"A"}),
        ([{"name": "A", "valueFrom": {"x": {}}}, {"name": "A", "value": "1"}], {"A": "1"}, set()),
        ([{"name": "A"}, {"name": "B", "value": None}], {"A": "", "B": ""}, set()),
        ([{"value": "1"}, "A", None, {"name": 1, "value": "1"}, {"name": "B", "value": 1}], {}, set()),
    ],
)
def test_variables_are_known_or_come_from_elsewhere(env, known, unknown):
    """A later entry of the same name counts, and a value from a Secret is unknown, never absent."""
    start = start_of({"env": env})
    assert (start.env, start.unknown_env) == (known, frozenset(unknown))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("$(P)", "9000"),
        ("--port=$(P)", "--port=9000"),
        ("$(P)$(P)", "90009000"),
        ("$(N)", "$(N)"),
        ("$$(P)", "$(P)"),
        ("$$", "$"),
        ("$P", "$P"),
        ("$", "$"),
        ("$(P", "$(P"),
        ("$()", "$()"),
        ("$(P P)", "$(P P)"),
    ],
)
def test_references_are_expanded_as_the_kubelet_does(text, read):
    """`$(NAME)` becomes its value, an unknown one stays, and `$$` is a literal `$`."""
    assert argvs(command=["own", text], env=[{"name": "P", "value": "9000"}]) == [("own", read)]


def test_references_reach_into_a_shell_string():
    """The kubelet expands before any shell runs."""
    env = [{"name": "P", "value": "9000"}]
    assert argvs(command=["sh", "-c", "own --port $(P)"], env=env) == [("own", "--port", "9000")]


@pytest.mark.parametrize(
    ("env", "env_from", "read"),
    [
        ([{"name": "P", "value": "9000"}], None, "9000"),
        ([{"name": "P", "valueFrom": {"secretKeyRef": {}}}], None, "${P}"),
        ([], None, "8000"),
        ([], [{"secretRef": {"name": "s"}}], "${P:-8000}"),
    ],
)
def test_a_default_counts_only_where_nothing_else_can_be_set(env, env_from, read):
    """`${P:-8000}` is 8000 unless a Secret or an `envFrom` may say otherwise."""
    container = {"command": ["sh", "-c", "own ${P:-8000}"], "env": env, "envFrom": env_from}
    assert argvs(**container) == [("own", read)]


def test_references_cannot_grow_without_limit():
    """Variables that double each other would be a gigabyte; they stay as text from a limit on."""
    env = [{"name": "A0", "value": "xxxxxxxx"}]
    env += [{"name": f"A{at}", "value": f"$(A{at - 1})$(A{at - 1})"} for at in range(1, 20)]
    start = start_of({"env": env, "args": ["$(A19)"]})
    assert sum(len(value) for value in start.env.values()) <= 2 * MOST_EXPANDED


def test_shells_within_shells_yield_a_bounded_number_of_programs():
    """Thousands of short commands, nested too, cost no more than the limit."""
    assert len(argvs(command=["sh", "-c", "sh -c 'a;a;a;a';" * 3_000])) == MOST_PROGRAMS


@pytest.mark.parametrize(
    ("argv", "pattern", "found"),
    [
        (("own", "serve"), "own serve", True),
        (("/opt/bin/own", "serve", "m"), "own serve", True),
        (("tini", "--", "own", "serve"), "own serve", True),
        (("python3", "-u", "-m", "own.server"), "-m own.server", True),
        (("python3", "-mown.server"), "-m own.server", False),
        (("own", "x", "serve"), "own serve", False),
        (("own",), "own serve", False),
        (("serve", "own"), "own serve", False),
        (("myown", "serve"), "own serve", False),
        (("own-serve",), "own serve", False),
        ((), "own serve", False),
        (("own",), "own", True),
        (("/usr/bin/own",), "own", True),
        (("tini", "--", "own"), "own", True),
        (("numactl", "--interleave=all", "own"), "own", True),
        (("mpirun", "-n", "1", "own"), "own", True),
        (("x", "--model", "own"), "own", False),
        (("x", "-m", "own"), "own", False),
        (("x", "--model=own"), "own", False),
        (("own", "--headless"), "--headless", True),
        (("own", "--headless=false"), "--headless", False),
        (("own", "serve"), "--headless", False),
    ],
)
def test_a_program_is_recognised_by_words_that_stand_together(argv, pattern, found):
    """The program's path is ignored, and the value of an option is no program."""
    assert has_words(words(*argv), pattern) is found


def test_the_first_program_that_matches_is_the_server():
    """A profile's command finds its program among several, and what follows is the last resort."""
    start = start_of({"command": ["sh", "-c", "prepare; own serve --port 1; report"]})
    found = start.find(Match((), ("own serve",)))
    assert (found.argv, start.last.argv) == (("own", "serve", "--port", "1"), ("report",))


def test_nothing_is_found_where_no_program_matches():
    """A start without a program has neither a match nor a last program with words."""
    start = start_of({})
    assert (start.find(Match((), ("own serve",))), start.last.argv) == (None, ())
    assert start == Start((), by_shell=False, by_image=True, env={}, unknown_env=frozenset())


@pytest.mark.parametrize(
    ("argv", "value"),
    [
        (("--port", "8000"), "8000"),
        (("--port=8000",), "8000"),
        (("--port=",), ""),
        (("--port", "1", "--port=2"), "2"),
        (("-p", "1", "--port", "2"), "2"),
        (("--port", "1", "-p", "2"), "2"),
        (("--port",), None),
        (("--port", "-1"), "-1"),
        (("--port", "--host"), None),
        (("--port", "-x"), "-x"),
        (("--ports", "1"), None),
        (("port", "1"), None),
        ((), None),
    ],
)
def test_a_flag_has_the_value_of_its_last_place(argv, value):
    """`--port N` and `--port=N` are the same, the last of all spellings wins, and a last word has no value."""
    assert flag_value(words(*argv), ("--port", "-p")) == value


@pytest.mark.parametrize("spelling", ["--http_port", "--http-port"])
@pytest.mark.parametrize("asked", ["--http_port", "--http-port"])
def test_dashes_and_underscores_in_a_flag_are_the_same(spelling, asked):
    """Engines' parsers take both spellings."""
    assert flag_value(words(spelling, "1"), (asked,)) == "1"


def test_a_flag_longer_than_any_is_kept_as_it_is():
    """What no profile can ask for is not kept in a cache, and harms nothing."""
    assert flag_value(words("--" + "x" * 1000, "1", "--port", "2"), ("--port",)) == "2"


@pytest.mark.parametrize(
    ("argv", "on"),
    [
        (("--metrics",), True),
        (("--metrics", "false"), True),
        (("--metrics=true",), True),
        (("--metrics=",), True),
        (("--metrics=false",), False),
        (("--metrics=False",), False),
        (("--metrics=0",), False),
        (("--metrics-path",), False),
        (("metrics",), False),
    ],
)
def test_a_switch_is_on_unless_it_says_false(argv, on):
    """A switch needs no value; only `=false` and `=0` turn it off."""
    assert is_on(words(*argv), ("--other", "--metrics")) is on


@pytest.mark.parametrize(
    ("command", "value"),
    [
        (words("--port", "1", OWN_PORT="2"), "1"),
        (words("--port", OWN_PORT="2"), "2"),
        (words(OWN_PORT="2", PORT="3"), "2"),
        (words(PORT="3"), "3"),
        (words(OWN_PORT=""), ""),
        (words(OTHER="4"), None),
    ],
)
def test_flags_beat_variables(command, value):
    """A setting is read from its flags first, then from its variables in their order."""
    assert setting_value(command, Setting(("--port",), ("OWN_PORT", "PORT"))) == value


def test_a_variable_that_is_not_set_is_none():
    """An empty variable is set, a missing one is not."""
    assert (env_value(words(A=""), ("A",)), env_value(words(A=""), ("B",))) == ("", None)


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("own", "own"),
        ("own:1", "own"),
        ("team/own:1", "team/own"),
        ("ghcr.io:5000/team/own", "ghcr.io:5000/team/own"),
        ("ghcr.io:5000/team/own:1@sha256:0a", "ghcr.io:5000/team/own"),
        ("own@sha256:0a", "own"),
        ("", ""),
    ],
)
def test_a_repository_is_an_image_without_tag_and_digest(image, name):
    """A registry's port is no tag."""
    assert repository(image) == name


@pytest.mark.parametrize(
    ("image", "match"),
    [
        ("own/server:1", True),
        ("ghcr.io/own/server@sha256:0a", True),
        ("own/server-extra:1", False),
        ("OWN/SERVER", False),
        ("server", False),
        ("", False),
        ("own/server" + "x" * 1_000_000, False),
        ("a/" * MOST_IMAGE + "own/server", False),
    ],
)
def test_an_image_is_matched_by_its_repository(image, match):
    """Globs see neither tag nor digest, and no more of a name than an image can have."""
    assert is_image(image, ("nothing", "*own/server")) is match
