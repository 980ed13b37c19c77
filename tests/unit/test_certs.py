"""`drainhook certs`: the files that it writes, and what it says of a certificate."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from webhook.certificates import describe, issue_ca, issue_leaf
from webhook.cli.certs import certs
from webhook.pair import Pair

NOW = datetime.now(UTC)


def run(*arguments):
    return CliRunner().invoke(certs, [str(argument) for argument in arguments])


def issue(folder, *arguments):
    result = run("issue", "-d", folder, *arguments)
    assert result.exit_code == 0, result.output
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def save(folder, pair, ca=None):
    folder.joinpath("tls.crt").write_bytes(pair.certificate)
    folder.joinpath("tls.key").write_bytes(pair.key)
    if ca is not None:
        folder.joinpath("ca.crt").write_bytes(ca.certificate)


def inspected(place, *arguments):
    result = run("inspect", place, "-o", "json", *arguments)
    return result.exit_code, json.loads(result.output)


def test_issue_writes_four_files_and_keys_for_the_owner_only(tmp_path):
    folder = tmp_path / "certs"
    issue(folder)

    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == {"ca.crt": 0o644, "ca.key": 0o600, "tls.crt": 0o644, "tls.key": 0o600}


def test_issue_names_the_service_and_what_is_asked_for(tmp_path):
    files = issue(tmp_path, "--service", "hook", "--namespace", "ns", "--name", "a.example", "--name", "10.0.0.1")

    names = ("hook", "hook.ns", "hook.ns.svc", "hook.ns.svc.cluster.local", "a.example", "10.0.0.1")
    assert describe(files["tls.crt"], files["ca.crt"]).names == names
    assert describe(files["tls.crt"], files["ca.crt"]).trusted is True


def test_issue_refuses_to_replace_a_certificate(tmp_path):
    before = issue(tmp_path)
    result = run("issue", "-d", tmp_path)

    assert (result.exit_code, result.output) == (
        2,
        f"Error: {tmp_path} already holds a server certificate; replace it with --force.\n",
    )
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_force_renews_the_certificate_and_keeps_the_ca(tmp_path):
    before, after = issue(tmp_path), issue(tmp_path, "--force", "--days", "30")

    assert [before[name] == after[name] for name in ("ca.crt", "ca.key", "tls.crt", "tls.key")] == [
        True,
        True,
        False,
        False,
    ]
    assert describe(after["tls.crt"], before["ca.crt"]).trusted is True


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda folder: (folder / "ca.key").unlink(), "ca.key: No such file or directory."),
        (lambda folder: (folder / "ca.key").write_bytes(b"x"), "no unencrypted PEM private key"),
        (lambda folder: (folder / "ca.key").write_bytes(issue_ca(NOW).key), "do not form a pair"),
    ],
)
def test_a_spoilt_ca_is_said_and_nothing_is_replaced(tmp_path, spoil, text):
    before = issue(tmp_path)
    spoil(tmp_path)
    result = run("issue", "-d", tmp_path, "--force")

    assert (result.exit_code, text in result.output) == (2, True)
    assert (tmp_path / "tls.crt").read_bytes() == before["tls.crt"]


def test_a_name_that_is_none_is_said_and_nothing_is_written(tmp_path):
    result = run("issue", "-d", tmp_path / "new", "--name", "a b")

    assert (result.exit_code, result.output) == (2, "Error: 'a b' is neither a DNS name nor an IP address.\n")
    assert list((tmp_path / "new").iterdir()) == []


def test_inspect_accepts_what_issue_made(tmp_path):
    issue(tmp_path)
    code, report = inspected(tmp_path)

    assert code == 0
    assert (report["validNow"], report["signedByCA"], report["matchesKey"]) == (True, True, True)
    assert (report["keyType"], report["daysLeft"], report["isCA"]) == ("EC secp256r1", 364, False)
    assert report["names"][2] == "drainhook.drainhook-system.svc"


def test_inspect_reads_one_file(tmp_path):
    issue(tmp_path)
    code, report = inspected(tmp_path / "ca.crt")

    assert (code, report["isCA"], report["signedByCA"], report["matchesKey"]) == (0, True, None, None)


def test_inspect_writes_aligned_lines(tmp_path):
    issue(tmp_path)
    lines = run("inspect", tmp_path / "tls.crt").output.splitlines()

    assert lines[0] == "subject     CN=drainhook"
    assert lines[-1] == "matchesKey  not known"


def test_inspect_rejects_a_certificate_that_has_ended(tmp_path):
    ca = issue_ca(NOW)
    save(tmp_path, issue_leaf(ca, ["a"], NOW - timedelta(days=3), days=1), ca)
    code, report = inspected(tmp_path)

    assert (code, report["validNow"], report["signedByCA"], report["matchesKey"]) == (1, False, True, True)
    assert report["daysLeft"] < 0


def test_inspect_rejects_a_certificate_of_another_ca(tmp_path):
    save(tmp_path, issue_leaf(issue_ca(NOW), ["a"], NOW), issue_ca(NOW))
    code, report = inspected(tmp_path)

    assert (code, report["validNow"], report["signedByCA"]) == (1, True, False)


def test_inspect_rejects_the_key_of_another_certificate(tmp_path):
    ca = issue_ca(NOW)
    save(tmp_path, Pair(issue_leaf(ca, ["a"], NOW).certificate, ca.key), ca)
    code, report = inspected(tmp_path)

    assert (code, report["matchesKey"]) == (1, False)


def test_inspect_of_nothing_is_an_error(tmp_path):
    (tmp_path / "x").write_text("no certificate")

    assert run("inspect", tmp_path / "none").exit_code == 2
    assert run("inspect", tmp_path).output == f"Error: {tmp_path}: No such file or directory.\n"
    assert (
        run("inspect", tmp_path / "x").output
        == f"Error: {tmp_path / 'x'}: The text holds no PEM certificate that can be read.\n"
    )
