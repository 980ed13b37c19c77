"""The CA in the webhook configurations, by which the API server trusts the webhook (C9).

Every entry gets it, and only where it differs. Nothing else of a configuration is ever written.
"""

from __future__ import annotations

import base64
from typing import Final

from webhook.cluster.client import Session
from webhook.core.profile import Json

GROUP: Final = "/apis/admissionregistration.k8s.io/v1"
KINDS: Final = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


def set_bundle(session: Session, name: str, ca: bytes) -> list[str]:
    """Write the CA into both configurations of a name, and return the kinds that were changed. Raises ClusterError."""
    changed = []
    for kind in KINDS:
        path = f"{GROUP}/{kind}/{name}"
        operations = _operations(session.get(path), base64.b64encode(ca).decode())
        if operations:
            session.patch(path, operations, fieldManager="drainhook-certificates")
            changed.append(kind)
    return changed


def _operations(configuration: Json, bundle: str) -> list[Json]:
    """Return a patch for the entries that have another CA; entries that moved meanwhile make it fail as a whole."""
    operations: list[Json] = []
    for index, entry in enumerate(configuration.get("webhooks") or []):
        if entry["clientConfig"].get("caBundle") != bundle:
            operations += [
                {"op": "test", "path": f"/webhooks/{index}/name", "value": entry["name"]},
                {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": bundle},
            ]
    return operations
