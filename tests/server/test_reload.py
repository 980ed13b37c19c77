"""The reload of changed certificate files (rows T7 and T8), with a real handshake each time."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from trustme import CA, KeyType

from tests.server.conftest import eventually
from tests.server.handshakes import pair_of, presented, serial, serial_of, write
from webhook.certificates import issue_leaf
from webhook.pair import Pair
from webhook.server.expiry import ends
from webhook.server.metrics import Metrics
from webhook.server.tls import BadPairError, Served

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


def test_t7_a_bad_pair_never_breaks_the_live_one(tmp_path, authority):
    """A live context into which a mismatched pair is loaded cannot shake hands any more."""
    good = issue_leaf(authority, ["localhost"], NOW)
    files = write(tmp_path, good)
    served = Served(files.read(), Metrics())
    other = issue_leaf(authority, ["localhost"], NOW)
    write(tmp_path, Pair(good.certificate, other.key))

    assert files.poll(served) == "unsettled"
    assert serial(presented(served.context)) == serial_of(good)


def test_t7_an_ec_pair_takes_the_place_of_an_rsa_one(tmp_path):
    """Also for a client that would still take RSA: the old leaf is gone as a whole."""
    ca = CA(key_type=KeyType.RSA)
    rsa = pair_of(ca.issue_cert("localhost", key_type=KeyType.RSA))
    curve = pair_of(ca.issue_cert("localhost", key_type=KeyType.ECDSA))
    files = write(tmp_path, rsa)
    served = Served(files.read(), Metrics())
    write(tmp_path, curve)

    assert files.poll(served) == "success"
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        assert serial(presented(served.context, maximum_version=version)) == serial_of(curve)


def test_t7_a_client_that_sends_no_name_gets_the_new_pair(tmp_path, authority):
    files = write(tmp_path, issue_leaf(authority, ["127.0.0.1"], NOW))
    served = Served(files.read(), Metrics())
    renewed = issue_leaf(authority, ["127.0.0.1"], NOW)
    write(tmp_path, renewed)
    files.poll(served)

    assert serial(presented(served.context, name=None)) == serial_of(renewed)


def test_t8_change_is_told_by_content_not_by_time(tmp_path, authority):
    good = issue_leaf(authority, ["localhost"], NOW)
    files = write(tmp_path, good)
    served = Served(files.read(), Metrics())
    write(tmp_path, good)

    assert files.poll(served) == "unchanged"


def test_t8_files_that_do_not_match_yet_are_read_again(tmp_path, authority):
    """One file is replaced, then the other: no failure is counted in between."""
    files = write(tmp_path, issue_leaf(authority, ["localhost"], NOW))
    served = Served(files.read(), Metrics())
    renewed = issue_leaf(authority, ["localhost"], NOW)
    (tmp_path / "tls.crt").write_bytes(renewed.certificate)
    first = files.poll(served)
    (tmp_path / "tls.key").write_bytes(renewed.key)

    assert (first, files.poll(served)) == ("unsettled", "success")
    assert serial(presented(served.context)) == serial_of(renewed)


def test_t8_a_pair_that_stays_bad_is_said_once(tmp_path, authority):
    files = write(tmp_path, issue_leaf(authority, ["localhost"], NOW))
    served = Served(files.read(), Metrics())
    (tmp_path / "tls.key").write_bytes(b"no key")

    assert [files.poll(served) for _ in range(4)] == ["unsettled", "failure", "unchanged", "unchanged"]
    assert files.fault == "The certificate and key cannot be read."


def test_t8_files_that_vanish_leave_the_live_pair(tmp_path, authority):
    files = write(tmp_path, issue_leaf(authority, ["localhost"], NOW))
    served = Served(files.read(), Metrics())
    (tmp_path / "tls.key").unlink()

    assert [files.poll(served) for _ in range(2)] == ["unsettled", "failure"]
    assert presented(served.context)


def test_t8_the_old_pair_is_taken_back(tmp_path, authority):
    old = issue_leaf(authority, ["localhost"], NOW)
    files = write(tmp_path, old)
    served = Served(files.read(), Metrics())
    (tmp_path / "tls.key").write_bytes(b"no key")
    files.poll(served)
    write(tmp_path, old)

    assert files.poll(served) == "unchanged"


def ended(authority):
    return issue_leaf(authority, ["localhost"], NOW - 3 * DAY, days=1)


def cut(authority):
    pair = issue_leaf(authority, ["localhost"], NOW)
    return Pair(pair.certificate, pair.key[:50] + b"\n")


def mixed(authority):
    return Pair(issue_leaf(authority, ["localhost"], NOW).certificate, authority.key)


def locked(authority):
    """Protect the key by a password: it must fail, and never ask a terminal for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
    return Pair(issue_leaf(authority, ["localhost"], NOW).certificate, pem)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (ended, "The certificate ended on "),
        (cut, "The certificate and key cannot be read."),
        (locked, "The certificate and key cannot be read."),
        (mixed, "The certificate and key do not form a pair."),
        (lambda _: Pair(b"", b""), "The certificate and key cannot be read."),
        (lambda ca: Pair(ca.key, ca.key), "The certificate and key cannot be read."),
    ],
)
def test_a_pair_that_cannot_be_served_is_refused_with_a_sentence(authority, make, text):
    with pytest.raises(BadPairError) as fault:
        Served(make(authority), Metrics())

    assert str(fault.value).startswith(text)


def test_t7_t8_a_live_server_follows_its_files(start, tmp_path, authority):
    """The whole way: good, bad (served on), good again; metrics count both and know the new expiry."""
    first, second = (issue_leaf(authority, ["localhost"], NOW, days=days) for days in (10, 20))
    write(tmp_path, first)
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    files = [f"--tls-cert={tmp_path / 'tls.crt'}", f"--tls-key={tmp_path / 'tls.key'}"]
    server = start(*files, "--host=127.0.0.1", ca=tmp_path / "ca.crt", DRAINHOOK_RELOAD_SECONDS="0.05")

    def shown():
        with server.connect() as connection:
            return serial(connection.getpeercert(binary_form=True))

    def reloads(result):
        return server.series()[f'drainhook_certificate_reloads_total{{result="{result}"}}']

    assert shown() == serial_of(first)

    (tmp_path / "tls.key").write_bytes(b"garbage")
    eventually(lambda: reloads("failure") == 1)
    assert shown() == serial_of(first)

    write(tmp_path, second)
    eventually(lambda: reloads("success") == 1)
    assert shown() == serial_of(second)
    expiry = server.series()["drainhook_certificate_expiry_timestamp_seconds"]
    assert expiry == ends(second.certificate).timestamp()
    assert server.ready() == 200
