"""decide() and validate(): the product. Both doors call these and nothing else."""

from __future__ import annotations

from webhook.core.decision import Allow, Decision, Policy, Request
from webhook.core.profile import Catalog


def decide(request: Request, catalog: Catalog, policy: Policy) -> Decision:
    """Say what becomes of an object on creation: Allow, or Patch with operations that the API server applies."""
    del request, catalog, policy
    return Allow()


def validate(request: Request, catalog: Catalog, policy: Policy) -> Decision:
    """Say what is wrong with an object: Allow with findings, or Deny when `/validate` must refuse it."""
    del request, catalog, policy
    return Allow()
