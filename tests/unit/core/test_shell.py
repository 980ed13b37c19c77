"""shell: what a shell string starts, without running it."""

from __future__ import annotations

import pytest

from webhook.core.shell import MOST_CHARACTERS, MOST_EXPANDED, MOST_PROGRAMS, programs, script_of, without_prefixes

SERVE = ("own", "serve", "--port", "9000")


def run(script, env=None, **how):
    """Return words and `replaces_shell` of each program."""
    return [(item.words, item.replaces_shell) for item in programs([script], env or {}, **how)]


@pytest.mark.parametrize(
    ("script", "found"),
    [
        # exec and what stands before a program
        ("own serve --port 9000", [(SERVE, False)]),
        ("exec own serve --port 9000", [(SERVE, True)]),
        ("nohup own serve --port 9000 &", [(SERVE, False)]),
        ("CARDS=0,1 exec own serve --port 9000", [(SERVE, True)]),
        ("exec env -u X -i A=1 own serve --port 9000", [(SERVE, True)]),
        ("exec env -C /tmp own serve --port 9000", [(SERVE, True)]),
        ("/usr/bin/env A=/x/exec own serve --port 9000", [(SERVE, False)]),
        ("exec own serve --port 9000 2>&1 | tee /log", [(SERVE, False), (("tee", "/log"), False)]),
        ("cat /q | exec own serve --port 9000", [(("cat", "/q"), False), (SERVE, False)]),
        ("exec own serve --port 9000 & wait", [(SERVE, False)]),
        ("exec", []),
        # what ends a command
        ("cd /x && own serve --port 9000", [(SERVE, False)]),
        ("own serve --port 9000 || exit 1", [(SERVE, False), (("exit", "1"), False)]),
        (". venv/bin/activate; own serve --port 9000", [((".", "venv/bin/activate"), False), (SERVE, False)]),
        ("(own serve --port 9000)", [(SERVE, False)]),
        ("{ own serve --port 9000; }", [(SERVE, False)]),
        ("! own serve --port 9000", [(SERVE, False)]),
        ("own serve \\\n --port 9000", [(SERVE, False)]),
        ("own serve --po\\\nrt 9000", [(SERVE, False)]),
        ("own serve --port 9000\r\n", [(SERVE, False)]),
        ("ollama serve & sleep 5; ollama pull x; wait", [
            (("ollama", "serve"), False), (("sleep", "5"), False), (("ollama", "pull", "x"), False),
        ]),
        # what is structure
        ("if [ -f x ]; then own serve --port 9000; fi", [(SERVE, False)]),
        ("while true; do own serve --port 9000; done", [(("true",), False), (SERVE, False)]),
        ("until ready; do :; done; own serve --port 9000", [(("ready",), False), ((":",), False), (SERVE, False)]),
        ("for i in 1 2; do own serve --port 9000; done", [(SERVE, False)]),
        ("case $X in a) own serve --port 9000;; esac", [(SERVE, False)]),
        ("echo own serve; which own; own serve --port 9000", [(SERVE, False)]),
        # redirections are no words of the program
        ("own serve --port 9000 > /dev/null 2>&1", [(SERVE, False)]),
        ("own serve --port 9000 &>/log", [(SERVE, False)]),
        ("own serve >/log --port 9000 2>>/err", [(SERVE, False)]),
        ("own serve --port 9000 < /dev/null", [(SERVE, False)]),
        ("exec > >(tee /log); own serve --port 9000", [(("tee", "/log"), False), (SERVE, False)]),
        # here-documents
        ("cat >x <<EOF\nown serve --port 1\nEOF\nown serve --port 9000", [(("cat",), False), (SERVE, False)]),
        ("cat <<'E' <<-F\nit's\nE\n\tF\nown serve --port 9000", [(("cat",), False), (SERVE, False)]),
        ("cat <<EOF\nown serve --port 1", [(("cat",), False)]),
        # comments
        ("# own serve\nown serve --port 9000 # --port 1", [(SERVE, False)]),
        ("own serve --port 9000 # it's", [(SERVE, False)]),
        ("own serve#1 a#b", [(("own", "serve#1", "a#b"), False)]),
        # quotes
        ("own serve --port '9000'", [(SERVE, False)]),
        ('own serve --port "9000"', [(SERVE, False)]),
        ("own serve --po'rt' 90\\00", [(SERVE, False)]),
        ("own serve '' \"\"", [(("own", "serve", "", ""), False)]),
        ('own "a \\" b" \'c;d\' e\\ f', [(("own", 'a " b', "c;d", "e f"), False)]),
        ('own "a\\\nb"', [(("own", "ab"), False)]),
        ('own "m --port 9000', [(("own", '"m', "--port", "9000"), False)]),
        ("own it's", [(("own", "it's"), False)]),
        # shells within shells
        ("exec bash -c 'exec own serve --port 9000'", [(SERVE, True)]),
        ("bash -c 'exec own serve --port 9000'", [(SERVE, False)]),
        ("exec bash -c 'own serve --port 9000'", [(SERVE, False)]),
        ("eval own serve --port 9000", [(SERVE, False)]),
        ("bash /start.sh", [(("bash", "/start.sh"), False)]),
        ("", []),
        (" \t\n ;", []),
    ],
)  # fmt: skip
def test_a_shell_string_is_split_into_its_programs(script, found):
    """Each program is found with its own words, and `exec` alone makes it replace the shell."""
    assert run(script) == found


