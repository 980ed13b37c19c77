"""The version of the cluster around a pod, asked over TLS with the pod's own account."""

from __future__ import annotations

import json
import ssl
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from webhook.certificates import issue_ca, issue_leaf
from webhook.cli.serve import _with_version
from webhook.cluster.version import ATTEMPTS, ask
from webhook.settings import Settings

NOW = datetime.now(UTC)
CA = issue_ca(NOW)
LEAF = issue_leaf(CA, ["127.0.0.1"], NOW)


@pytest.fixture
def account(tmp_path):
    """Make the files that the kubelet mounts into a pod."""
    (tmp_path / "token").write_text("a-token\n")
    (tmp_path / "ca.crt").write_bytes(CA.certificate)
    return tmp_path


@pytest.fixture
def server(tmp_path):
    """Run an API server that only knows its version, and what it was asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.asked.append((self.path, self.headers["Authorization"]))
            content = json.dumps(server.body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_arguments):
            """Stay silent."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.body = [], {"gitVersion": "v1.36.4-gke.100"}
    pair = tmp_path / "pair.pem"
    pair.write_bytes(LEAF.certificate + LEAF.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def environ(server):
    """Return the variables that the kubelet sets."""
    return {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(server.server_port)}


def test_the_version_is_asked_once_with_the_pods_account(server, account):
    assert ask(environ(server), account) == (1, 36)
    assert server.asked == [("/version", "Bearer a-token")]


def test_outside_of_a_cluster_nothing_is_asked(account):
    assert ask({}, account) is None


def test_an_answer_that_is_no_version_is_unknown(server, account):
    """Never guess: the hook ladder then assumes the oldest."""
    server.body = {"gitVersion": "tip"}
    pauses = []
    assert ask(environ(server), account, pause=pauses.append) is None
    assert len(server.asked) == ATTEMPTS == len(pauses) + 1


def test_another_ca_is_not_trusted(server, account):
    """The token must not go to somebody else."""
    (account / "ca.crt").write_bytes(issue_ca(NOW).certificate)
    assert ask(environ(server), account, pause=lambda _: None) is None
    assert server.asked == []


def test_a_pod_without_an_account_does_not_know(server, tmp_path):
    """And does not try again and again."""
    pauses = []
    assert ask(environ(server), tmp_path, pause=pauses.append) is None
    assert (server.asked, pauses) == ([], [])


def test_an_api_server_with_an_ipv6_address_is_asked(account):
    """Its address stands in brackets; nothing answers there."""
    pauses = []
    place = {"KUBERNETES_SERVICE_HOST": "::1", "KUBERNETES_SERVICE_PORT": "1"}
    assert ask(place, account, pause=pauses.append) is None
    assert len(pauses) == ATTEMPTS - 1


@pytest.mark.parametrize("given", [None, (1, 30)])
def test_the_server_asks_only_where_it_was_not_told(server, account, given, monkeypatch):
    """A flag, a variable or a settings file beats the cluster's answer."""
    monkeypatch.setattr("webhook.cluster.version.ACCOUNT", account)
    settings = _with_version(Settings(kubernetes_version=given), environ(server))
    assert settings.kubernetes_version == (given or (1, 36))
    assert len(server.asked) == (given is None)
