"""How the hook reads a metrics page: names, labels, numbers, and what it makes of a page that says nothing.

Each case is one short run: the first look fills `inflight_start`, then the server's drain endpoint ends the hook.
Never here: waits and connections (test_rules.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drain.engine import Answer, Engine
from tests.drain.hook import SHELLS, Hook
from tests.drain.story import page

ONE = ("gauge=llm:running",)
TWO = (*ONE, "gauge=llm:waiting")
SPACED = 'llm:running{model_name="my model"} 2.0\nllm:running{model_name="a#b {c} \\"d\\" } 9"} 3.0\n'
SUMS = 'llm:running{kind="a",of="x"} 1\nllm:running{kind="b",of="x"} 20\nllm:running{kind="ab"} 300\n'
CASES = {
    "labels hold blanks, #, braces, escaped quotes": (SPACED, ONE, 5),
    "a tab before the value": ("llm:running\t4\n", ONE, 4),
    "several blanks": ("llm:running   4\n", ONE, 4),
    "a timestamp after the value": ('llm:running{a="b"} 4 1712345678901\n', ONE, 4),
    "lines that end with carriage returns": ("llm:running 4\r\n", ONE, 4),
    "no line end at all": ("llm:running 4", ONE, 4),
    "HELP and TYPE hold the name": ("# HELP llm:running 7\n# TYPE llm:running gauge\nllm:running 1\n", ONE, 1),
    "longer and other names": ("llm:running_x 5\nllm:running_total 5\nxllm:running 5\nllm:running 1\n", ONE, 1),
    "both gauges are added": (page(3, 4).body, TWO, 7),
    "one label only": (SUMS, ('gauge=llm:running{kind="a"}',), 1),
    "one label, behind another": (SUMS, ('gauge=llm:running{of="x"}',), 21),
    "a label that no series has": (SUMS, ('gauge=llm:running{kind="c"}',), None),
    "1e+06": ("llm:running 1e+06\n", ONE, 1_000_000),
    "1.25e+01": ("llm:running 1.25e+01\n", ONE, 12),
    "0e+00": ("llm:running 0e+00\n", ONE, 0),
    "-0.0": ("llm:running -0.0\n", ONE, 0),
    "+0": ("llm:running +0\n", ONE, 0),
    "0.25 is not zero": ("llm:running 0.25\n", ONE, 1),
    "2e-05 is not zero": ("llm:running 2e-05\n", ONE, 1),
    "1e+99 does not overflow": ("llm:running 1e+99\n", ONE, 99_999_999),
    "08 is not octal": ("llm:running 08\n", ONE, 8),
    "NaN is unknown": ("llm:running NaN\n", ONE, None),
    "+Inf is unknown": ("llm:running +Inf\n", ONE, None),
    "below zero is unknown": ("llm:running -1.0\n", ONE, None),
    "an empty value is unknown": ("llm:running \n", ONE, None),
    "one zero, one NaN: unknown": (page(0, "NaN").body, TWO, None),
    "one busy, one missing: busy": ("llm:running 2\n", TWO, 2),
    "one zero, one missing: unknown": ("llm:running 0\n", TWO, None),
    "a page of HTML": ("<html>llm:running 0\nllm:running 0\n", ONE, None),
}
EVERY_SHELL = [name if name == "dash" else pytest.param(name, marks=pytest.mark.slow) for name in SHELLS]


def inflight(hook: Hook, answer: Answer, *params: str) -> object:
    """Return what the hook's first look made of a page; the drain endpoint then ends the hook."""
    with Engine([answer], routes={"/drain": Answer("done")}) as engine:
        client = engine.hold()
        ended = hook.run(f"ports={engine.port}", f"url={engine.url()}", f"call={engine.url('/drain')}", *params)
        client.close()
    assert (ended.code, ended.end) == (0, "called")
    return ended.record["inflight_start"]


@pytest.mark.parametrize("cut", ["grep", "built-ins"])
@pytest.mark.parametrize("name", EVERY_SHELL)
def test_every_page_is_read_alike(tmp_path: Path, name: str, cut: str) -> None:
    """With grep as a filter or by built-ins alone, in every shell, each page gives the same figure."""
    tools = ("curl", "sleep", "grep" if cut == "grep" else "cat")
    read = {
        case: inflight(Hook(tmp_path / str(number), name, tools), Answer(body), *gauges)
        for number, (case, (body, gauges, _)) in enumerate(CASES.items())
    }
    assert read == {case: expected for case, (_, _, expected) in CASES.items()}


@pytest.mark.parametrize("body", ["<html>", '{"a":1}'])
def test_absent_is_idle_only_on_a_metrics_page(hook: Hook, body: str) -> None:
    """A front page or JSON with status 200 says nothing about a gauge."""
    assert inflight(hook, Answer(body), "absent=idle", *TWO) is None


def test_absent_is_idle_on_an_empty_page(hook: Hook) -> None:
    """TGI before its first request."""
    assert inflight(hook, Answer(""), "absent=idle", *TWO) == 0


@pytest.mark.parametrize("status", [204, 302, 401, 503])
def test_another_status_is_unknown_even_with_a_good_page(hook: Hook, status: int) -> None:
    """Only 200 is an answer."""
    assert inflight(hook, Answer(page(0).body, status), *TWO) is None


def test_a_page_of_ten_thousand_lines_is_read_in_time(hook: Hook) -> None:
    """A long page must not cost the budget."""
    filler = "".join(f'other{{le="{number}",model_name="tiny"}} {number}\n' for number in range(10_000))
    assert inflight(hook, Answer(filler + page(1, 1).body), *TWO) == 2
