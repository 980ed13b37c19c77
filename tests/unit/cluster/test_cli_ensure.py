"""`drainhook certs ensure`: the files, the Secret and the caBundle belong together."""

from __future__ import annotations

import base64

import pytest

from tests.unit.cluster.apiserver import kubeconfig
from tests.unit.cluster.commandline import drainhook
from webhook import names
from webhook.certificates import belongs, describe, service_names
from webhook.cluster.bundle import GROUP, KINDS
from webhook.pair import Pair

SECRET = f"/api/v1/namespaces/{names.SYSTEM_NAMESPACE}/secrets/{names.TLS_SECRET}"
PATHS = [f"{GROUP}/{kind}/{names.CONFIGURATION}" for kind in KINDS]


@pytest.fixture
def run(api, tmp_path):
    """Run the command against the small server."""
    path = str(kubeconfig(tmp_path, api.url))
    for place in PATHS:
        api.add(place, {"metadata": {"name": "drainhook"}, "webhooks": [{"name": "a", "clientConfig": {}}]})

    def call(*arguments):
        return drainhook("certs", "ensure", "-d", tmp_path / "tls", *arguments, "--kubeconfig", path)

    return call


def test_files_secret_and_bundle_agree(run, api, tmp_path):
    """What the server serves is what the API server trusts."""
    result = run()
    files = {path.name: path.read_bytes() for path in (tmp_path / "tls").iterdir()}
    data = {key: base64.b64decode(text) for key, text in api.objects[SECRET]["data"].items()}
    bundles = {base64.b64decode(api.objects[path]["webhooks"][0]["clientConfig"]["caBundle"]) for path in PATHS}

    assert result.exit_code == 0, result.stderr
    assert files == {key: data[key] for key in ("ca.crt", "tls.crt", "tls.key")}
    assert bundles == {files["ca.crt"]}
    assert belongs(Pair(files["tls.crt"], files["tls.key"]))
    assert describe(files["tls.crt"], files["ca.crt"]).names == service_names(names.SERVICE, names.SYSTEM_NAMESPACE)


def test_the_ca_key_stays_in_the_secret_and_the_server_key_private(run, tmp_path):
    run()
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "tls").iterdir()}
    assert modes == {"ca.crt": 0o644, "tls.crt": 0o644, "tls.key": 0o600}


def test_it_says_what_it_did(run, tmp_path):
    first, second = run().stdout, run().stdout
    place = f"Secret {names.SYSTEM_NAMESPACE}/{names.TLS_SECRET}"
    written = f"certificate and key written to {tmp_path / 'tls'}."

    assert first == f"{place}: made; {written}\ncaBundle of drainhook: {', '.join(KINDS)}.\n"
    assert second == f"{place}: used; {written}\ncaBundle of drainhook: already the right one.\n"


def test_a_configuration_that_comes_later_is_waited_for(run, api):
    """`kubectl apply` sends it last."""
    later = api.objects.pop(PATHS[1])
    api.before("GET", PATHS[1], lambda: api.refuse("GET", PATHS[1], (404, "not found")))
    api.objects[PATHS[1]] = later
    assert run().exit_code == 0


def test_what_does_not_come_ends_it_in_one_line(run, api):
    """The kubelet starts the init container again."""
    del api.objects[PATHS[1]]
    result = run("--wait", "0")
    assert (result.exit_code, result.stderr) == (2, 'drainhook: "drainhook" not found\n')


def test_a_folder_that_cannot_be_written_is_one_line(run, tmp_path):
    (tmp_path / "tls").write_text("a file")
    result = run()
    assert (result.exit_code, result.stderr) == (2, f"drainhook: {tmp_path / 'tls'}: File exists.\n")
