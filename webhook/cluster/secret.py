"""The one Secret with the webhook's CA and server certificate, shared by all replicas (T5).

Written by create-or-get and with a resourceVersion, so that replicas that start at once agree on one CA. Where the
files go, and who is told about the CA, is decided elsewhere.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from webhook.certificates import UnreadableError, belongs, describe, issue_ca, issue_leaf
from webhook.cluster.client import CONFLICT, NOT_FOUND, ClusterError, Session
from webhook.core.profile import Json
from webhook.pair import CA_CERT, CA_KEY, TLS_CERT, TLS_KEY, Pair

ATTEMPTS: Final = 10  # each lost race means that another replica wrote


@dataclass(frozen=True, slots=True)
class Place:
    """Where the Secret is, and the names that its server certificate must carry."""

    namespace: str
    name: str
    names: tuple[str, ...]

    @property
    def collection(self) -> str:
        """The path of the Secrets of the namespace."""
        return f"/api/v1/namespaces/{self.namespace}/secrets"

    @property
    def path(self) -> str:
        """The path of the Secret."""
        return f"{self.collection}/{self.name}"


@dataclass(frozen=True, slots=True)
class Identity:
    """What a Secret holds: the CA's certificate, its key where we made it, and the server's pair."""

    ca: Pair
    leaf: Pair


def ensure(session: Session, place: Place, now: datetime) -> tuple[Identity, str]:
    """Return an identity that is valid now and the same for every caller, and what was done for that.

    A server certificate past two thirds of its life is replaced by one of the same CA; a CA only when it has ended or
    cannot be read. Raises ClusterError.
    """
    for _ in range(ATTEMPTS):
        secret = _read(session, place)
        held = _held(secret)
        fault = held and leaf_fault(held, place.names, now)
        if held and not fault:
            return held, "used"
        made = _renewed(held, place, now)
        try:
            _write(session, place, secret, made)
        except ClusterError as error:
            if error.status != CONFLICT:
                raise
            continue
        return made, f"replaced ({fault})" if fault else "made"
    raise ClusterError(f"The Secret {place.name} changes all the time; who else writes it?", CONFLICT)


def leaf_fault(identity: Identity, names: Sequence[str], now: datetime) -> str:
    """Say why a server certificate must be replaced; empty for one that may be served."""
    try:
        leaf = describe(identity.leaf.certificate, identity.ca.certificate)
        fits = belongs(identity.leaf)
        ca_end = describe(identity.ca.certificate).not_after
    except UnreadableError as error:
        return str(error)
    if ca_end <= now:
        return "its CA has ended"
    if not leaf.trusted or not fits:
        return "certificate, key and CA do not belong together"
    if not set(names) <= set(leaf.names):
        return "it lacks a name of the Service"
    life = leaf.not_after - leaf.not_before
    return "two thirds of its life are over" if leaf.not_before + life * 2 / 3 <= now else ""


def _renewed(held: Identity | None, place: Place, now: datetime) -> Identity:
    """Issue a server certificate by the CA that is there, or by a new one."""
    if held and not held.ca.key:
        raise ClusterError(
            f"The Secret {place.name} holds a certificate that cannot be served, and no {CA_KEY} to make another one: "
            "renew it where it came from, or delete it."
        )
    if held:
        try:
            return Identity(held.ca, issue_leaf(held.ca, place.names, now))
        except ValueError:  # also UnreadableError: the CA has ended, is damaged, or has another key
            pass
    ca = issue_ca(now)
    return Identity(ca, issue_leaf(ca, place.names, now))


def _read(session: Session, place: Place) -> Json:
    try:
        return session.get(place.path)
    except ClusterError as error:
        if error.status != NOT_FOUND:
            raise
        return None


def _held(secret: Json) -> Identity | None:
    """Take the identity out of a Secret; None where there is none yet (an empty Secret made beforehand counts so)."""
    data = (secret or {}).get("data") or {}
    parts = {key: _decoded(data.get(key)) for key in (CA_CERT, CA_KEY, TLS_CERT, TLS_KEY)}
    if not any(parts.values()):
        return None
    return Identity(Pair(parts[CA_CERT], parts[CA_KEY]), Pair(parts[TLS_CERT], parts[TLS_KEY]))


def _decoded(text: Json) -> bytes:
    try:
        return base64.b64decode(text or "")
    except (binascii.Error, TypeError):
        return b""


def _write(session: Session, place: Place, secret: Json, made: Identity) -> None:
    """Create the Secret, or replace the one that was read: a newer one makes the API server answer 409."""
    parts = {
        CA_CERT: made.ca.certificate,
        CA_KEY: made.ca.key,
        TLS_CERT: made.leaf.certificate,
        TLS_KEY: made.leaf.key,
    }
    data = {key: base64.b64encode(value).decode() for key, value in parts.items()}
    if secret is not None:
        session.put(place.path, {**secret, "data": {**(secret.get("data") or {}), **data}})
        return
    metadata = {"name": place.name, "namespace": place.namespace, "labels": {"app.kubernetes.io/name": "drainhook"}}
    body = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "data": data}
    session.post(place.collection, body)
