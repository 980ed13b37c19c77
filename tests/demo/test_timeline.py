"""The picture and the text of the demo show what the acts hold, not what was hoped."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from demo import report
from demo.__main__ import _judge
from demo.kubelet import Termination
from demo.load import Fate
from demo.story import Act, Trip, localise
from demo.timeline import draw

SVG = "{http://www.w3.org/2000/svg}"


def trip(name: str, fate: Fate, first: float | None = 0.5, tokens: int = 9) -> Trip:
    return Trip(name, sent=-1.0, first_token=first, ended=4.0, fate=fate, tokens=tokens, error="")


WITHOUT = Act(
    grace=30,
    settle=0,
    asked=9,
    termination=Termination(start=50, sigterm=50, exit=50, exit_code=143, killed=False),
    trips=(trip("a", Fate.COMPLETED), trip("b", Fate.LOST, tokens=4), trip("c", Fate.REFUSED, None, 0)),
)
WITH_HOOK = Act(
    grace=120,
    settle=2,
    asked=9,
    termination=Termination(50, 56, 70, 137, killed=True, hook_start=50, hook_end=56, hook_code=0),
    trips=(trip("a", Fate.COMPLETED), trip("b", Fate.COMPLETED)),
)


def drawn() -> tuple[list[str], ET.Element]:
    picture = ET.fromstring(draw("A & B", [("without", WITHOUT), ("with", WITH_HOOK)]))  # noqa: S314  # our own text
    return [text.text or "" for text in picture.iter(f"{SVG}text")], picture


def test_draws_every_fate_and_event():
    """A completed request, a lost one, a refused one; SIGTERM and exit apart where they are apart."""
    texts, _ = drawn()

    assert "1 completed, 1 lost, 1 refused" in texts
    assert "2 completed, 0 lost, 0 refused" in texts
    assert {"9 of 9 tokens", "lost, 4 of 9 tokens", "refused"} <= set(texts)
    assert {"SIGTERM, exit 143", "SIGTERM", "exit 137", "no hook", "hook 6.0 s"} <= set(texts)


def test_draws_hook_and_streams_to_scale():
    """Settle is 2 of the hook's 6 seconds; a stream of 3.5 s is wider than settle."""
    _, picture = drawn()
    widths = {
        style: [float(bar.get("width", "0")) for bar in picture.iter(f"{SVG}rect") if bar.get("class") == style][-1]
        for style in ("settle", "drain", "stream")
    }

    assert abs(widths["drain"] / widths["settle"] - 2) < 0.02
    assert abs(widths["stream"] / widths["settle"] - 1.75) < 0.02


def test_prints_the_same_fates(capsys):
    """No colour and no control character where the output is no terminal."""
    report.act("Without", WITHOUT)
    report.act("With", WITH_HOOK)

    printed = capsys.readouterr().out
    assert "Without: 1 completed, 1 lost, 1 refused" in printed
    assert "no hook; SIGTERM at 0.0 s; exit 143 at 0.0 s" in printed
    assert "hook ended by itself after 6.0 s; SIGTERM at 6.0 s; exit 137 at 20.0 s" in printed
    assert "\x1b" not in printed


def test_sums_up_for_the_result():
    """The figures of result.json are counted from the trips."""
    summary = WITHOUT.summary()

    assert [summary[key] for key in ("sent", "completed", "lost", "refused", "exit_code")] == [3, 1, 1, 1, 143]
    assert (summary["hook_seconds"], summary["tokens_received"], summary["record"]) == (0.0, 13, None)


@pytest.mark.parametrize(
    ("without", "with_hook", "code"),
    [(WITHOUT, WITH_HOOK, 0), (WITHOUT, WITHOUT, 1), (WITH_HOOK, WITH_HOOK, 1), (WITH_HOOK, WITHOUT, 1)],
    ids=["held", "lost with the hook", "lost nowhere", "lost with the hook only"],
)
def test_judges_the_run(without, with_hook, code):
    """The promise held only if the hook lost nothing where SIGTERM alone did."""
    assert _judge(without, with_hook) == code


def test_changes_only_log_and_record_of_a_hook(tmp_path):
    """Every other word, the user's own hook too, stays as the patch has it."""
    command = ["sh", "-c", "script", "drainhook", "settle=1", "log=-", "ports=80", "--", "cp", "log=x"]

    found = localise(command, tmp_path / "l", tmp_path / "r")

    head = ("sh", "-c", "script", "drainhook", f"log={tmp_path / 'l'}", f"record={tmp_path / 'r'}")
    assert found == (*head, "settle=1", "ports=80", "--", "cp", "log=x")


def test_shortens_only_the_script():
    """The first lines of the script, how many were left out, everything around it, and nothing wider than a screen."""
    script = ["+            - |", *(f"+              line {n}" for n in range(20))]
    lines = ["--- a", f"+  {'x' * 200}", *script, "+            - drainhook", " tail"]

    shown = report.shortened(lines)

    assert shown[0] == lines[0]
    assert (len(shown[1]), shown[1][-1]) == (118, "…")
    assert shown[2:9] == lines[2:9]
    assert shown[9:] == [
        "+              … 14 more lines of drain_scripts/drain.sh",
        "+            - drainhook",
        " tail",
    ]


@pytest.mark.parametrize(
    "lines", [[], ["+- |", "+  short"], [" - |", "no script"]], ids=["empty", "short", "not added"]
)
def test_leaves_other_diffs_as_they_are(lines):
    assert report.shortened(lines) == lines
