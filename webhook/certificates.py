"""Certificates for the webhook: a CA and leaves as PEM values, and what a given certificate says.

Values in, values out: the clock is an argument, and nothing is read from or written to disk here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from webhook.pair import Pair

# The CA lives long, because every API server trusts it by a copy in the webhook configuration; a leaf is replaced
# by running the same command again, without touching that copy.
CA_DAYS: Final = 3650
LEAF_DAYS: Final = 365
BACKDATED: Final = timedelta(hours=1)  # clocks of nodes differ; "not yet valid" right after install is the symptom (T2)
CN_CHARACTERS: Final = 64  # the limit of X.509 for a common name
CLUSTER_DOMAIN: Final = "cluster.local"


class UnreadableError(ValueError):
    """A PEM text holds no certificate or key that can be read; the message is a plain sentence."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a certificate says. Times are UTC; `trusted` says whether the CA that was given signed it."""

    subject: str
    issuer: str
    names: tuple[str, ...]
    not_before: datetime
    not_after: datetime
    key_type: str
    serial: str
    is_ca: bool
    trusted: bool | None = None


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """List every name by which a Service is called inside the cluster (T1)."""
    full = f"{service}.{namespace}.svc"
    return service, f"{service}.{namespace}", full, f"{full}.{CLUSTER_DOMAIN}"


def issue_ca(now: datetime, *, days: int = CA_DAYS) -> Pair:
    """Make a CA: P-256, may sign leaves only."""
    key = ec.generate_private_key(ec.SECP256R1())
    # The serial number in the name keeps two CAs of ours apart when both are in one trust bundle.
    name = _name(f"drainhook CA {x509.random_serial_number() & 0xFFFFFFFF:08x}")
    usage = _usage(key_cert_sign=True, crl_sign=True)
    dates = (now - BACKDATED, now + timedelta(days=days))
    builder = _builder(name, name, key.public_key(), dates).add_extension(usage, critical=True)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return _pair(builder.sign(key, hashes.SHA256()), key)


def issue_leaf(ca: Pair, names: Sequence[str], now: datetime, *, days: int = LEAF_DAYS) -> Pair:
    """Make a server certificate for DNS names and IP addresses, signed by the CA and never outliving it.

    Raises ValueError where a name is neither, or where the CA has ended or does not fit its key.
    """
    authority, signer = _certificate(ca.certificate), _private_key(ca.key)
    if not names:
        raise ValueError("A server certificate needs at least one name or address.")
    if authority.not_valid_after_utc <= now:
        raise ValueError(f"The CA ended on {authority.not_valid_after_utc:%Y-%m-%d}.")
    if not belongs(ca):
        raise ValueError("The CA's certificate and key do not form a pair.")
    key = ec.generate_private_key(ec.SECP256R1())
    dates = (now - BACKDATED, min(now + timedelta(days=days), authority.not_valid_after_utc))
    builder = _builder(_name(names[0][:CN_CHARACTERS]), authority.subject, key.public_key(), dates)
    for extension, critical in (
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (_usage(digital_signature=True), True),
        (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
        (x509.SubjectAlternativeName([_general_name(name) for name in names]), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), False),
    ):
        builder = builder.add_extension(extension, critical=critical)
    return _pair(builder.sign(signer, hashes.SHA256()), key)


def describe(certificate: bytes, ca: bytes | None = None) -> Description:
    """Say what the first certificate of a PEM text holds, and whether the CA (its first certificate) signed it.

    Raises UnreadableError.
    """
    leaf = _certificate(certificate)
    return Description(
        subject=leaf.subject.rfc4514_string(),
        issuer=leaf.issuer.rfc4514_string(),
        names=_names(leaf),
        not_before=leaf.not_valid_before_utc,
        not_after=leaf.not_valid_after_utc,
        key_type=_key_type(leaf),
        serial=f"{leaf.serial_number:x}",
        is_ca=_is_ca(leaf),
        trusted=None if ca is None else _is_signed(leaf, _certificate(ca)),
    )


def belongs(pair: Pair) -> bool:
    """Say whether the key is that of the certificate. Raises UnreadableError."""
    ours = _private_key(pair.key).public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    theirs = _certificate(pair.certificate).public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return ours == theirs


def to_pem(der: bytes) -> bytes:
    """Turn a DER certificate (what a TLS peer sends) into PEM. Raises UnreadableError."""
    try:
        return x509.load_der_x509_certificate(der).public_bytes(Encoding.PEM)
    except ValueError:
        raise UnreadableError("The peer's certificate cannot be read.") from None


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, dates: tuple[datetime, datetime]
) -> x509.CertificateBuilder:
    """Fill what CA and leaf have in common, so that they cannot drift apart."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(dates[0])
        .not_valid_after(dates[1])
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        if not name or not name.isascii() or any(letter in name for letter in " /:@"):
            raise ValueError(f"{name!r} is neither a DNS name nor an IP address.") from None
        return x509.DNSName(name)


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Pair(certificate.public_bytes(Encoding.PEM), pem)


def _certificate(pem: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificates(pem)[0]
    except (ValueError, IndexError):
        raise UnreadableError("The text holds no PEM certificate that can be read.") from None


def _private_key(pem: bytes) -> ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey:
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError):  # TypeError: the key is encrypted
        raise UnreadableError("The text holds no unencrypted PEM private key that can be read.") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise UnreadableError("The private key is neither EC nor RSA.")
    return key


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    addresses = [str(address) for address in found.get_values_for_type(x509.IPAddress)]
    return (*found.get_values_for_type(x509.DNSName), *addresses)


def _is_ca(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _key_type(certificate: x509.Certificate) -> str:
    key = certificate.public_key()
    if isinstance(key, ec.EllipticCurvePublicKey):
        return f"EC {key.curve.name}"
    return f"RSA {key.key_size}" if isinstance(key, rsa.RSAPublicKey) else type(key).__name__


def _is_signed(leaf: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
