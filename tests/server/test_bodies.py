"""Bodies that break servers: rows W11 (size) and W12 (JSON hazards)."""

from __future__ import annotations

import json

import pytest

from tests.server.conftest import eventually
from tests.server.reviews import JSON, pod, review, well_formed

MIB = 1 << 20


def padded(size):
    """Return a valid review of about this many bytes."""
    document = pod()
    document["metadata"]["managedFields"] = [{"manager": "x" * size}]
    return json.dumps(review(document)).encode()


def test_w11_eight_mebibytes_are_refused(client):
    answer = client.post("/mutate", content=padded(8 * MIB), headers=JSON)

    assert answer.status_code == 413


def test_w11_the_limit_counts_while_the_body_streams_in(client):
    """Chunked: no content length says beforehand how much will come."""
    body = padded(8 * MIB)
    chunks = (body[start : start + MIB] for start in range(0, len(body), MIB))

    assert client.post("/mutate", content=chunks, headers=JSON).status_code == 413


def test_w11_two_objects_of_three_megabytes_fit(client):
    body = padded(6_500_000)

    response = well_formed(client.post("/mutate", content=body, headers=JSON).json(), review(None)["request"]["uid"])

    assert response["patchType"] == "JSONPatch"


def test_w11_the_server_serves_on_after_a_refused_body(server):
    with server.client() as client:
        client.post("/mutate", content=padded(8 * MIB), headers=JSON)

        assert client.post("/mutate", json=review(pod())).status_code == 200


def annotated(text):
    """Return a review with this raw JSON text as the value of an annotation."""
    body = json.dumps(review({**pod(), "x": "VALUE"}))
    return body.replace('"VALUE"', text).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe\xfd",
        annotated('"\udcff"'),
        annotated(r'"\ud800"'),
        annotated(r'"\udc00\ud800"'),
        annotated("9" * 5000),
        annotated("NaN"),
        annotated("Infinity"),
        annotated("1e999"),
        annotated("[" * 100_000 + "]" * 100_000),
        annotated('{"a":' * 3000 + "1" + "}" * 3000),
        json.dumps(review(pod())).encode("utf-16"),
        b"\xef\xbb\xbf{}",
        b"{",
        b"{} {}",
        b"null",
        b"\x00",
    ],
    ids=[
        "bytes", "bad-utf8", "lone-surrogate", "swapped-surrogates", "5000-digits", "nan", "infinity", "1e999",
        "nested-lists", "nested-maps", "utf-16", "bom", "cut", "two-documents", "null", "nul",
    ],
)  # fmt: skip
def test_w12_json_hazards_are_a_400(client, body):
    answer = client.post("/mutate", content=body, headers=JSON)

    assert (answer.status_code, answer.text) == (400, "The body is not a JSON object.\n")


def test_w12_nesting_that_parses_is_decided(client):
    """Deep, but not too deep for the parser: Python's own recursion limit is 1000."""
    response = client.post("/mutate", content=annotated("[" * 900 + "]" * 900), headers=JSON).json()["response"]

    assert response["patchType"] == "JSONPatch"


def test_a_slow_body_is_waited_for(server):
    body = json.dumps(review(pod())).encode()
    head = f"POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    with server.connect() as connection, server.client() as client:
        connection.sendall(head.encode() + body[:10])

        assert client.get("/healthz").status_code == 200  # the loop is not held up meanwhile
        eventually(lambda: server.series()["drainhook_admission_in_flight"] == 1)

        connection.sendall(body[10:])

        assert connection.recv(100).startswith(b"HTTP/1.1 200 OK")


def test_a_client_that_goes_away_is_no_fault_of_ours(start):
    """Nothing on standard error, nothing left in flight, nothing but the life of the server in the log."""
    server = start()
    head = b"POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"
    with server.connect() as connection:
        connection.sendall(head)
        eventually(lambda: server.series()["drainhook_admission_in_flight"] == 1)
    eventually(lambda: server.series()["drainhook_admission_in_flight"] == 0)
    server.process.terminate()

    assert (server.process.wait(20), server.process.stderr.read()) == (0, "")
    assert [line["event"] for line in server.lines()] == ["started", "stopping", "stopped"]
