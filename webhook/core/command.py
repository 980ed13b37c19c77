"""Reads how a container is started: words, shell strings, environment; and where a flag or a program stands in it.

Nothing about an engine is known here: what to look for comes from profiles. A value that can't be known at admission
(a variable from a Secret, a configuration file) stays as text that is no number, so that nobody guesses.
"""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from webhook.core.profile import Json, Match, Setting

_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh", "ksh", "mksh"})
_PREFIXES = frozenset({"exec", "nohup", "time", "env", "command"})
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_SHELL_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::?[-=]([^}$]*))?\})")


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
    command = [str(word) for word in container.get("command") or []]
    words = [_expand(word, env) for word in command + [str(word) for word in container.get("args") or []]]
    script = _shell_script(words)
    found: tuple[Command, ...]
    if script is None:
        found = (command_of(tuple(words), env),) if words else ()
    else:
        found = tuple(_shell_commands(script, env))
    return Start(found, script is not None, not command, env, unknown)


def _environment(container: Json) -> tuple[dict[str, str], frozenset[str]]:
    """Literal variables with `$(NAME)` expanded, and the names whose value is not written here."""
    known: dict[str, str] = {}
    unknown: set[str] = set()
    for item in container.get("env") or []:
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            if isinstance(item.get("value"), str):
                known[item["name"]] = _expand(item["value"], known)
            elif item.get("valueFrom"):
                unknown.add(item["name"])
    return known, frozenset(unknown)


def _expand(text: str, env: Mapping[str, str]) -> str:
    """Expand `$(NAME)` as the kubelet does; an unknown name stays as it is, `$$` is a literal `$`."""
    if "$" not in text:
        return text
    return _REFERENCE.sub(lambda found: env.get(found[1], found[0]) if found[1] else "$", text)


def _shell_script(words: list[str]) -> str | None:
    """Return the script of `sh -c SCRIPT`, also behind `env` and with other options before `-c`."""
    for index, word in enumerate(words[:3]):
        if word.rsplit("/", 1)[-1] in _SHELLS:
            rest = words[index + 1 :]
            for position, option in enumerate(rest[:-1]):
                if re.fullmatch(r"-[a-z]*c[a-z]*", option):
                    return rest[position + 1]
                if not option.startswith(("-", "+")) and (position == 0 or rest[position - 1] not in {"-o", "+o"}):
                    break
    return None


def _shell_commands(script: str, env: Mapping[str, str]) -> Iterable[Command]:
    """Split a shell string into its simple commands; assignments before and between them count."""
    scope = dict(env)
    for segment in _segments(script):
        words = [_shell_expand(word, scope) for word in segment]
        local = dict(scope)
        replaces = False
        while words and (words[0] in _PREFIXES or _ASSIGNMENT.fullmatch(words[0])):
            assigned = _ASSIGNMENT.fullmatch(words[0])
            if assigned:
                local[assigned[1]] = assigned[2]
            replaces = replaces or words[0] == "exec"
            words = words[1:]
        if not words or words[0] in {"export", "set"}:
            scope |= local
            scope |= {found[1]: found[2] for word in words[1:] if (found := _ASSIGNMENT.fullmatch(word))}
            continue
        yield command_of(tuple(words), local, replaces_shell=replaces)


def _segments(script: str) -> list[list[str]]:
    """Words of each simple command. A string that no shell could read is split at blanks."""
    text = re.sub(r"\\\r?\n", " ", script)
    text = re.sub(r"(?m)^\s*#.*$", "", text).replace("\n", " ; ")
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        words = text.split()
    segments: list[list[str]] = [[]]
    skipping = False
    for word in words:
        if set(word) <= set(";&|()"):
            segments.append([])
            skipping = False
        elif set(word) <= set("<>&"):
            skipping = True  # a redirection and its target are no words of the program
        elif skipping:
            skipping = False
        else:
            segments[-1].append(word)
    return [segment for segment in segments if segment]


def _shell_expand(word: str, env: Mapping[str, str]) -> str:
    """Expand `$NAME`, `${NAME}` and `${NAME:-default}`; what is unknown stays as it is."""
    if "$" not in word:
        return word
    return _SHELL_VARIABLE.sub(lambda found: env.get(found[1] or found[2], found[3] or found[0]), word)


def command_of(argv: tuple[str, ...], env: Mapping[str, str], *, replaces_shell: bool = True) -> Command:
    """Index the options of a command line; the last of several wins."""
    options = {}
    for place, word in enumerate(argv):
        if word.startswith("-"):
            name, joined, value = word.partition("=")
            following = argv[place + 1] if place + 1 < len(argv) else None
            options[_flag_name(name)] = Option(place, value if joined else following, bool(joined))
    return Command(argv, replaces_shell, env, options)


def _flag_name(name: str) -> str:
    """`--a_b` is `--a-b`: engines' parsers take both spellings."""
    return name.replace("_", "-") if name.startswith("--") else name


_split = lru_cache(maxsize=1024)(str.split)  # of patterns only, which come from profiles


def has_words(command: Command, words: str) -> bool:
    """Say whether words stand next to each other; a program's path is ignored, an option's value is no program."""
    first, *rest = _split(words)
    if not rest and first.startswith("-"):
        return is_on(command, (first,))
    argv = command.argv
    for index, word in enumerate(argv):
        if word.endswith(first) and word.rsplit("/", 1)[-1] == first:
            if rest:
                if list(argv[index + 1 : index + 1 + len(rest)]) == rest:
                    return True
            elif index == 0 or argv[index - 1] == "--" or not argv[index - 1].startswith("-"):
                return True
    return False


def flag_value(command: Command, flags: tuple[str, ...]) -> str | None:
    """Return the value of the last of these flags (`--port N`, `--port=N`), or None."""
    found = [option for flag in flags if (option := command.options.get(_flag_name(flag))) is not None]
    return max(found, key=lambda option: option.place).value if found else None


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
    return next((command.env[name] for name in setting.env if name in command.env), None)


@lru_cache(maxsize=4096)
def repository(image: str) -> str:
    """Return the image without tag and digest."""
    name = image.split("@", 1)[0]
    head, _, tail = name.rpartition("/")
    return f"{head}/{tail.split(':', 1)[0]}" if head else tail.split(":", 1)[0]


@lru_cache(maxsize=4096)
def is_image(image: str, globs: tuple[str, ...]) -> bool:
    """Say whether the image's repository matches one of the globs."""
    name = repository(image)
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)
