"""The example server is drained as the article asks (C1 to C11), and try.py says so, or says what is wrong.

The server, its model, the middleware, the drain hook and try.py are the real ones; kubectl is a stand-in, since the
same exercise on a cluster belongs to the stories.
"""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest

from tests.examples.servers import EXAMPLE, Cluster, Server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.engine,
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="pip install -e '.[engine]'"),
]
LOG = runpy.run_path(str(EXAMPLE / "try.py"))["LOG"]
HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Give the folder where the random model is made once."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def shared(models, tmp_path_factory):
    """Start a server for tests that do not end it."""
    server = Server("pod-a", tmp_path_factory.mktemp("server"), models)
    yield server
    server.kill()


@pytest.fixture
def pair(models, tmp_path):
    """Start two servers behind a Service, with the stand-in for kubectl before them."""
    with Cluster(tmp_path, models) as cluster:
        yield cluster


def rows(done):
    """Give the table's rows: what was expected, and whether it held."""
    found = re.findall(r"^(ok  |FAIL)  (.{44})", done.stdout, re.MULTILINE)
    return {what.strip(): mark == "ok  " for mark, what in found}


def test_the_api_is_openais(shared):
    """A model list, a whole answer, a stream with its final event; counts only for those who ask."""
    status, headers, text = shared.ask("POST", "/v1/chat/completions", {"messages": HELLO, "max_tokens": 3})
    answer = json.loads(text)
    assert (status, headers["x-served-by"], answer["object"]) == (200, "pod-a", "chat.completion")
    assert answer["usage"]["completion_tokens"] == 3

    ask = {"messages": HELLO, "max_tokens": 3, "ignore_eos": True, "stream": True}
    _, headers, text = shared.ask("POST", "/v1/chat/completions", ask)
    *events, done = [line.removeprefix("data: ") for line in text.splitlines() if line]
    chunks = [json.loads(event) for event in events]
    assert headers["content-type"].startswith("text/event-stream")
    assert done == "[DONE]"
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks if chunk["choices"]][-1] == "length"
    assert [chunk for chunk in chunks if "usage" in chunk] == []
    assert json.loads(shared.ask("GET", "/v1/models")[2])["data"][0]["id"] == "random"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "'messages' is required"),
        ({"messages": "hello"}, "'messages' to be an array"),
        ({"messages": [{"role": "user", "content": "a" * 100_000}], "stream": True}, "exceeds the available context"),
    ],
)
def test_a_request_that_cannot_be_read_is_400(shared, body, says):
    """Also where a stream was asked for: no status can follow once it has begun."""
    status, _, text = shared.ask("POST", "/v1/chat/completions", body)
    assert (status, says in json.loads(text)["error"]["message"]) == (400, True)


def test_tokens_and_requests_are_counted(shared):
    """One page holds the server's own counters and the middleware's four."""
    before = shared.ask("GET", "/metrics")[2]
    shared.ask("POST", "/v1/chat/completions", {"messages": HELLO, "max_tokens": 4, "ignore_eos": True, "stream": True})
    after = shared.ask("GET", "/metrics")[2]

    assert (
        value(after, 'llm_tokens_total{kind="completion"}') - value(before, 'llm_tokens_total{kind="completion"}') == 4
    )
    done = 'llm_requests_total{outcome="completed"}'
    assert value(after, done) - value(before, done) == 1
    four = ("inflight_requests", "requests_rejected_draining_total", "draining", "shutdown_duration_seconds")
    assert [value(after, name) for name in four] == [0, 0, 0, 0]


