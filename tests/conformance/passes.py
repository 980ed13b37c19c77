"""One pass over an object with the shipped catalog: the decision, the object after it, its hook."""

from __future__ import annotations

from tests.conformance.case import VERSION, catalog
from webhook.core.admission import decide
from webhook.core.decision import Policy, Request, Sidecar
from webhook.core.patch import apply

SIDECAR = Sidecar("registry.example/drainhook:0.0.0")


def decided(document, kubernetes=(1, 34)):
    return decide(Request(document), catalog(), Policy(VERSION, kubernetes, sidecar=SIDECAR))


def patched(document, kubernetes=(1, 34)):
    return apply(document, getattr(decided(document, kubernetes), "operations", ()))


def hook_of(document, index=0):
    return document["spec"]["containers"][index]["lifecycle"]["preStop"]
