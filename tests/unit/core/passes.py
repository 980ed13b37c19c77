"""A decision about a pod of the invented engine, applied, and decided again."""

from __future__ import annotations

from tests.unit.core.engines import OWN, POLICY, catalog, request
from webhook.core.admission import decide
from webhook.core.patch import apply, look

HOOK = "spec.containers[0].lifecycle.preStop"
PROBE = "spec.containers[0].readinessProbe"
GRACE = "spec.terminationGracePeriodSeconds"
STOP = {"exec": {"command": ["stop", "--now"]}}
PAGE = ["url=http://127.0.0.1:8000/metrics", "gauge=own_running", "gauge=own_waiting", "absent=unknown"]


class Pass:
    """One decision about a pod: the object that it leads to, its status, and what was found."""

    def __init__(self, document, own=OWN, policy=POLICY):
        """Decide, apply the operations, and decide again."""
        self.known = catalog(own)
        self.decision = decide(request(document), self.known, policy)
        self.object = apply(document, self.decision.operations)
        self.outcome = self.decision.outcomes[0]
        self.status = self.outcome.status
        self.again = decide(request(self.object), self.known, policy)

    def at(self, *tokens):
        """Return what stands in the first container afterwards."""
        return look(self.object, ("spec", "containers", 0, *tokens))

    @property
    def parameters(self):
        """Return the words that the drain script gets."""
        return self.at("lifecycle", "preStop", "exec", "command")[4:]
