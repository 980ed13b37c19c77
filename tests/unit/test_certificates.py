"""Certificates as values: what a CA and a leaf promise, checked by parsing them and by OpenSSL's own verification."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from trustme import CA, KeyType

from webhook.certificates import (
    CA_DAYS,
    LEAF_DAYS,
    UnreadableError,
    belongs,
    describe,
    issue_ca,
    issue_leaf,
    service_names,
    to_pem,
)
from webhook.pair import Pair

NOW = datetime.now(UTC).replace(microsecond=0)
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def ca():
    return issue_ca(NOW)


def parsed(pair):
    return x509.load_pem_x509_certificate(pair.certificate)


def extension(pair, kind):
    return parsed(pair).extensions.get_extension_for_class(kind)


def test_t1_a_leaf_holds_every_name_of_its_service(ca):
    names = service_names("drainhook", "drainhook-system")
    leaf = issue_leaf(ca, names, NOW)

    assert describe(leaf.certificate).names == (
        "drainhook",
        "drainhook.drainhook-system",
        "drainhook.drainhook-system.svc",
        "drainhook.drainhook-system.svc.cluster.local",
    )


def test_t1_addresses_are_addresses_and_not_names(ca):
    leaf = issue_leaf(ca, ["a.example", "10.0.0.1", "::1"], NOW)
    found = extension(leaf, x509.SubjectAlternativeName).value

    assert found.get_values_for_type(x509.DNSName) == ["a.example"]
    assert [str(address) for address in found.get_values_for_type(x509.IPAddress)] == ["10.0.0.1", "::1"]


def test_t1_a_name_too_long_for_the_common_name_is_cut_there_only(ca):
    name = "a" * 60 + ".example.org"
    leaf = issue_leaf(ca, [name], NOW)

    assert describe(leaf.certificate).names == (name,)
    assert describe(leaf.certificate).subject == f"CN={name[:64]}"


def test_t2_both_are_valid_since_an_hour_ago(ca):
    """Clocks of nodes differ by seconds to minutes."""
    for pair in (ca, issue_leaf(ca, ["a"], NOW)):
        assert parsed(pair).not_valid_before_utc == NOW - HOUR


def test_lifetimes(ca):
    assert parsed(ca).not_valid_after_utc == NOW + timedelta(days=CA_DAYS)
    assert parsed(issue_leaf(ca, ["a"], NOW)).not_valid_after_utc == NOW + timedelta(days=LEAF_DAYS)
    assert parsed(issue_leaf(ca, ["a"], NOW, days=7)).not_valid_after_utc == NOW + timedelta(days=7)


def test_a_leaf_never_outlives_its_ca():
    short = issue_ca(NOW, days=10)

    assert parsed(issue_leaf(short, ["a"], NOW)).not_valid_after_utc == NOW + timedelta(days=10)


def test_keys_are_p_256(ca):
    for pair in (ca, issue_leaf(ca, ["a"], NOW)):
        assert describe(pair.certificate).key_type == "EC secp256r1"
        assert pair.key.startswith(b"-----BEGIN PRIVATE KEY-----")


def test_a_ca_may_only_sign_leaves(ca):
    constraints = extension(ca, x509.BasicConstraints)
    usage = extension(ca, x509.KeyUsage).value

    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)
    assert (usage.key_cert_sign, usage.crl_sign, usage.digital_signature) == (True, True, False)


def test_a_leaf_may_only_serve(ca):
    leaf = issue_leaf(ca, ["a"], NOW)
    usage = extension(leaf, x509.KeyUsage).value

    assert extension(leaf, x509.BasicConstraints).value.ca is False
    assert (usage.digital_signature, usage.key_cert_sign) == (True, False)
    assert list(extension(leaf, x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_openssl_verifies_a_leaf_strictly(ca):
    """The strict flag refuses certificates that lack what RFC 5280 asks for, key identifiers for example."""
    leaf = issue_leaf(ca, ["localhost"], NOW)
    client = ssl.create_default_context(cadata=ca.certificate.decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT

    assert shaken(client, leaf, "localhost") == parsed(leaf).serial_number


def test_openssl_refuses_a_leaf_for_another_name(ca):
    client = ssl.create_default_context(cadata=ca.certificate.decode())

    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shaken(client, issue_leaf(ca, ["localhost"], NOW), "other.example")


def shaken(client, leaf, name):
    """Shake hands in memory, and return the serial number that the client verified."""
    from webhook.server.tls import load  # noqa: PLC0415 (the server's own loading is part of the claim)

    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(to_client, to_server, server_hostname=name)
    far = load(leaf).wrap_bio(to_server, to_client, server_side=True)
    for _ in range(3):
        for side in (near, far):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return int(near.getpeercert()["serialNumber"], 16)


def test_two_cas_can_be_told_apart_by_name(ca):
    assert describe(ca.certificate).subject != describe(issue_ca(NOW).certificate).subject


@pytest.mark.parametrize("name", ["", "two words", "https://a", "a/b", "a:443", "a@b", "bücher.example"])
def test_what_is_no_name_is_refused(ca, name):
    with pytest.raises(ValueError, match="is neither a DNS name nor an IP address"):
        issue_leaf(ca, ["a", name], NOW)


def test_no_names_are_refused(ca):
    with pytest.raises(ValueError, match="needs at least one name"):
        issue_leaf(ca, [], NOW)


def test_a_ca_that_has_ended_signs_nothing(ca):
    with pytest.raises(ValueError, match="The CA ended on "):
        issue_leaf(ca, ["a"], NOW + timedelta(days=CA_DAYS + 1))


def test_a_ca_with_the_key_of_another_signs_nothing(ca):
    with pytest.raises(ValueError, match="do not form a pair"):
        issue_leaf(Pair(ca.certificate, issue_ca(NOW).key), ["a"], NOW)


@pytest.mark.parametrize("pair", [Pair(b"", b""), Pair(b"x", b"y"), Pair(b"-----BEGIN CERTIFICATE-----\n", b"")])
def test_what_is_no_pem_is_refused(pair):
    for read in (lambda: describe(pair.certificate), lambda: belongs(pair), lambda: issue_leaf(pair, ["a"], NOW)):
        with pytest.raises(UnreadableError):
            read()


def test_describe_says_who_signed(ca):
    leaf = issue_leaf(ca, ["a"], NOW)

    assert describe(leaf.certificate).trusted is None
    assert describe(leaf.certificate, ca.certificate).trusted is True
    assert describe(leaf.certificate, issue_ca(NOW).certificate).trusted is False
    assert describe(leaf.certificate).issuer == describe(ca.certificate).subject
    assert (describe(ca.certificate).is_ca, describe(leaf.certificate).is_ca) == (True, False)


def test_describe_reads_others_certificates():
    other = CA(key_type=KeyType.RSA)
    leaf = other.issue_cert("b.example", "10.0.0.1", key_type=KeyType.RSA)
    found = describe(leaf.cert_chain_pems[0].bytes(), other.cert_pem.bytes())

    assert (found.key_type, found.names, found.trusted) == ("RSA 2048", ("b.example", "10.0.0.1"), True)


def test_belongs_tells_the_own_key_from_another(ca):
    leaf = issue_leaf(ca, ["a"], NOW)

    assert belongs(leaf) is True
    assert belongs(Pair(leaf.certificate, ca.key)) is False


def test_der_becomes_pem(ca):
    assert to_pem(ssl.PEM_cert_to_DER_cert(ca.certificate.decode())) == ca.certificate
    with pytest.raises(UnreadableError):
        to_pem(b"")


def test_keys_are_not_shown_by_repr(ca):
    assert "PRIVATE" not in repr(ca)
    assert repr(ca) == f"Pair({len(ca.certificate)} bytes of certificate)"


def test_no_key_is_made_twice(ca):
    leaf = issue_leaf(ca, ["a"], NOW)

    assert isinstance(parsed(leaf).public_key(), ec.EllipticCurvePublicKey)
    assert len({ca.key, leaf.key, issue_leaf(ca, ["a"], NOW).key}) == 3
