"""Reading one profile file: every way in which a file can be wrong, with its line."""

import os
from pathlib import Path

import pytest

from webhook.profile_file import LARGEST, ProfileFault, digest, from_text, read

MESSAGES = [
    ("", 1, "", "is empty; a profile is a mapping that begins with `title:`"),
    ("# only a comment\n", 1, "", "is empty; a profile is a mapping that begins with `title:`"),
    ("- a\n", 1, "", "must be a mapping of fields to values"),
    ("title: a\n\tb: 1\n", 2, "", "is indented with a tab; YAML wants blanks"),
    ("a: 1\ntitle: b\na: 2\n", 3, "a", "stands twice; the first is in line 1"),
    ("m:\n  a: 1\n  a: 2\n", 3, "m.a", "stands twice; the first is in line 2"),
    ("a: 1\n---\nb: 2\n", 2, "", "holds several documents; write one profile per file"),
    ("a: b\nc: [1\n", 3, "", "is no YAML: did not find expected ',' or ']'"),
    ("a: &x [1]\nb: *x\n", 2, "b", "is an alias; write the value out"),
    ("a: &x [*x]\n", 1, "a[0]", "is an alias; write the value out"),
    ("m:\n  yes: 1\n", 2, "m", "has a key that YAML reads as no text: yes"),
    ("m:\n  [a]: 1\n", 2, "m", "has a key that YAML reads as no text: a list or mapping"),
    ("a: 1\nd: 2024-13-45\n", 2, "d", "is no value that can be used: 2024-13-45"),
    ("a: .nan\n", 1, "a", "is no value that can be used: .nan"),
    (f"a: {'9' * 5000}\n", 1, "a", f"is no value that can be used: {'9' * 40}"),
    ("a: 1\nb: !!python/name:os.system x\n", 2, "", "is no YAML: could not determine a constructor for the tag"),
    ("[" * 5000, 1, "", "is no YAML: exceeded maximum nesting depth"),
    ('a: 1\nb: "\x00"\n', 2, "", "holds a control character, which YAML does not allow"),
]


@pytest.mark.parametrize(("text", "line", "field", "message"), MESSAGES, ids=range(len(MESSAGES)))
def test_a_wrong_text_is_a_fault_with_its_line(text, line, field, message):
    found = from_text(text, "dir/x.yaml", "x")

    assert found.data is None
    assert [(fault.path, fault.line, fault.field) for fault in found.faults] == [("dir/x.yaml", line, field)]
    assert found.faults[0].message.startswith(message)


def test_a_right_text_gives_data_and_the_line_of_every_field():
    found = from_text("a: 1\nm:\n  list:\n    - x\n    - y: 2\n", "p", "n")

    assert found.data == {"a": 1, "m": {"list": ["x", {"y": 2}]}}
    assert found.faults == ()
    assert found.line(("a",)) == 1
    assert found.line(("m", "list", 0)) == 4
    assert found.line(("m", "list", 1, "y")) == 5
    assert found.line(("m", "absent", "deeper")) == 2


def test_bytes_that_are_no_utf8_are_a_fault_at_their_line(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")

    assert read(path).faults == (ProfileFault(str(path), 2, "", "is not UTF-8 here"),)


def test_a_byte_order_mark_and_crlf_are_read(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")

    found = read(path)

    assert found.data == {"a": 1, "b": 2}
    assert found.text.startswith("a: 1")


def test_what_is_no_regular_file_is_a_fault(tmp_path):
    for name, make in {
        "loop.yaml": lambda path: path.symlink_to(path),
        "nowhere.yaml": lambda path: path.symlink_to(path.with_name("gone")),
        "folder.yaml": lambda path: path.mkdir(),
        "pipe.yaml": os.mkfifo,
        "large.yaml": lambda path: path.write_bytes(b"#" * (LARGEST + 1)),
    }.items():
        make(tmp_path / name)

    messages = {path.name: [fault.message for fault in read(path).faults] for path in tmp_path.iterdir()}

    assert messages == {
        "loop.yaml": ["can't be read: Too many levels of symbolic links"],
        "nowhere.yaml": ["can't be read: No such file or directory"],
        "folder.yaml": ["is no regular file"],
        "pipe.yaml": ["is no regular file"],
        "large.yaml": [f"is larger than {LARGEST} bytes"],
    }


def test_an_unreadable_file_is_a_fault(tmp_path):
    path = tmp_path / "x.yaml"
    path.touch(mode=0o000)
    if os.access(path, os.R_OK):
        pytest.skip("root reads every file; run as another user to see this one")

    assert [fault.message for fault in read(path).faults] == ["can't be read: Permission denied"]


def test_a_fault_prints_as_compilers_do():
    assert str(ProfileFault("a.yaml", 3, "http.default", "is missing")) == "a.yaml:3: http.default: is missing"
    assert str(ProfileFault("a.yaml", 0, "", "can't be read")) == "a.yaml: can't be read"
    assert ProfileFault("a.yaml", 3, "http", "is missing").line_of("error") == "a.yaml:3: error: http: is missing"
    assert ProfileFault("a.yaml", 0, "", "can't be read").line_of("warning") == "a.yaml: warning: can't be read"


def test_the_digest_looks_at_content_only():
    one = from_text("a: 1\nb: [x] # why\n", str(Path("one")), "n").data
    two = from_text("b:\n- x\na: 0x1\n", str(Path("two")), "n").data

    assert digest(one) == digest(two) == "fd5e92ba"  # sha256 of {"a":1,"b":["x"]}
    assert digest({"a": 2, "b": ["x"]}) != digest(one)
