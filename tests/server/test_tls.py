"""TLS as the API server and others meet it: versions, names, tickets, and what is no TLS at all."""

from __future__ import annotations

import contextlib
import socket
import ssl
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.server.handshakes import handshake
from webhook.certificates import issue_leaf
from webhook.server.tls import load

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_t10_tls_1_2_and_1_3_are_spoken(server, version):
    context = server.context(minimum_version=version, maximum_version=version)

    with httpx.Client(verify=context) as client:
        assert client.get(f"{server.url}/healthz").status_code == 200


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_t10_tls_1_1_is_refused(authority):
    versions = {"minimum_version": ssl.TLSVersion.TLSv1, "maximum_version": ssl.TLSVersion.TLSv1_1}

    with pytest.raises(ssl.SSLError, match="UNSUPPORTED_PROTOCOL"):
        handshake(load(issue_leaf(authority, ["localhost"], NOW)), **versions)


def test_t10_the_least_version_is_said_and_not_left_to_the_build(authority):
    assert load(issue_leaf(authority, ["localhost"], NOW)).minimum_version is ssl.TLSVersion.TLSv1_2


def test_t11_no_session_tickets_are_given(authority):
    """The API server resumes no session, and a resumed one would skip the look at a client's certificate."""
    context = load(issue_leaf(authority, ["localhost"], NOW))
    session = handshake(context, maximum_version=ssl.TLSVersion.TLSv1_2).session

    assert (session.has_ticket, context.num_tickets) == (False, 0)


def test_a_port_scanner_leaves_no_trace(start):
    """Plain HTTP and closed connections on the TLS port: served on, and nothing said."""
    server = start()
    for spoken in (b"GET / HTTP/1.1\r\n\r\n", b""):
        with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
            connection.sendall(spoken)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                connection.recv(100)

    assert server.ready() == 200
    server.process.terminate()
    assert (server.process.wait(20), server.process.stderr.read()) == (0, "")
    assert [line["event"] for line in server.lines()] == ["started", "stopping", "stopped"]


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_the_own_ca_signs_for_this_machine(server, name):
    with httpx.Client(verify=server.context()) as client:
        assert client.get(f"https://{name}:{server.port}/readyz").text == "ready\n"


def test_the_own_ca_is_public_and_holds_no_key(server):
    assert server.ca.stat().st_mode & 0o777 == 0o644
    assert b"PRIVATE" not in server.ca.read_bytes()
