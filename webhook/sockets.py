"""Binding a listening socket, for every server of drainhook. Standard library only: the sidecar imports it."""

from __future__ import annotations

import socket


def bind(host: str | None, port: int) -> socket.socket:
    """Bind a port: on all addresses of both families where no host is given (R5). Raises OSError."""
    if host is not None:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    if socket.has_dualstack_ipv6():
        return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("0.0.0.0", port))  # noqa: S104 (meant: IPv6 is off)
