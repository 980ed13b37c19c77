"""Keys, certificates and kubeconfigs of one cluster, made anew each time.

Only files: nothing here starts anything. The cluster dies within days, so a year is long enough for all of them.
"""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.cluster.pins import API_PORT, FIRST_SERVICE_ADDRESS, NODE, NODE_ADDRESS
from tests.cluster.places import Places

ADMIN: Final = "admin"
INSIDE: Final = "inside"
_VALID: Final = timedelta(days=365)
_API_NAMES: Final = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_API_ADDRESSES: Final = ("127.0.0.1", NODE_ADDRESS, FIRST_SERVICE_ADDRESS)


@dataclass(frozen=True, slots=True)
class Subject:
    """Who a certificate is for: user or server name, group, names and addresses it serves."""

    name: str
    group: str = ""
    hosts: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()


# The user names and groups are those that the built-in RBAC roles and the node authorizer expect.
_LEAVES: Final = {
    "apiserver": Subject("kube-apiserver", hosts=_API_NAMES, addresses=_API_ADDRESSES),
    ADMIN: Subject("admin", "system:masters"),
    "kubelet": Subject(f"system:node:{NODE}", "system:nodes", (NODE,), (NODE_ADDRESS,)),
    "controllers": Subject("system:kube-controller-manager"),
    "scheduler": Subject("system:kube-scheduler"),
    "proxy": Subject("system:kube-proxy"),
}
_USERS: Final = (ADMIN, "kubelet", "controllers", "scheduler", "proxy")


class Authority:
    """A certificate authority that lives as long as this object."""

    def __init__(self, name: str) -> None:
        """Make its key and its certificate."""
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _builder(self.name, self.name, self.key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.certificate = builder.sign(self.key, hashes.SHA256())

    def issue(self, subject: Subject) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
        """Sign a certificate that serves and calls: each of these names does both somewhere."""
        key = ec.generate_private_key(ec.SECP256R1())
        parts = [x509.NameAttribute(NameOID.COMMON_NAME, subject.name)]
        if subject.group:
            parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, subject.group))
        builder = _builder(x509.Name(parts), self.name, key.public_key())
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        builder = builder.add_extension(usage, critical=False)
        names: list[x509.GeneralName] = [x509.DNSName(host) for host in subject.hosts]
        names += [x509.IPAddress(ipaddress.ip_address(address)) for address in subject.addresses]
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return key, builder.sign(self.key, hashes.SHA256())


def write(places: Places, door: int) -> None:
    """Write all keys, certificates and kubeconfigs; `door` is the host's port that leads to the API server."""
    folder = places.certificates
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = Authority("drainhook-test-ca")
    front = Authority("drainhook-test-front-ca")
    _save(folder, "ca", authority.key, authority.certificate)
    _save(folder, "front-ca", front.key, front.certificate)
    for name, subject in _LEAVES.items():
        _save(folder, name, *authority.issue(subject))
    _save(folder, "front-proxy", *front.issue(Subject("front-proxy")))
    tokens = rsa.generate_private_key(65_537, 2048)  # signs the tokens of service accounts
    _save_key(folder / "tokens.key", tokens)
    (folder / "tokens.pub").write_bytes(_public(tokens))
    for user in _USERS:
        _kubeconfig(places, user, user, door if user == ADMIN else API_PORT)
    _kubeconfig(places, INSIDE, ADMIN, API_PORT)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    begin = datetime.now(UTC) - timedelta(minutes=5)
    return x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number(), begin, begin + _VALID)


def _save(folder: Path, name: str, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
    _save_key(folder / f"{name}.key", key)
    (folder / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _save_key(path: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    form = serialization.PrivateFormat.TraditionalOpenSSL
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))


def _public(key: rsa.RSAPrivateKey) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form)


def _kubeconfig(places: Places, name: str, user: str, port: int) -> None:
    folder = places.certificates
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(folder / "ca.crt")}
    keys = {"client-certificate": str(folder / f"{user}.crt"), "client-key": str(folder / f"{user}.key")}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "drainhook",
        "clusters": [{"name": "drainhook", "cluster": cluster}],
        "users": [{"name": user, "user": keys}],
        "contexts": [{"name": "drainhook", "context": {"cluster": "drainhook", "user": user}}],
    }
    path = places.kubeconfig(name)
    path.touch(mode=0o600)
    path.write_text(json.dumps(content, indent=1))
