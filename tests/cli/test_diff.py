"""The diff is what GNU patch needs to make the new file from the old one, whatever their line ends are."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.cli.diff import split_lines, unified

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "d\u2028\n", "- x\n", "--- y\n"]), max_size=12).map(
    "".join
)
PARTS = st.lists(st.one_of(LINES.map(lambda text: (text, text)), st.tuples(LINES, LINES)), max_size=5)


@settings(max_examples=40, deadline=None)
@given(parts=PARTS, end=st.sampled_from(["", "last", "last\n"]), new_end=st.sampled_from(["last", "last\n", "other"]))
def test_patch_makes_the_new_file_from_the_old_one(tmp_path_factory, parts, end, new_end):
    folder = tmp_path_factory.mktemp("diff")
    parts = [*parts, (end, new_end)]
    old, new = ("".join(part[side] for part in parts) for side in (0, 1))
    (folder / "a file.yaml").write_bytes(old.encode())
    diff = unified("a file.yaml", parts)
    if not diff:
        assert old == new
        return
    command = ["patch", "-p0", "--binary", "-s"]
    subprocess.run(command, input=diff.encode(), cwd=folder, check=True, capture_output=True)
    assert not (folder / "a file.yaml").exists() or (folder / "a file.yaml").read_bytes() == new.encode()


def test_a_diff_names_the_file_as_it_was_given_and_shows_three_lines_around():
    text = "".join(f"{number}\n" for number in range(20))
    diff = unified("k/a.yaml", [(text, text.replace("10\n", "ten\n"))])
    assert diff.splitlines()[:3] == ["--- k/a.yaml", "+++ k/a.yaml", "@@ -8,7 +8,7 @@"]
    assert diff.splitlines()[6:8] == ["-10", "+ten"]


def test_nothing_changed_is_no_diff():
    assert unified("a", [("x\n", "x\n"), ("y", "y")]) == ""


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\r\nb\u2028c\n\n"])
def test_lines_end_at_line_feeds_only(text):
    assert "".join(split_lines(text)) == text
    assert all(line.count("\n") <= 1 for line in split_lines(text))
