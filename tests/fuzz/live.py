"""A sample of the same pods through the running cluster: server-side dry runs, with the real webhook in between.

Each pod is sent with `inject: disabled` (the mutating webhook is not called) without our patch and with it, then as it
is, then its result once more. Nothing is created. The laws are those of `tests.fuzz.laws`; `same` compares the webhook
that runs with this checkout, so an older image breaks it.
"""

from __future__ import annotations

import copy
import json
import re
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import httpx

import webhook
from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError
from tests.conformance.strategies import CATALOG
from tests.conformance.test_laws import differences
from tests.e2e.product import SIDECAR
from tests.fuzz.laws import SHOWN, Fault, Tally, count, foreign
from tests.fuzz.pods import pod
from webhook import names
from webhook.core.admission import decide_pod
from webhook.core.decision import Patch, Policy, Request
from webhook.core.patch import apply
from webhook.core.review import PREFIX

THREADS: Final = 4
PATH: Final = "/api/v1/namespaces/default/pods?dryRun=All&fieldValidation=Strict"
MISSING: Final = ("serviceAccountName", "priorityClassName")  # objects that the cluster does not hold
SERVER_SIDE: Final = ("creationTimestamp", "generation", "managedFields", "name", "uid")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server answered to a dry run."""

    code: int
    body: Any
    warnings: frozenset[str]  # without drainhook's own, which are no fault

    @property
    def is_created(self) -> bool:
        """Whether the pod was accepted."""
        return self.code == httpx.codes.CREATED

    @property
    def pod(self) -> Any:
        """Give the pod without what differs in each request."""
        text = re.sub(r"kube-api-access-\w{5}\b", "kube-api-access", json.dumps(self.body))
        found = json.loads(text)
        found["metadata"] = {key: value for key, value in found["metadata"].items() if key not in SERVER_SIDE}
        return {key: value for key, value in found.items() if key != "status"}


def run(cluster: Cluster, seed: str, most: int) -> Tally:
    """Check so many pods of a seed; raise ClusterError where no cluster is up."""
    major, minor, _ = cluster.version.split(".", 2)
    policy = Policy(webhook.__version__, (int(major), int(minor)), sidecar=SIDECAR)
    tally = Tally()
    try:
        with _client(cluster) as client, ThreadPoolExecutor(THREADS) as threads:
            for part in threads.map(lambda name: _one(client, name, policy), _seeds(seed, most)):
                tally.add(part)
    except httpx.TransportError as error:
        raise ClusterError(f"The API server: {error!r}") from error
    return tally


def _client(cluster: Cluster) -> httpx.Client:
    trust = ssl.create_default_context(cafile=str(cluster.authority))
    trust.load_cert_chain(*cluster.client)
    return httpx.Client(base_url=cluster.url, verify=trust, timeout=30, trust_env=False)


def _seeds(seed: str, most: int) -> Iterator[str]:
    """Give the seeds of the first pods; Deployments are no business of the webhook."""
    number = found = 0
    while found < most:
        name = f"{seed}:{number}"
        number += 1
        if pod(name).get("kind") == "Pod":
            found += 1
            yield name


def _one(client: httpx.Client, seed: str, policy: Policy) -> Tally:
    tally = Tally(seen=1)
    document = pod(seed)
    if isinstance(document.get("spec"), dict):
        for key in MISSING:
            document["spec"].pop(key, None)
    plain = _plain(client, document)
    if plain is None or not plain.is_created:
        tally.refusals[str(plain.code) if plain else "unlabelled"] += 1
        return tally
    tally.accepted = 1
    before = _with_label_back(plain)
    decision = decide_pod(Request(before), CATALOG, policy)
    count(tally, decision)
    operations = decision.operations if isinstance(decision, Patch) else ()
    for law, text in _broken(client, document, plain, apply(before, operations)):
        tally.faults.append(Fault(law, seed, policy.kubernetes, SHOWN, text, document, operations))
    return tally


def _plain(client: httpx.Client, document: Any) -> Answer | None:
    """Send a pod past the webhook; None for one whose labels were spoilt."""
    other = copy.deepcopy(document)
    try:
        other["metadata"]["labels"][names.INJECT] = names.INJECT_DISABLED
    except (KeyError, TypeError):
        return None
    return _send(client, other)


def _with_label_back(answer: Answer) -> Any:
    found = answer.pod
    del found["metadata"]["labels"][names.INJECT]
    return found


def _send(client: httpx.Client, document: Any) -> Answer:
    answer = client.post(PATH, json=document)
    warnings = frozenset(text for text in answer.headers.get_list("warning") if f'"{PREFIX}' not in text)
    return Answer(answer.status_code, answer.json(), warnings)


def _broken(client: httpx.Client, document: Any, plain: Answer, expected: Any) -> Iterator[tuple[str, str]]:
    """Yield the laws that the pod breaks, each with what happened; `plain` is its answer without the webhook."""
    patched = _send(client, document)
    if not patched.is_created:
        yield "accepted", f"{patched.code}: {patched.body.get('message')}"
        return
    if more := patched.warnings - plain.warnings:
        yield "accepted", f"new API warnings: {sorted(more)}"
    before, after = _with_label_back(plain), patched.pod
    if wrong := foreign(before, after):
        yield "owned", f"differs at {wrong}"
    wanted = _plain(client, expected)  # past the webhook, so that what we add is filled in
    if wanted is None or not wanted.is_created:
        yield "accepted", "this checkout's patch is refused"
    elif after != _with_label_back(wanted):
        wrong = list(differences(_with_label_back(wanted), after))
        yield "same", f"the webhook made something else than this checkout does (an older image?): {wrong}"
    again = _send(client, after)
    if not again.is_created or again.pod != after:
        yield "second", f"{again.code}: {again.body.get('message') or 'a second pass changes the pod'}"
