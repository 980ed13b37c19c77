"""Who may ask for a drain: the pod itself, networks that were named, and who knows the token.

Only the peer's address counts. A request that came through a proxy carries the proxy's address, so it is refused
whatever its header says.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any, Final

# By these a request that came through a proxy is known; the sidecars of meshes speak from the loopback too.
_BY_PROXY: Final = (b"forwarded", b"via", b"x-forwarded", b"x-real-ip", b"x-envoy-", b"l5d-")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Callers:
    """The rule for one application."""

    def __init__(self, networks: Iterable[str], token: str | None) -> None:
        """Take networks as 10.0.0.0/8; raise ValueError for what is none, and for an empty token."""
        if isinstance(networks, str):
            raise ValueError(f"drain_from={networks!r}: expected a list of networks like ['10.0.0.0/8']")  # noqa: TRY004
        self._networks = [_network(text) for text in networks]
        if token is not None and not (token and token.isascii()):
            raise ValueError("token: expected ASCII text that is not empty")
        self._token = token.encode() if token else None

    def refusal(self, scope: Mapping[str, Any]) -> str:
        """Say why a caller may not, empty where it may."""
        headers = list(scope.get("headers", ()))  # ASGI promises an iterable only
        if self._token and any(name == b"authorization" and self._knows(value) for name, value in headers):
            return ""
        if passed := [name for name, _ in headers if name.startswith(_BY_PROXY)]:
            return f"the call came through a proxy (header {min(passed)[:40].decode('latin-1')})"
        peer, own = (_address((scope.get(key) or ("",))[0]) for key in ("client", "server"))
        if peer is None:
            return "the caller has no address"
        if peer.is_loopback or peer == own or any(peer in network for network in self._networks):
            return ""
        return f"{peer} is neither this pod nor in drain_from"

    def _knows(self, authorization: bytes) -> bool:
        scheme, _, token = authorization.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token, self._token or b"")


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise ValueError(f"drain_from: {error}; expected a network like 10.0.0.0/8") from None


def _address(text: str) -> _Address | None:
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
