"""One deadline per pod: grace = settle + drain + reserve, from profile, annotations and what the spec already has.

Grace never shrinks. An absent spec counts as 30 s, since the API server fills that in.
"""

from __future__ import annotations

from webhook import names
from webhook.core.decision import Finding, Level, Reason
from webhook.core.overrides import Overrides, bad_value
from webhook.core.patch import Tokens, field_path, look
from webhook.core.profile import Budget, Json, Profile

GRACE_AT: Tokens = ("spec", "terminationGracePeriodSeconds")
GRACE_PLACE = field_path(GRACE_AT)
DEFAULT_GRACE = 30  # what the API server fills in
LONG_GRACE = 600  # cluster-autoscaler's --max-graceful-termination-sec; Google's scale-down limit is 10 min too
NATIVE_RESERVE = 15  # seconds that the engine's own drain flag may use of the reserve


def spec_grace(pod: Json) -> int:
    """Return the grace period of a pod spec in seconds, as the API server would fill it in."""
    value = look(pod, GRACE_AT)
    return DEFAULT_GRACE if value is None else int(value)


def budget_of(profile: Profile, overrides: Overrides, *, settle_at_least: int = 0, reserve_more: int = 0) -> Budget:
    """Return the sum that profile and annotations want, before the spec's own grace period counts."""
    seconds = overrides.seconds
    return Budget(
        max(seconds.get(names.SETTLE, profile.budget.settle), settle_at_least),
        seconds.get(names.DRAIN, profile.budget.drain),
        seconds.get(names.RESERVE, profile.budget.reserve) + reserve_more,
    )


def explicit_grace(
    overrides: Overrides, wanted: Budget, present: tuple[int, int], path: str
) -> tuple[int | None, list[Finding]]:
    """Return the total that `grace-period-seconds` sets, or None with the finding that says why it is ignored.

    `present` is the pod's own grace period, and what a hook that is kept needs.
    """
    total = overrides.seconds.get(names.GRACE)
    if total is None:
        return None, []
    (spec, kept), reserve = present, wanted.reserve
    least = max(wanted.settle + wanted.reserve + 1, spec, kept)
    if total >= least:
        return total, []
    if total < spec:
        why = f"must not be below the pod's grace period of {spec} s"
    elif total < kept:
        why = f"must be at least {least}: the pod's own hook sleeps {kept - reserve} s, the reserve is {reserve} s"
    else:
        why = f"must be at least {least}: settle {wanted.settle} + reserve {wanted.reserve} + 1 s to drain"
    return None, [bad_value(path, names.GRACE, str(total), why)]


def with_grace(wanted: Budget, grace: int) -> Budget:
    """Spread a grace period: settle and reserve stay, what is left goes to drain; too short a one goes to reserve."""
    reserve = min(wanted.reserve, max(grace, 0))
    settle = min(wanted.settle, max(grace, 0) - reserve)
    return Budget(settle, max(grace, 0) - settle - reserve, reserve)


def long_grace(grace: int, path: str) -> list[Finding]:
    """Warn about a total that others clamp."""
    if grace <= LONG_GRACE:
        return []
    message = f"{grace} s is over {LONG_GRACE} s: cluster-autoscaler, spot notices and node shutdown cut it shorter"
    return [Finding(Reason.LONG_GRACE, Level.WARNING, path, message, grace)]
