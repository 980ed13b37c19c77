"""Files are written whole, with their mode from the first byte on."""

from __future__ import annotations

import pytest

from webhook.files import write_whole


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_content_and_mode_are_as_asked(tmp_path, mode):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(0o666)

    write_whole(path, b"new", mode)

    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", mode)


def test_nothing_else_is_left_in_the_folder(tmp_path):
    write_whole(tmp_path / "f", b"x")

    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path):
    (tmp_path / "f").mkdir()

    with pytest.raises(OSError, match="directory"):
        write_whole(tmp_path / "f", b"x")

    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "no" / "f", b"x")
