"""`drainhook serve` as a command: settings, profiles, refusals, and certificates of its own."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import httpx
from click.testing import CliRunner

from tests.server.reviews import pod, review, well_formed
from webhook.certificates import describe
from webhook.cli.certs import certs
from webhook.cli.serve import serve
from webhook.server import own


def refused(*arguments, **environment):
    """Run the command, which must end with 2, and return what it says."""
    result = CliRunner(env=environment).invoke(serve, [str(argument) for argument in arguments])
    assert result.exit_code == 2, result.output
    return result.output


def test_a_review_is_patched_with_no_flag_but_the_ports(start):
    server = start()
    with server.client() as client:
        body = review(pod())
        response = well_formed(client.post("/mutate", json=body).json(), body["request"]["uid"])

    assert response["patchType"] == "JSONPatch"


def test_the_settings_file_rules(start, tmp_path):
    """`validatePods: deny` refuses a faulty pod, and `logLevel: error` keeps the log empty."""
    path = tmp_path / "settings.yaml"
    path.write_text("logLevel: error\nvalidatePods: deny\nrules:\n- backend: vllm\n  image: '*vllm*'\n")
    server = start(f"--settings={path}")
    document = pod()
    document["metadata"]["annotations"] = {"drainhook.dev/drain-seconds": "-5"}
    with server.client() as client:
        response = client.post("/validate", json=review(document)).json()["response"]

    assert response["allowed"] is False
    assert server.lines() == []


def test_the_environment_names_the_settings_file(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text("port: x\n")

    assert refused(DRAINHOOK_SETTINGS=str(path)) == f"Error: {path}: port: 'x' is no port; it must be 0 to 65535.\n"


def test_every_fault_is_one_line():
    output = refused("--port", "x", "--log-level", "loud")

    assert output.splitlines() == [
        "Error: --port: 'x' is no port; it must be 0 to 65535.",
        "Error: --log-level: 'loud' is none of debug, info, warning, error.",
    ]


def test_a_settings_file_that_cannot_be_read_is_said(tmp_path):
    (tmp_path / "latin").write_bytes(b"\xff")

    assert (
        refused("--settings", tmp_path / "no") == f"Error: --settings {tmp_path / 'no'}: No such file or directory.\n"
    )
    assert refused("--settings", tmp_path / "latin") == f"Error: --settings {tmp_path / 'latin'}: is not UTF-8 text.\n"


def test_a_taken_port_ends_with_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        output = refused("--port", port, "--metrics-port=0")

    assert output == f"Error: Port {port} is taken by another process; choose another one with --port.\n"


def test_a_start_that_fails_for_its_port_leaves_the_ca_file_of_the_server_that_runs(server):
    before = server.ca.read_bytes()

    refused(f"--port={server.port}", "--metrics-port=0", f"--ca-out={server.ca}")
    refused("--port=0", f"--metrics-port={server.metrics_port}", f"--ca-out={server.ca}")

    assert server.ca.read_bytes() == before


def test_certificates_that_are_not_there_are_said(tmp_path):
    output = refused(f"--tls-cert={tmp_path / 'a'}", f"--tls-key={tmp_path / 'b'}", "--port=0", "--metrics-port=0")

    assert output == f"Error: {tmp_path / 'a'}: No such file or directory.\n"


def test_a_file_that_is_no_certificate_is_said(tmp_path):
    (tmp_path / "a").write_text("x")

    output = refused(f"--tls-cert={tmp_path / 'a'}", f"--tls-key={tmp_path / 'a'}", "--port=0", "--metrics-port=0")

    assert output == "Error: The certificate and key cannot be read.\n"


def test_a_ca_that_cannot_be_written_is_said(tmp_path):
    output = refused(f"--ca-out={tmp_path / 'no' / 'ca.crt'}", "--port=0", "--metrics-port=0")

    assert output.endswith(": No such file or directory.\n")


def test_invalid_profiles_refuse_the_start(tmp_path):
    (tmp_path / "mine.yaml").write_text("title: [\n")
    output = refused(f"--profiles={tmp_path}")

    assert output.splitlines()[-1] == "Error: Correct the profiles, or start without these by --skip-invalid-profiles."
    assert f"Error: {tmp_path / 'mine.yaml'}:" in output


def test_invalid_profiles_are_skipped_when_asked(tmp_path):
    """The fault is still said, before the greeting."""
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "mine.yaml").write_text("title: [\n")
    command = [sys.executable, "-m", "webhook", "serve", f"--profiles={folder}"]
    flags = ["--skip-invalid-profiles", "--port=0", "--metrics-port=0"]

    with subprocess.Popen([*command, *flags], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        first = process.stderr.readline()
        while " serves https://" not in (line := process.stderr.readline()):
            assert line, "it ended"
        process.terminate()
        assert process.wait(20) == 0

    assert first.startswith(f"Warning: {folder / 'mine.yaml'}")


def test_what_certs_issue_writes_can_be_served_and_inspected(start, tmp_path):
    folder = tmp_path / "certs"
    CliRunner().invoke(certs, ["issue", "-d", str(folder), "--name", "localhost"])
    flags = [f"--tls-cert={folder / 'tls.crt'}", f"--tls-key={folder / 'tls.key'}", "--host=127.0.0.1"]
    server = start(*flags, ca=folder / "ca.crt")

    result = CliRunner().invoke(certs, ["inspect", server.url, "--ca", str(folder / "ca.crt"), "-o", "json"])

    assert httpx.get(f"{server.url}/readyz", verify=server.context()).text == "ready\n"
    assert (result.exit_code, json.loads(result.output)["signedByCA"]) == (0, True)


def test_an_own_certificate_names_the_host_that_was_given():
    ca, pair = own.make(["localhost", "10.0.0.1"])

    found = describe(pair.certificate, ca)
    assert (found.names, found.trusted) == (("localhost", "10.0.0.1"), True)


def test_no_heavy_library_is_loaded_for_serving():
    """The certificate library stays out of the server, and the client of Kubernetes out of both."""
    code = "import sys, webhook.cli.serve, webhook.server.run; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert not {"cryptography", "kubernetes", "jsonschema", "websockets", "httpx"} & set(loaded)


def test_the_command_itself_imports_nothing_heavy():
    code = "import sys, webhook.cli.serve, webhook.cli.certs; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert not {"fastapi", "uvicorn", "yaml", "cryptography", "prometheus_client"} & set(loaded)
