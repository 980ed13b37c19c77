"""A certificate and its private key as PEM values, and the file names under which they are kept.

Nothing is made, read or checked here: the server imports it, and no certificate library with it.
"""

from __future__ import annotations

from dataclasses import dataclass

CA_CERT, CA_KEY, TLS_CERT, TLS_KEY = "ca.crt", "ca.key", "tls.crt", "tls.key"
"""In the folder of `certs issue` and in the Secret; the last two are those of a `kubernetes.io/tls` Secret."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, both PEM; the key is never shown by repr()."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        """Keep the key out of logs and tracebacks."""
        return f"Pair({len(self.certificate)} bytes of certificate)"
