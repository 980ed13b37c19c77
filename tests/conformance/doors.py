"""The doors beside the core: HTTP (reviews to the routes, in this process) and the command line. No claim is made here.

Each says what came out in the words of expectation.py, so that one expectation serves all of them.
"""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace
from functools import cache

import httpx
import jsonpatch

from tests.builders import UID, child, review
from tests.conformance.expectation import below, described, place, without_prefix
from webhook import names
from webhook.cli.offline import namespaces_of
from webhook.core.admission import decide, validate
from webhook.core.decision import Finding, Level, Patch, Reason, Request
from webhook.core.patch import apply, look
from webhook.core.review import warnings
from webhook.server.app import Context, Health, create_app
from webhook.server.log import Log
from webhook.server.metrics import Metrics

ONLY_BY_PLACE = {Reason.TEMPLATE_GUESSED, Reason.GROUP_WORKER}  # a pod no longer tells where its template stood
NO_POD = {Reason.KIND_IGNORED, Reason.CR_FIELD}


def core(case):
    """Decide about every document as a review would have it; Namespace documents count as their namespaces."""
    namespaces = namespaces_of(case.documents)
    said = []
    for document in case.documents:
        metadata = document.get("metadata") if isinstance(document.get("metadata"), dict) else {}
        namespace = str(metadata.get("namespace", "default"))
        labels, annotations = namespaces.get(namespace, ({}, {}))
        request = Request(
            document, namespace, case.options.get("operation", "CREATE"), case.old, UID,
            labels=labels, annotations=annotations,
        )  # fmt: skip
        decision = decide(request, case.catalog, case.policy)
        verdict = validate(replace(request, object=met(case, document, decision)), case.catalog, case.policy)
        said.append(described(document, decision, verdict, case.catalog.script))
    return {"documents": said}


def met(case, document, decision):
    """Return what `/validate` meets: a pod comes patched, unless `as_is` says that it passed the webhook."""
    is_patched = isinstance(decision, Patch) and document.get("kind") == "Pod" and not case.options.get("as_is")
    return apply(document, decision.operations) if is_patched else document


@cache
def metrics():
    """Return one set of series for all cases: making it costs more than answering."""
    return Metrics()


class Http:
    """The routes of the webhook with the catalog and the policy of one case."""

    def __init__(self, case):
        """Assemble the routes with a log that is read back."""
        self.logged = []
        log = Log(write=lambda line: self.logged.append(line.decode()))
        self.app = create_app(Context(case.catalog, case.policy, metrics(), log, Health()))

    def post(self, path, body):
        """Send one review and return its response."""

        async def send():
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://webhook") as client:
                return await client.post(path, json=body)

        answer = asyncio.run(send())
        assert answer.status_code == 200, answer.text
        response = answer.json()["response"]
        assert response["uid"] == UID
        return response

    def mutated(self, pod):
        """Return what `/mutate` says of a pod: operations, reason keys, warnings."""
        response = self.post(names.MUTATE_PATH, review(pod))
        assert response["allowed"]
        reasons = response["auditAnnotations"].get("reason", "").split(",")
        return operations(response), set(reasons), response.get("warnings", [])

    def admitted(self, case, document):
        """Return the object that `/validate` meets after `/mutate` has answered, as the API server hands it on."""
        if document.get("kind") != "Pod" or case.options.get("as_is"):
            return document
        return jsonpatch.apply_patch(document, operations(self.post(names.MUTATE_PATH, review(document))))

    def validated(self, document, *args):
        """Return what `/validate` says of an object: verdict, causes, warnings."""
        response = self.post(names.VALIDATE_PATH, review(document, *args))
        verdict = {"verdict": "allow" if response["allowed"] else "deny"}
        causes = response.get("status", {}).get("details", {}).get("causes", [])
        if causes:
            verdict["causes"] = [f"{cause['field']}: {cause['message']}" for cause in causes]
        return verdict, response.get("warnings", [])


def operations(response):
    """Return the patch of a response, an empty one where there is none."""
    return json.loads(base64.b64decode(response["patch"])) if "patch" in response else []


def pods(document, expected):
    """Return each template's path with the pod that a controller makes of it."""
    found = []
    for template in expected["templates"]:
        at, own = template["at"], look(document, place(template["at"]))
        is_object = isinstance(own, dict) and "kind" in own
        if NO_POD & set(template["reasons"]) or not isinstance(own, dict) or (is_object and own["kind"] != "Pod"):
            continue
        found.append((at, own if is_object else child(own)))
    return found


def mutation(expected, at):
    """Return what `/mutate` must say of the pod of one template."""
    wanted = [
        {**item, "add": path}
        for item in expected.get("patch", [])
        if (path := without_prefix(item["add"], at) if at else item["add"]) is not None
    ]
    template = next(item for item in expected["templates"] if item["at"] == at)
    findings = [item for item in map(finding, expected.get("findings", [])) if item.reason not in ONLY_BY_PLACE]
    here = [moved for item in findings if (moved := _moved(item, at)) is not None]
    reasons = {str(item.reason) for item in here} | set(template["reasons"]) - {str(key) for key in ONLY_BY_PLACE}
    return wanted, reasons, warnings(here)


def _moved(item, at):
    path = below(item.path, at)
    return None if path is None else Finding(item.reason, item.level, path, item.message)


def finding(text):
    """Read a line of expected.yaml back as a finding."""
    level, reason, rest = text.split(" ", 2)
    path, _, message = rest.partition(": ")
    return Finding(Reason(reason), Level(level), path, message)