def value(page, name):
    """Read one sample, 0 where it is not there yet."""
    found = re.search(rf"^{re.escape(name)} (\S+)", page, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_a_client_that_goes_ends_its_generation(shared):
    """Nobody reads on, so nothing is generated on: the slot is free for others."""
    client = "import http.client, json, sys\nc = http.client.HTTPConnection(sys.argv[1])\n"
    client += "c.request('POST', '/v1/chat/completions', sys.argv[2], {'Content-Type': 'application/json'})\n"
    client += "c.getresponse().readline()\n"
    ask = {"messages": HELLO, "max_tokens": 8000, "ignore_eos": True, "stream": True}
    place = shared.url.removeprefix("http://")
    subprocess.run([sys.executable, "-c", client, place, json.dumps(ask)], check=True, timeout=60)

    end = time.monotonic() + 20
    while value(shared.ask("GET", "/metrics")[2], "inflight_requests") and time.monotonic() < end:
        time.sleep(0.05)
    page = shared.ask("GET", "/metrics")[2]
    assert (value(page, "inflight_requests"), value(page, 'llm_requests_total{outcome="cut"}')) == (0, 1)


@pytest.mark.usefixtures("shared")
def test_sigterm_alone_lets_a_short_stream_end(models, tmp_path):
    """Without a hook, too: new work is refused, the stream is whole, the model is freed, and the code is 0 (C5)."""
    mine = models / "mine.gguf"
    mine.hardlink_to(models / "random.gguf")
    server = Server("pod-c", tmp_path, models, MODEL=str(mine))
    assert json.loads(server.ask("GET", "/v1/models")[2])["data"][0]["id"] == "mine"

    words = [sys.executable, str(EXAMPLE / "client.py"), "streams", server.url, "1", "100"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as client:
        assert json.loads(client.stdout.readline())["event"] == "began"
        ended = server.end(with_hook=False)
        told = json.loads(client.stdout.readline())

    assert (told["status"], told["tokens"], told["why"]) == (200, 100, "")
    assert (ended.exit_code, ended.killed) == (0, False)
    places = [server.log.find(text) for text in ("SIGTERM: in flight 1", "clean-up Model.free took", "at the end 0")]
    assert places == sorted(places)
    assert -1 not in places


def test_try_shows_the_whole_exercise(pair):
    """Five streams whole, 503 from the leaving pod, 200 by the Service, the log in order, exit code 0 (C9)."""
    done = pair.run_try(seconds=8)

    found = rows(done)
    assert (done.returncode, [what for what, holds in found.items() if not holds]) == (0, []), done.stdout + done.stderr
    assert {f"log: {what}" for what in LOG} <= set(found)
    assert len([what for what in found if what.startswith("stream ")]) == 5
    (record,) = [json.loads(path.read_text()) for path in pair.folder.glob("*.record")]
    assert record["end"] == "called"
    left = json.loads((pair.folder / "applied.json").read_text())["spec"]["containers"][0]
    assert left["image"] == pair.servers[0].spec["containers"][0]["image"]


def test_try_fails_where_the_hook_did_not_run(pair):
    """SIGTERM at once: the middleware cuts what takes longer than its 10 s, and the table says which rows."""
    pair.with_hook = False

    done = pair.run_try(seconds=14)

    failed = [what for what, holds in rows(done).items() if not holds]
    assert done.returncode == 1
    assert {"a new request to the draining pod: 503", "log: the drain begins"} <= set(failed)
    assert [what for what in failed if what.startswith("stream ")] != []
    assert f"{len(failed)} of " in done.stdout


def test_try_says_that_drainhook_is_missing(pair):
    """Without the hook nothing is deleted; the message says what to do."""
    for server in pair.servers:
        pod = server.pod()
        del pod["spec"]["containers"][0]["lifecycle"]
        (pair.folder / f"{server.name}.json").write_text(json.dumps(pod))

    done = pair.run_try(seconds=1)

    assert done.returncode == 1
    assert "pod pod-a has no drain hook: install drainhook" in done.stderr
    assert list(pair.folder.glob("*.deleted")) == []


def test_try_says_what_kubectl_said(tmp_path):
    """A wrong context or a missing Deployment is one line."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("#!/bin/sh\necho 'error: context \"nowhere\" does not exist' >&2; exit 1\n")
    kubectl.chmod(0o755)
    words = [sys.executable, str(EXAMPLE / "try.py")]
    environment = {"KUBECTL": str(kubectl), "CONTEXT": "nowhere"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("try.py: kubectl rollout status deployment/llm-server")
    assert done.stderr.endswith('error: context "nowhere" does not exist\n')
