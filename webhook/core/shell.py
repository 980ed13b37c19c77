"""Splits a shell string into the programs that it starts, as far as that can be known without running it.

One pass from left to right over a bounded text: quotes, variables, redirections, here-documents, nested `sh -c`.
What only a run can tell (`$(...)`, a variable set elsewhere or under a condition) stays as text with its `$`.
Nothing here knows an engine, a flag or a pod.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MOST_CHARACTERS = 65_536  # what comes later is not read, so that no manifest costs more than a moment
MOST_PROGRAMS = 256
MOST_EXPANDED = 65_536  # characters that variables may add: twenty that double each other are a gigabyte
_NESTED = 3  # shells within shells, and defaults within defaults

_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh", "ksh", "mksh"})
_PREFIXES = frozenset({"exec", "nohup", "time", "env", "command"})
_SETTERS = frozenset({"export", "set", "declare", "typeset", "readonly", "local"})
_QUIET = frozenset({"echo", "printf", "which", "type", "hash", "trap", "wait", "cd", "test", "[", "[[", "pip", "pkill"})
_OPENING = frozenset({"if", "while", "until"})
_LISTS = frozenset({"for", "case", "select"})  # what follows is no program
_CLOSING = frozenset({"fi", "done", "esac"})
_BETWEEN = frozenset({"then", "do", "else", "elif", "{", "}", "!"})
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_TOKEN = re.compile(
    r"""
    (?P<joined>\\\r?\n) | (?P<blank>[ \t\r]+)
  | (?P<redirect>&>>?|<<<|<<-?|[<>]&|>>|>\||<>|[<>])
  | (?P<end>\n|;;&?|;&|&&|\|\||\|&|[;()|&])
  | '(?P<single>[^']*)' | "(?P<double>[^"\\]*(?:\\.[^"\\]*)*)" | \\(?P<escaped>.)
  | (?P<variable>\$(?:[A-Za-z_]\w*|[0-9@*])|\$\{|\$\(|`)
  | (?P<plain>[^\s;&|()<>'"\\$`#]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_IN_QUOTES = re.compile(r"\\[$`\"\\]|\\\n|\$(?:[A-Za-z_]\w*|[0-9@*])|\$\{|\$\(|`")
_BRACED = re.compile(r"([A-Za-z_]\w*|[0-9@*])(?:(:?[-=+?])(.*))?", re.DOTALL)
_NEST = {"${": re.compile(r"\\.|'[^']*'|[{}]", re.DOTALL), "$(": re.compile(r"\\.|'[^']*'|[()]", re.DOTALL)}
_CLOSES = frozenset({")", "}"})


@dataclass(frozen=True, slots=True)
class Program:
    """One simple command: its words, the variables that it sees, whether it replaces the shell that starts it."""

    words: tuple[str, ...]
    env: Mapping[str, str]
    replaces_shell: bool


def script_of(words: list[str]) -> list[str] | None:
    """Return `[SCRIPT, $0, $1, …]` of `sh -c SCRIPT …`, also behind `env` or an init; None where no shell gets one."""
    for index, word in enumerate(words[:6]):
        if word.rsplit("/", 1)[-1] in _SHELLS:
            return _operands(words[index + 1 :])
    return None


def _operands(words: list[str]) -> list[str] | None:
    """Skip the options of a shell; what follows is a script only if one of them holds `c`."""
    has_script, position = False, 0
    while position < len(words) and words[position][:1] in {"-", "+"}:
        option = words[position]
        is_short = re.fullmatch(r"[-+][A-Za-z]+", option) is not None
        has_script = has_script or (is_short and option[0] == "-" and "c" in option)
        takes_value = (is_short and option[-1] in "oO") or option in {"--rcfile", "--init-file"}
        position += 2 if takes_value else 1
    return words[position:] if has_script and position < len(words) else None


def without_prefixes(words: list[str]) -> tuple[list[str], dict[str, str], bool]:
    """Return the program's own words, the assignments before it, and whether `exec` is among its prefixes."""
    assigned: dict[str, str] = {}
    replaces, start = False, 0
    while start < len(words):
        found, name = _ASSIGNMENT.fullmatch(words[start]), words[start].rsplit("/", 1)[-1]
        if found is None and name not in _PREFIXES:
            break
        start += 1
        if found is not None:
            assigned[found[1]] = found[2]
            continue
        replaces = replaces or name == "exec"
        while name == "env" and start < len(words) and words[start].startswith("-"):
            start += 2 if words[start] in {"-u", "-C"} else 1
    return words[start:], assigned, replaces


def programs(script: list[str], env: Mapping[str, str], *, is_open: bool = False, nested: int = 0) -> Iterator[Program]:
    """Yield the programs of `[SCRIPT, $0, $1, …]` in order.

    `env` are the variables that the shell gets; `is_open` says that it may get others too, so that no default of an
    unset one counts.
    """
    reader = _Reader(dict(env), script[1:], is_open=is_open)
    for count, found in enumerate(reader.read(script[0][:MOST_CHARACTERS])):
        inner = _inner(found.words) if nested < _NESTED else None
        if inner is None:
            yield found
        else:
            for program in programs(inner, found.env, is_open=is_open, nested=nested + 1):
                replaces = found.replaces_shell and program.replaces_shell
                yield Program(program.words, program.env, replaces_shell=replaces)
        if count >= MOST_PROGRAMS:
            return


def _inner(words: tuple[str, ...]) -> list[str] | None:
    return [" ".join(words[1:])] if words[0] == "eval" else script_of(list(words))


class _Reader:
    """Reads one script: the words of the command at hand, the variables so far, and how deep in conditions it is."""

    def __init__(self, scope: dict[str, str], positional: list[str], *, is_open: bool) -> None:
        self.scope = scope
        self.arguments = positional[1:]
        self.special = {str(number): word for number, word in enumerate(positional[:10])}
        self.special["@"] = self.special["*"] = " ".join(self.arguments)
        self.is_open, self.room = is_open, MOST_EXPANDED
        self.words: list[str] = []
        self.word: str | None = None
        self.redirect = ""  # the operator whose target comes next
        self.here: list[tuple[str, bool]] = []  # here-documents that begin at the next line: (delimiter, is indented)
        self.depth = 0
        self.before, self.was_test = "", False

    def read(self, text: str) -> Iterator[Program]:
        """Yield the programs of a script."""
        place = 0
        while found := _TOKEN.match(text, place):
            kind, mark, place = found.lastgroup or "", found[0], found.end()
            if kind in {"blank", "end", "redirect"}:
                if kind == "redirect" and self.word is not None and self.word.isdigit():
                    self.word = None  # the number of a file, as in 2>&1
                self._close_word()
            if kind == "end":
                yield from self._close_command(mark)
                place = self._skip_documents(text, place) if mark == "\n" else place
            elif kind == "redirect":
                self.redirect = mark
            elif mark == "#" and self.word is None:
                place = _or_end(text.find("\n", place), text)
            elif kind == "variable":
                place = self._variable(text, found.start(), place)
            elif kind not in {"blank", "joined"}:
                self._quoted(kind, found[kind])
        self._close_word()
        yield from self._close_command("\n")

    def _quoted(self, kind: str, text: str) -> None:
        if kind == "double" and text == "$@":
            self.word = None
            self.words += self.arguments
        else:
            self.word = (self.word or "") + (self._expanded(text) if kind == "double" else text)

    def _variable(self, text: str, start: int, end: int) -> int:
        """Expand what stands without quotes: a known value is split at blanks, as a shell does."""
        end = _end_of(text, start, end)
        value = self._value(text[start:end], 0)
        parts = [value] if "$" in value or "`" in value else value.split()
        for index, part in enumerate(parts):
            if index:
                self._close_word()
            self.word = (self.word or "") + part
        return end

    def _expanded(self, text: str, nested: int = 0) -> str:
        """Expand what stands within double quotes, or as a default."""
        parts, place = [], 0
        while found := _IN_QUOTES.search(text, place):
            parts.append(text[place : found.start()])
            if found[0][0] == "\\":
                place = found.end()
                parts.append(found[0][1:].replace("\n", ""))
            else:
                place = _end_of(text, found.start(), found.end())
                parts.append(self._value(text[found.start() : place], nested))
        return "".join([*parts, text[place:]])

    def _value(self, text: str, nested: int) -> str:
        """Return the value of a variable; what is unknown stays as it is.

        | form                              | known      | unset   | unset, and the environment may hold more |
        |-----------------------------------|------------|---------|------------------------------------------|
        | `$NAME`, `${NAME}`, `${NAME:?why}` | its value  | as it is | as it is                                |
        | `${NAME:-default}`, `:=`           | its value  | default | as it is                                 |
        | `${NAME:+other}`                   | other      | as it is | as it is                                |
        """
        if not text.startswith("${"):
            return self._charged(self.special.get(text[1:], self.scope.get(text[1:])), text)
        found = _BRACED.fullmatch(text[2:-1])
        if found is None or nested >= _NESTED or text[-1] != "}":
            return text
        name, operator, other = found[1], found[2] or "", found[3] or ""
        value = self.special.get(name, self.scope.get(name))
        is_unset = value is None or (value == "" and operator.startswith(":"))
        if operator.endswith(("-", "=")) and is_unset and not (value is None and self.is_open):
            value = self._expanded(other, nested + 1)
            if operator.endswith("="):
                self.scope[name] = value
        elif operator.endswith("+") and not is_unset:
            value = self._expanded(other, nested + 1)
        return self._charged(value, text)

    def _charged(self, value: str | None, text: str) -> str:
        """Return the value, or the text where it is unknown or there is no room left."""
        if value is None or len(value) > self.room:
            return text
        self.room -= len(value)
        return value

    def _close_word(self) -> None:
        if self.word is None:
            return
        if not self.redirect:
            self.words.append(self.word)
        elif self.redirect in {"<<", "<<-"}:
            self.here.append((self.word, self.redirect == "<<-"))
        self.word, self.redirect = None, ""

    def _close_command(self, end: str) -> Iterator[Program]:
        """End a simple command: assignments change the variables, anything else is a program."""
        words, assigned, replaces = without_prefixes(self._without_keywords(self.words))
        is_conditional = self.depth > 0 or self.before == "||" or (self.before == "&&" and self.was_test)
        if words and words[0] in _SETTERS:
            found = [_ASSIGNMENT.fullmatch(word) for word in words[1:]]
            self._assign(assigned | {item[1]: item[2] for item in found if item}, is_conditional=is_conditional)
        elif not words:
            self._assign(assigned, is_conditional=is_conditional)
        elif words[0] not in _QUIET:
            in_pipe = end in {"|", "|&", "&"} or self.before in {"|", "|&"}
            yield Program(tuple(words), {**self.scope, **assigned}, replaces and not in_pipe)
        if self.words or end != "\n":
            self.was_test = bool(words) and words[0] in {"test", "[", "[["}
            self.before = end
        self.words, self.redirect = [], ""

    def _without_keywords(self, words: list[str]) -> list[str]:
        """Skip what only structures a script; after `for`, `case` and `select` comes no program."""
        for place, word in enumerate(words):
            if word in _LISTS:
                self.depth += 1
                return []
            if word in _OPENING:
                self.depth += 1
            elif word in _CLOSING:
                self.depth -= 1
            elif word not in _BETWEEN:
                return words[place:]
        return []

    def _assign(self, assigned: Mapping[str, str], *, is_conditional: bool) -> None:
        for name, value in assigned.items():
            is_same = self.scope.get(name) == value
            self.scope[name] = value if is_same or not is_conditional else f"${{{name}}}"

    def _skip_documents(self, text: str, place: int) -> int:
        """Skip the here-documents that begin after this line."""
        for delimiter, is_indented in self.here:
            indent = r"\t*" if is_indented else ""
            found = re.compile(rf"^{indent}{re.escape(delimiter)}$", re.MULTILINE).search(text, place)
            place = min(found.end() + 1, len(text)) if found else len(text)
        self.here = []
        return place


def _end_of(text: str, start: int, end: int) -> int:
    """Return where `$NAME`, `${…}`, `$(…)` or a pair of backticks ends."""
    opening = text[start:end]
    if opening == "`":
        return _or_end(text.find("`", end) + 1 or -1, text)
    if opening not in _NEST:
        return end
    depth = 1
    for found in _NEST[opening].finditer(text, end):
        if found[0] in _CLOSES:
            depth -= 1
        elif found[0] == opening[1]:
            depth += 1
        if depth == 0:
            return found.end()
    return len(text)


def _or_end(place: int, text: str) -> int:
    return len(text) if place < 0 else place
