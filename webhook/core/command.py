"""Reads how a container is started: words, shell strings, environment; and where a flag or a program stands in it.

Nothing about an engine is known here: what to look for comes from profiles. A value that can't be known at admission
(a variable from a Secret, a configuration file) stays as text that is no number, so that nobody guesses.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from webhook.core.profile import Json, Match, Setting
from webhook.core.shell import MOST_EXPANDED, MOST_PROGRAMS, programs, script_of, without_prefixes

MOST_FLAG = 80  # characters of a flag that may be one; the cache must not keep what a manifest holds
MOST_IMAGE = 1024  # characters of an image's name that are looked at
_PROGRAM = re.compile(r"(?:^|/)python[0-9.]*$|\.(?:py|sh)$")  # as the first word of args: no argument of an engine
_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command line: its place, its value (`--a=v`, else the next word), and whether `=` was written."""

    place: int
    value: str | None
    is_joined: bool


@dataclass(frozen=True, slots=True)
class Command:
    """One program of a container: its words, whether it replaces the shell that starts it, its environment."""

    argv: tuple[str, ...]
    replaces_shell: bool
    env: Mapping[str, str]
    options: Mapping[str, Option]


@dataclass(frozen=True, slots=True)
class Start:
    """How a container starts: its programs, whether a shell is PID 1, whether the image's own entry point runs.

    `env` are the literal variables, `unknown_env` the names whose value comes from elsewhere (Secret, field).
    """

    commands: tuple[Command, ...]
    by_shell: bool
    by_image: bool
    env: Mapping[str, str]
    unknown_env: frozenset[str]

    def find(self, match: Match) -> Command | None:
        """Return the program that a profile's `commands` recognise."""
        for command in self.commands:
            if any(has_words(command, words) for words in match.commands):
                return command
        return None

    @property
    def last(self) -> Command:
        """The program that a container most likely stays with."""
        return self.commands[-1] if self.commands else command_of((), self.env)


def start_of(container: Json) -> Start:
    """Read command, args and environment of a container."""
    env, unknown = _environment(container)
    command, references = container.get("command") or [], _References(env)
    words = [references.expand(str(word)) for word in (*command, *(container.get("args") or ()))]
    script = script_of(words)
    if script is None:
        program, assigned, _ = without_prefixes(words)
        found = [command_of(tuple(program), env | assigned if assigned else env)] if program else []
    else:
        scope = env | {name: f"${{{name}}}" for name in unknown}
        run = islice(programs(script, scope, is_open=bool(container.get("envFrom"))), MOST_PROGRAMS)
        found = [command_of(item.words, item.env, replaces_shell=item.replaces_shell) for item in run]
    is_program = script is not None or (bool(words) and _PROGRAM.search(words[0]) is not None)
    return Start(tuple(found), script is not None, not command and not is_program, env, unknown)


def _environment(container: Json) -> tuple[dict[str, str], frozenset[str]]:
    """Literal variables with `$(NAME)` expanded, and the names whose value is not written here."""
    known: dict[str, str] = {}
    unknown: set[str] = set()
    references = _References(known)
    for item in container.get("env") or []:
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str):
            continue
        value = item.get("value")
        if item.get("valueFrom"):  # of several entries with one name the last one counts
            unknown.add(name)
            known.pop(name, None)
        elif isinstance(value, str | None):  # the API server drops an empty value: the name alone is a variable too
            known[name] = references.expand(value or "")
            unknown.discard(name)
    return known, frozenset(unknown)


class _References:
    """Expands `$(NAME)` as the kubelet does; an unknown name stays as it is, `$$` is a literal `$`.

    What all expansions of a container add is limited: twenty variables that double each other are a gigabyte.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env, self.room = env, MOST_EXPANDED

    def expand(self, text: str) -> str:
        """Expand the references in one text."""
        return _REFERENCE.sub(self._value, text) if "$" in text else text

    def _value(self, found: re.Match[str]) -> str:
        if found[1] is None:
            return "$"
        value = self.env.get(found[1])
        if value is None or len(value) > self.room:
            return found[0]
        self.room -= len(value)
        return value


def command_of(argv: tuple[str, ...], env: Mapping[str, str], *, replaces_shell: bool = True) -> Command:
    """Index the options of a command line; the last of several wins."""
    options = {}
    for place, word in enumerate(argv):
        if word.startswith("-"):
            name, joined, value = word.partition("=")
            following = argv[place + 1] if place + 1 < len(argv) and argv[place + 1][:2] != "--" else None
            options[_flag_name(name) if len(name) < MOST_FLAG else name] = Option(
                place, value if joined else following, bool(joined)
            )
    return Command(argv, replaces_shell, env, options)


@lru_cache(maxsize=4096)
def _flag_name(name: str) -> str:
    """`--a_b` is `--a-b`: engines' parsers take both spellings."""
    return name.replace("_", "-") if name.startswith("--") else name


@lru_cache(maxsize=4096)
def _pattern(words: str) -> tuple[str, tuple[str, ...]]:
    """Split a pattern of a profile into its first word and the rest."""
    first, *rest = words.split()
    return first, tuple(rest)


def has_words(command: Command, words: str) -> bool:
    """Say whether words stand next to each other; a program's path is ignored, an option's value is no program."""
    first, rest = _pattern(words)
    if not rest and first.startswith("-"):
        return is_on(command, (first,))
    argv = command.argv
    for index, word in enumerate(argv):
        if not word.endswith(first) or word.rsplit("/", 1)[-1] != first:
            continue
        if rest:
            if argv[index + 1 : index + 1 + len(rest)] == rest:
                return True
        elif index == 0 or argv[index - 1] == "--" or "=" in argv[index - 1] or argv[index - 1][:1] != "-":
            return True
    return False


def flag_value(command: Command, flags: tuple[str, ...]) -> str | None:
    """Return the value of the last of these flags (`--port N`, `--port=N`), or None."""
    last: Option | None = None
    for flag in flags:
        option = command.options.get(_flag_name(flag))
        if option is not None and (last is None or option.place > last.place):
            last = option
    return last.value if last else None


def is_on(command: Command, flags: tuple[str, ...]) -> bool:
    """Say whether one of these switches is given and not `=false`."""
    for flag in flags:
        option = command.options.get(_flag_name(flag))
        if option is not None and not (option.is_joined and (option.value or "").lower() in {"false", "0"}):
            return True
    return False


def setting_value(command: Command, setting: Setting) -> str | None:
    """Return what is set by flag, else by environment, or None."""
    value = flag_value(command, setting.flags)
    if value is not None:
        return value
    return env_value(command, setting.env)


def env_value(command: Command, variables: tuple[str, ...]) -> str | None:
    """Return the value of the first of these variables that is set, or None."""
    for name in variables:
        if name in command.env:
            return command.env[name]
    return None


@lru_cache(maxsize=4096)
def repository(image: str) -> str:
    """Return the image without tag and digest."""
    name = image.split("@", 1)[0]
    head, _, tail = name.rpartition("/")
    return f"{head}/{tail.split(':', 1)[0]}" if head else tail.split(":", 1)[0]


def is_image(image: str, globs: tuple[str, ...]) -> bool:
    """Say whether the image's repository matches one of the globs."""
    return _is_image(image[:MOST_IMAGE], globs)


@lru_cache(maxsize=4096)
def _is_image(image: str, globs: tuple[str, ...]) -> bool:
    name = repository(image)
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)
