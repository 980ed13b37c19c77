"""When a certificate ends (row T14): the own reading of its bytes against a certificate library."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from trustme import CA, KeyType

from tests.server.handshakes import pair_of
from webhook.certificates import issue_ca, issue_leaf
from webhook.server.expiry import ends

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


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
