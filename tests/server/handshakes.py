"""Handshakes in memory and certificate files: what the tests of TLS have in common."""

from __future__ import annotations

import contextlib
import ssl

from cryptography import x509

from webhook.pair import Pair
from webhook.server.tls import Files


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
