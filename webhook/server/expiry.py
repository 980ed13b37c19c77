"""When a certificate ends, read from its bytes: the one thing that the server must know of a certificate.

Nothing else is read here. A certificate library would cost the server 9 MiB for it; the tests compare with one.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from typing import Final

_HEADER: Final = "-----BEGIN CERTIFICATE-----"
_FOOTER: Final = "-----END CERTIFICATE-----"
_SEQUENCE: Final = 0x30
_VERSION: Final = 0xA0  # [0] EXPLICIT, absent in version 1
_UTC_TIME: Final = 0x17
_LONG: Final = 0x80  # the length's own length follows in the lower bits
# Fields of a TBSCertificate (RFC 5280, 4.1) that stand between the version and the validity.
_BEFORE_VALIDITY: Final = ("serialNumber", "signature", "issuer")
_CENTURY_YEARS: Final = 50  # a two-digit year below this is 20xx (RFC 5280, 4.1.2.5.1)


def ends(pem: bytes) -> datetime:
    """Return the notAfter of the first certificate of a PEM text, in UTC. Raises ValueError."""
    text = pem.decode("ascii", "replace")
    start = text.find(_HEADER)
    stop = text.find(_FOOTER, start)
    if start < 0 or stop < 0:
        raise ValueError("The text holds no PEM certificate.")
    try:
        return _not_after(ssl.PEM_cert_to_DER_cert(text[start : stop + len(_FOOTER)]))
    except (IndexError, ValueError):
        raise ValueError("The certificate cannot be read.") from None


def _not_after(der: bytes) -> datetime:
    """Walk Certificate > TBSCertificate > validity > notAfter."""
    certificate, _ = _content(der, _SEQUENCE)
    rest, _ = _content(certificate, _SEQUENCE)
    if rest[0] == _VERSION:
        _, rest = _content(rest, _VERSION)
    for _ in _BEFORE_VALIDITY:
        _, rest = _content(rest, rest[0])
    validity, _ = _content(rest, _SEQUENCE)
    _, second = _content(validity, validity[0])
    written, _ = _content(second, second[0])
    text = written.decode("ascii")
    if second[0] == _UTC_TIME:
        text = ("20" if int(text[:2]) < _CENTURY_YEARS else "19") + text
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


def _content(der: bytes, tag: int) -> tuple[bytes, bytes]:
    """Split a DER text into the content of its first element, which must have the tag, and what follows it."""
    if der[0] != tag:
        raise ValueError(der[0])
    length, start = der[1], 2
    if length >= _LONG:
        start += length - _LONG
        length = int.from_bytes(der[2:start], "big")
    if start + length > len(der):
        raise ValueError(length)
    return der[start : start + length], der[start + length :]
