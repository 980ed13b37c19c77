"""The one client, started in the cluster's network: creates pods one after the other and times each.

Its order comes as JSON on standard input, its samples leave as JSON on standard output. It compares nothing.
"""

from __future__ import annotations

import gc
import json
import ssl
import sys
import time
from dataclasses import dataclass
from typing import Any, Final

import httpx

from webhook import names

POLL_SECONDS: Final = 0.05


class ClientError(Exception):
    """The API server answered something else than expected; the message is a plain sentence."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What to create, in which order, and where. `batch` creates are deleted together, outside the timing."""

    url: str
    authority: str
    certificate: str
    key: str
    namespace: str
    pods: dict[str, Any]
    order: list[str]
    batch: int


def run(errand: Errand) -> dict[str, Any]:
    """Create the pods; give milliseconds and the number of patched ones per kind."""
    bodies = {kind: json.dumps(pod).encode() for kind, pod in errand.pods.items()}
    samples: dict[str, list[float]] = {kind: [] for kind in bodies}
    patched = dict.fromkeys(bodies, 0)
    gc.disable()  # a collection in the middle of a create would be counted as the API server's time
    with _client(errand) as client:
        for start in range(0, len(errand.order), errand.batch):
            for kind in errand.order[start : start + errand.batch]:
                answer, milliseconds = _create(client, bodies[kind])
                samples[kind].append(milliseconds)
                patched[kind] += names.STATUS.encode() in answer
            _clear(client)
            gc.collect()
    return {"samples": samples, "patched": patched}


def _client(errand: Errand) -> httpx.Client:
    trust = ssl.create_default_context(cafile=errand.authority)
    trust.load_cert_chain(errand.certificate, errand.key)
    path = f"{errand.url}/api/v1/namespaces/{errand.namespace}/pods"
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    return httpx.Client(base_url=path, verify=trust, headers=headers, timeout=30, trust_env=False)


def _create(client: httpx.Client, body: bytes) -> tuple[bytes, float]:
    started = time.perf_counter()
    answer = client.post("", content=body)
    milliseconds = 1000 * (time.perf_counter() - started)
    if answer.status_code != httpx.codes.CREATED:
        raise ClientError(f"A pod was not created: {answer.status_code} {answer.text[:300]}")
    return answer.content, milliseconds


def _clear(client: httpx.Client) -> None:
    """Delete all pods and return when they are gone; none ever ran, so that takes no grace period."""
    client.delete("").raise_for_status()
    while client.get("", params={"limit": 1}).raise_for_status().json()["items"]:
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    try:
        json.dump(run(Errand(**json.load(sys.stdin))), sys.stdout)
    except (ClientError, httpx.HTTPError) as error:
        sys.exit(str(error))
