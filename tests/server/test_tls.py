"""TLS: versions, names, and the reload of changed files (rows T7 and T8) with a real handshake each time."""

from __future__ import annotations

import contextlib
import ssl
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from trustme import CA, KeyType

from tests.server.conftest import eventually
from webhook.certificates import issue_ca, issue_leaf
from webhook.pair import Pair
from webhook.server.expiry import ends
from webhook.server.metrics import Metrics
from webhook.server.tls import BadPairError, Files, Served, load

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def authority():
    return issue_ca(NOW)


def pair_of(leaf):
    """Turn a leaf of trustme into a pair."""
    return Pair(b"".join(blob.bytes() for blob in leaf.cert_chain_pems), leaf.private_key_pem.bytes())


def write(folder, pair):
    folder.joinpath("tls.crt").write_bytes(pair.certificate)
    folder.joinpath("tls.key").write_bytes(pair.key)
    return Files(folder / "tls.crt", folder / "tls.key")


def handshake(context, *, name="localhost", **client):
    """Shake hands in memory, and return the client's side of it."""
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    trusting.set_ciphers("ALL:@SECLEVEL=0")
    for key, value in client.items():
        setattr(trusting, key, value)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = trusting.wrap_bio(to_client, to_server, server_hostname=name)
    far = context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (near, far):
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
    return near


def presented(context, **client):
    """Return the certificate that the server presents."""
    return handshake(context, **client).getpeercert(binary_form=True)


def serial(der):
    return x509.load_der_x509_certificate(der).serial_number


def serial_of(pair):
    return x509.load_pem_x509_certificate(pair.certificate).serial_number


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_t10_tls_1_2_and_1_3_are_spoken(server, version):
    context = server.context(minimum_version=version, maximum_version=version)

    with httpx.Client(verify=context) as client:
        assert client.get(f"{server.url}/healthz").status_code == 200


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_t10_tls_1_1_is_refused(authority):
    versions = {"minimum_version": ssl.TLSVersion.TLSv1, "maximum_version": ssl.TLSVersion.TLSv1_1}

    with pytest.raises(ssl.SSLError, match="UNSUPPORTED_PROTOCOL"):
        handshake(load(issue_leaf(authority, ["localhost"], NOW)), **versions)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_the_own_ca_signs_for_this_machine(server, name):
    with httpx.Client(verify=server.context()) as client:
        assert client.get(f"https://{name}:{server.port}/readyz").text == "ready\n"


def test_the_own_ca_is_public_and_holds_no_key(server):
    assert server.ca.stat().st_mode & 0o777 == 0o644
    assert b"PRIVATE" not in server.ca.read_bytes()


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


@pytest.mark.parametrize("days", [1, 365, 3650, 9000, 12000])
def test_t14_the_expiry_read_from_bytes_is_the_librarys(days):
    """From 2050 on the date is written in another form."""
    pair = issue_leaf(issue_ca(NOW, days=20000), ["localhost"], NOW, days=days)

    assert ends(pair.certificate) == x509.load_pem_x509_certificate(pair.certificate).not_valid_after_utc


def test_t14_the_expiry_of_rsa_chains_is_read():
    ca = CA(key_type=KeyType.RSA).create_child_ca(key_type=KeyType.RSA)
    pair = pair_of(ca.issue_cert("a.example", key_type=KeyType.RSA))

    assert ends(pair.certificate) == x509.load_pem_x509_certificates(pair.certificate)[0].not_valid_after_utc


@pytest.mark.parametrize("cut", [0, 30, 60, 200])
def test_t14_a_cut_certificate_has_no_expiry(authority, cut):
    with pytest.raises(ValueError, match="certificate"):
        ends(authority.certificate[:cut] + (b"\n-----END CERTIFICATE-----\n" if cut > 60 else b""))


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