@pytest.mark.parametrize(
    ("script", "word"),
    [
        ("own $P", "9000"),
        ("own ${P}", "9000"),
        ('own "${P}"', "9000"),
        ("own '$P'", "$P"),
        ("own \\$P", "$P"),
        ('own "\\$P"', "$P"),
        ("own x${P}y", "x9000y"),
        ("own ${P:-1}", "9000"),
        ("own ${P-1}", "9000"),
        ("own ${P:?must}", "9000"),
        ("own ${P:+7}", "7"),
        ("own ${E:+7}", ""),
        ("own ${E-1}", ""),
        ("own ${E:-1}", "1"),
        ("own ${N:-1}", "1"),
        ("own ${N-1}", "1"),
        ('own "${N:-a b}"', "a b"),
        ("own ${N:-${M:-2}}", "2"),
        ("own ${N:-$P}", "9000"),
        ("own ${N:+7}", "${N:+7}"),
        ("own ${N:?must}", "${N:?must}"),
        ("own $N", "$N"),
        ("own ${N}", "${N}"),
        ("own ${N[@]}", "${N[@]}"),
        ("own ${#P}", "${#P}"),
        ("own ${P%0}", "${P%0}"),
        ("own ${P", "${P"),
        ("own $(cat /port)", "$(cat /port)"),
        ('own "$(cat "/a b")"', "$(cat /a"),
        ("own $(a $(b))", "$(a $(b))"),
        ("own $(a", "$(a"),
        ("own $(a ')' \\) b) c", "$(a ')' \\) b)"),
        ("own ${N#'}'} c", "${N#'}'}"),
        ("own $((8000 + 1))", "$((8000 + 1))"),
        ("own `cat /port`", "`cat /port`"),
        ("own `cat", "`cat"),
        ("own $", "$"),
        ("own ${N:-${M:-${L:-${K:-${J:-1}}}}}", "${K:-${J:-1}}"),
        ("P=1; own $P", "1"),
        ("P=1 own $P", "9000"),
        ("export P=1; own $P", "1"),
        ("export A P=1 && own $P", "1"),
        ("set -e; own $P", "9000"),
        (": ${N:=5}; own $N", "5"),
        # what only a run can tell
        ("if x; then P=1; fi; own $P", "${P}"),
        ("[ -z $P ] && P=1; own $P", "${P}"),
        ("[ -n $P ] || P=1; own $P", "${P}"),
        ("[ -z $P ] && P=9000; own $P", "9000"),
        ("cd x && P=1; own $P", "1"),
        ("if x; then y; fi; P=1; own $P", "1"),
        ("for P in 1 2; do x; done; own $N", "$N"),
    ],
)  # fmt: skip
def test_a_variable_is_expanded_where_its_value_is_known(script, word):
    """A known value takes its place, a default counts for an unset one, and what only a run can tell stays text."""
    found = [item.words for item in programs([script], {"P": "9000", "E": ""})]
    assert [*found[-1], ""][1] == word


@pytest.mark.parametrize(
    ("script", "word"),
    [("own ${N:-1}", "${N:-1}"), ("own ${N:=1}", "${N:=1}"), ("own ${P:-1}", "9000"), ("own ${E:-1}", "1")],
)
def test_no_default_counts_where_the_environment_may_hold_more(script, word):
    """With `envFrom` an unset variable may be set after all, so its default is not believed."""
    assert [item.words for item in programs([script], {"P": "9000", "E": ""}, is_open=True)] == [("own", word)]


