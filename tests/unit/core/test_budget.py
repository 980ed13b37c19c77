"""budget: one deadline, never shorter than what the spec has."""

from __future__ import annotations

import pytest

from tests.unit.core.engines import OWN
from webhook import names
from webhook.core.budget import budget_of, explicit_grace, long_grace, spec_grace, with_grace
from webhook.core.decision import Finding, Level, Reason
from webhook.core.overrides import Overrides
from webhook.core.profile import Budget

PATH = "metadata.annotations"
WANTED = Budget(settle=10, drain=95, reserve=15)


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        ({}, 30),
        ({"spec": None}, 30),
        ({"spec": {}}, 30),
        ({"spec": {"terminationGracePeriodSeconds": None}}, 30),
        ({"spec": {"terminationGracePeriodSeconds": 0}}, 0),
        ({"spec": {"terminationGracePeriodSeconds": 600}}, 600),
    ],
)
def test_an_absent_grace_period_counts_as_thirty(spec, seconds):
    """The API server fills in 30; zero is a value."""
    assert spec_grace(spec) == seconds


@pytest.mark.parametrize(
    ("seconds", "more", "budget"),
    [
        ({}, {}, Budget(10, 95, 15)),
        ({names.SETTLE: 0}, {}, Budget(0, 95, 15)),
        ({names.SETTLE: 20, names.DRAIN: 200, names.RESERVE: 30}, {}, Budget(20, 200, 30)),
        ({names.GRACE: 500}, {}, Budget(10, 95, 15)),
        ({}, {"settle_at_least": 60}, Budget(60, 95, 15)),
        ({}, {"settle_at_least": 5}, Budget(10, 95, 15)),
        ({names.RESERVE: 30}, {"reserve_more": 15}, Budget(10, 95, 45)),
    ],
)
def test_annotations_beat_the_profile(seconds, more, budget):
    """A chained sleep raises settle, and the engine's own drain is added to the reserve."""
    assert budget_of(OWN, Overrides(seconds=seconds), **more) == budget


DRAINS = "must be at least 26: settle 10 + reserve 15 + 1 s to drain"
SLEEPS = "must be at least 75: the pod's own hook sleeps 60 s, the reserve is 15 s"


@pytest.mark.parametrize(
    ("total", "present", "used", "why"),
    [
        (None, (30, 0), None, None),
        (26, (20, 0), 26, None),
        (120, (120, 0), 120, None),
        (500, (30, 75), 500, None),
        (75, (30, 75), 75, None),
        (25, (20, 0), None, DRAINS),
        (25, (25, 0), None, DRAINS),
        (74, (30, 75), None, SLEEPS),
        (119, (120, 0), None, "must not be below the pod's grace period of 120 s"),
        (1, (30, 75), None, "must not be below the pod's grace period of 30 s"),
    ],
)
def test_an_explicit_total_counts_unless_it_is_too_short(total, present, used, why):
    """It must leave a second to drain, cover a kept sleep and not shrink what the pod has; else it is ignored."""
    seconds = {names.GRACE: total} if total else {}
    expected = [Finding(Reason.BAD_OVERRIDE, Level.ERROR, f"{PATH}[{names.GRACE}]", str(why), str(total))]
    found = explicit_grace(Overrides(seconds=seconds), WANTED, present, PATH)
    assert found == (used, expected[: why is not None])


@pytest.mark.parametrize(
    ("grace", "budget"),
    [
        (120, Budget(10, 95, 15)),
        (600, Budget(10, 575, 15)),
        (26, Budget(10, 1, 15)),
        (25, Budget(10, 0, 15)),
        (20, Budget(5, 0, 15)),
        (10, Budget(0, 0, 10)),
        (0, Budget(0, 0, 0)),
        (-5, Budget(0, 0, 0)),
    ],
)
def test_what_a_grace_period_has_beyond_the_sum_goes_to_the_drain(grace, budget):
    """Settle and reserve stay, drain takes the rest, and the sum is always the grace period."""
    assert with_grace(WANTED, grace) == budget
    assert budget.grace == max(grace, 0)


def test_a_total_over_six_hundred_seconds_is_warned_about():
    """Others clamp it; 600 itself is fine."""
    message = "601 s is over 600 s: cluster-autoscaler, spot notices and node shutdown cut it shorter"
    assert long_grace(600, "spec.x") == []
    assert long_grace(601, "spec.x") == [Finding(Reason.LONG_GRACE, Level.WARNING, "spec.x", message, 601)]
