"""Where the server listens (row R5), what it says at the start, and ports that cannot be had."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime

import httpx
import pytest

from webhook.certificates import issue_ca, issue_leaf
from webhook.server.listener import StartError, bind


@pytest.fixture
def certificates(tmp_path):
    """Write a CA and a pair for this machine, and return the flags that name the pair."""
    now = datetime.now(UTC)
    ca = issue_ca(now)
    leaf = issue_leaf(ca, ["localhost", "127.0.0.1", "::1"], now)
    for name, content in (("ca.crt", ca.certificate), ("tls.crt", leaf.certificate), ("tls.key", leaf.key)):
        (tmp_path / name).write_bytes(content)
    return f"--tls-cert={tmp_path / 'tls.crt'}", f"--tls-key={tmp_path / 'tls.key'}"


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback (sysctl net.ipv6.conf)")


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("[::1]", marks=needs_ipv6)])
def test_r5_with_certificates_both_families_are_served(start, tmp_path, certificates, host):
    server = start(*certificates, ca=tmp_path / "ca.crt")

    answer = httpx.get(f"https://{host}:{server.port}/readyz", verify=server.context())

    assert answer.text == "ready\n"


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("::1", marks=needs_ipv6)])
def test_r5_one_socket_takes_both_families(host):
    with bind(None, 0, "--port") as listening:
        socket.create_connection((host, listening.getsockname()[1]), 5).close()


def test_r5_without_ipv6_all_ipv4_addresses_are_served(monkeypatch):
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)

    with bind(None, 0, "--port") as listening:
        assert (listening.family, listening.getsockname()[0]) == (socket.AF_INET, "0.0.0.0")  # noqa: S104 (the claim)


def test_r5_without_certificates_only_this_machine_is_served(server):
    assert f" serves https://127.0.0.1:{server.port}, CA in {server.ca}, " in server.greeting


def test_the_greeting_says_how_to_try_it(server):
    address = f"https://127.0.0.1:{server.port}"
    command = f"curl --cacert {server.ca} {address}/readyz"

    assert server.greeting.endswith(f"metrics on port {server.metrics_port}. Try: {command}\n")
    assert httpx.get(f"{address}/readyz", verify=server.context()).status_code == 200


@needs_ipv6
def test_an_ipv6_host_is_written_in_brackets(start):
    server = start("--host=::1")

    assert f" serves https://[::1]:{server.port}, " in server.greeting
    assert httpx.get(f"https://[::1]:{server.port}/healthz", verify=server.context()).text == "ok\n"


def test_a_taken_port_is_one_plain_sentence():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        text = f"Port {port} is taken by another process; choose another one with --metrics-port."

        with pytest.raises(StartError) as fault:
            bind("127.0.0.1", port, "--metrics-port")

    assert str(fault.value) == text


def test_a_host_that_is_none_is_one_plain_sentence():
    with pytest.raises(StartError, match=r"^Cannot listen on no host\.invalid, port 0 \(--port\): .*\.$"):
        bind("no host.invalid", 0, "--port")


def test_the_metrics_page_is_all_there_is_on_its_port(server):
    found = [httpx.get(f"http://127.0.0.1:{server.metrics_port}{path}") for path in ("/metrics", "/mutate", "/")]

    assert [answer.status_code for answer in found] == [200, 404, 404]
    assert found[0].headers["content-type"].startswith("text/plain; version=")


def test_the_first_log_line_says_where_it_serves(server):
    first = json.loads(server.log.read_text().splitlines()[0])

    assert (first["event"], first["address"]) == ("started", f"https://127.0.0.1:{server.port}")