def test_an_unquoted_value_is_split_at_blanks():
    """Flags that hide in a variable are seen, unless quotes keep them together."""
    env = {"FLAGS": "--port 9000  --host h"}
    assert run('own $FLAGS x; own "$FLAGS"; own a$FLAGS', env) == [
        (("own", "--port", "9000", "--host", "h", "x"), False),
        (("own", "--port 9000  --host h"), False),
        (("own", "a--port", "9000", "--host", "h"), False),
    ]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('own "$@"', ("own", "a b", "c")),
        ("own $@", ("own", "a", "b", "c")),
        ("own $*", ("own", "a", "b", "c")),
        ("own $1", ("own", "a", "b")),
        ("own ${2}", ("own", "c")),
        ("own $0", ("own", "zero")),
        ("own $3", ("own", "$3")),
    ],
)
def test_words_after_the_script_are_its_arguments(script, words):
    """`sh -c SCRIPT zero a c` hands the words after the script to `$0`, `$1` and `$@`."""
    assert [item.words for item in programs([script, "zero", "a b", "c"], {})] == [words]


def test_each_program_sees_the_variables_of_its_time():
    """Assignments before a program count for it alone, those between programs for all that follow."""
    found = programs(["A=1 own; B=2; own; bash -c 'C=3 own'"], {"X": "0"})
    assert [dict(item.env) for item in found] == [
        {"X": "0", "A": "1"},
        {"X": "0", "B": "2"},
        {"X": "0", "B": "2", "C": "3"},
    ]


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["sh", "-c", "x"], ["x"]),
        (["/bin/bash", "-lc", "x"], ["x"]),
        (["sh", "-ec", "x"], ["x"]),
        (["bash", "-euo", "pipefail", "-c", "x"], ["x"]),
        (["bash", "-o", "pipefail", "-c", "x"], ["x"]),
        (["bash", "+o", "history", "-c", "x"], ["x"]),
        (["bash", "--rcfile", "f", "--norc", "-c", "x"], ["x"]),
        (["sh", "-c", "-e", "x"], ["x"]),
        (["bash", "-lc", "--", "x"], ["x"]),
        (["sh", "-c", "x", "zero", "one"], ["x", "zero", "one"]),
        (["/usr/bin/env", "bash", "-c", "x"], ["x"]),
        (["tini", "-g", "--", "/bin/sh", "-c", "x"], ["x"]),
        (["sh", "start.sh", "-c", "x"], None),
        (["sh", "-x", "start.sh"], None),
        (["sh", "+c", "x"], None),
        (["sh", "-c"], None),
        (["sh"], None),
        (["own", "-c", "x"], None),
        (["a", "b", "c", "d", "e", "f", "sh", "-c", "x"], None),
        ([], None),
    ],
)
def test_a_script_is_what_a_shell_gets_after_c(words, script):
    """Only an option with `c` makes the first operand a script; a file's name is none."""
    assert script_of(words) == script


def test_prefixes_are_no_words_of_the_program():
    """`env A=1 exec own` runs `own` with A set."""
    assert without_prefixes(["env", "A=1", "exec", "own", "B=2"]) == (["own", "B=2"], {"A": "1"}, True)


@pytest.mark.parametrize(
    "script",
    [
        "own;" * 300_000,
        "own " * 300_000,
        '"' * 999_999,
        "'" * 999_999,
        "$(" * 500_000,
        "${A:-" * 200_000,
        "`" * 999_999,
        "\\" * 999_999,
        "<<A\n" * 250_000,
        "A=1;" * 250_000,
        "if " * 300_000,
        "sh -c '" * 100_000,
    ],
)
def test_a_huge_script_is_read_only_so_far(script):
    """No script yields more than a bounded number of programs from a bounded text."""
    found = list(programs([script], {}))
    assert len(found) <= MOST_PROGRAMS + 1
    assert sum(len(" ".join(item.words)) for item in found) <= MOST_CHARACTERS


def test_what_stands_beyond_the_limit_is_not_read():
    """The text is cut before it is split."""
    assert run("#" * MOST_CHARACTERS + "\nown serve") == []


@pytest.mark.parametrize("script", ["A=xxxx;" + "A=$A$A;" * 20 + "own $A", 'A="' + "x" * 40_000 + '"; own' + " $A" * 9])
def test_variables_cannot_grow_without_limit(script):
    """Variables that double each other stop at a limit, and stay as text from there on."""
    found = list(programs([script], {}))
    assert sum(len(word) for item in found for word in item.words) <= 2 * MOST_EXPANDED


def test_shells_are_followed_only_so_deep():
    """The fourth shell within shells is a program like any other."""
    assert run("eval eval eval eval own") == [(("eval", "own"), False)]
