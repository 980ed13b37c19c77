"""Reviews to send: the shortest valid ones, with what matters overridden. And what an answer must look like."""

from __future__ import annotations

import base64
import json

V1 = "admission.k8s.io/v1"
JSON = {"content-type": "application/json"}


def pod(**spec):
    """Return a pod that is labelled for vLLM, so that it gets a patch."""
    container = {
        "name": "server",
        "image": "vllm/vllm-openai:v0.11.0",
        "args": ["--model", "m"],
        "x-unknown": {"a": None},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "llm-", "labels": {"drainhook.dev/backend": "vllm"}},
        "spec": {"containers": [container], "futureField": [1, {"b": 2}], **spec},
    }


def bare_pod():
    """Return a pod that nobody labelled."""
    document = pod()
    document["metadata"]["labels"] = {"app": "x"}
    return document


def faulty_deployment():
    """Return a Deployment whose template has an override that no budget can have."""
    template = pod()
    template["metadata"]["annotations"] = {"drainhook.dev/drain-seconds": "-5"}
    spec = {"selector": {}, "template": {"metadata": template["metadata"], "spec": template["spec"]}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "llm", "uid": "1"}, "spec": spec}


def review(document, *, version=V1, **request):
    """Return a review as the API server sends it."""
    kind = document.get("kind", "Pod") if isinstance(document, dict) else "Pod"
    group = "apps" if kind == "Deployment" else ""
    return {
        "apiVersion": version,
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": group, "version": "v1", "kind": kind},
            "namespace": "team-a",
            "operation": "CREATE",
            "userInfo": {"username": "alice"},
            "object": document,
            "oldObject": None,
            "dryRun": False,
            **request,
        },
    }


def well_formed(answer, uid, version=V1):
    """Check all that the API server checks of an answer, and return its response."""
    assert (answer["apiVersion"], answer["kind"]) == (version, "AdmissionReview")
    response = answer["response"]
    assert response["uid"] == uid
    assert isinstance(response["allowed"], bool)
    assert ("patch" in response) == ("patchType" in response)
    assert all(isinstance(text, str) and text.isprintable() for text in response.get("warnings", []))
    if "patch" in response:
        assert response["patchType"] == "JSONPatch"
        assert operations(response)
    return response


def operations(response):
    """Return the operations of a response's patch."""
    return json.loads(base64.b64decode(response["patch"], validate=True))
