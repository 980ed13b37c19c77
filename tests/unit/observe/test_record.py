"""The verdict on an ending: SIGKILL, its own 137, an OOM kill, or not to be known."""

from __future__ import annotations

import pytest

from tests.unit.observe.objects import DIGESTS, T0
from webhook.observe.facts import Ending
from webhook.observe.record import Cause, any_of, backend_of, cause_of, is_sigkill, unprotected

DEADLINE = T0 + 120


def ending(code, finished, reason="Error"):
    """Return an ending of the server."""
    return Ending("a", "server", code, reason, T0 - 60, finished, None, is_restarted=False)


@pytest.mark.parametrize(
    ("what", "deadline", "is_sure", "expected"),
    [
        ((137, T0 + 120, "Error"), DEADLINE, False, True),
        ((137, T0 + 118, "Error"), DEADLINE, False, True),  # both times are cut to seconds
        ((137, T0 + 117, "Error"), DEADLINE, False, False),  # its own children did it
        ((137, T0 + 3, "Error"), DEADLINE, True, True),  # the kubelet killed by a period of its own
        ((137, T0 + 3, "Error"), None, False, None),
        ((137, T0 + 120, "OOMKilled"), DEADLINE, False, False),
        ((137, T0 + 120, "OOMKilled"), DEADLINE, True, False),
        ((143, T0 + 120, "Error"), DEADLINE, False, False),
        ((0, T0 + 3, "Completed"), DEADLINE, False, False),
        ((137, None, "ContainerStatusUnknown"), DEADLINE, True, None),
        ((137, T0 + 120, "ContainerStatusUnknown"), DEADLINE, False, None),
        ((None, T0 + 120, "Error"), DEADLINE, False, None),
    ],
)
def test_137_is_sigkill_only_at_the_end_of_grace(what, deadline, is_sure, expected):
    """The table of the function."""
    assert is_sigkill(ending(*what), deadline, is_sure=is_sure) is expected


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [([], False), ([False], False), ([False, None], None), ([None, True, False], True)],
)
def test_unknown_beats_no_and_yes_beats_both(verdicts, expected):
    assert any_of(verdicts) is expected


@pytest.mark.parametrize(
    ("disruption", "reason", "is_deleted", "expected"),
    [
        ("", "", True, Cause.DELETED),
        ("", "", False, Cause.UNKNOWN),
        ("EvictionByEvictionAPI", "", True, Cause.EVICTED),
        ("PreemptionByScheduler", "", True, Cause.PREEMPTED),
        ("DeletionByTaintManager", "", True, Cause.NODE_TAINT),
        ("DeletionByPodGC", "", True, Cause.NODE_GONE),
        ("TerminationByKubelet", "Evicted", False, Cause.NODE_PRESSURE),
        ("TerminationByKubelet", "Terminated", False, Cause.NODE_SHUTDOWN),
        ("TerminationByKubelet", "Preempting", False, Cause.PREEMPTED),
        ("TerminationByKubelet", "OfTomorrow", True, Cause.UNKNOWN),
        ("ReasonOfTomorrow", "", True, Cause.DELETED),
    ],
)
def test_the_cause_comes_from_the_disruption_condition(disruption, reason, is_deleted, expected):
    assert cause_of(disruption, reason, is_deleted=is_deleted) is expected


@pytest.mark.parametrize(
    ("label", "profile", "expected"),
    [
        ("vllm", None, "vllm"),
        ("auto", "tgi@x", "tgi"),
        ("auto", None, "other"),
        ("", None, "other"),
        ("vllm", "acme@1", "other"),
    ],
)
def test_backends_are_a_closed_set(label, profile, expected):
    """Users' labels must not become label values of metrics."""
    assert backend_of(label, profile, DIGESTS) == expected


@pytest.mark.parametrize(
    ("label", "profile", "expected"),
    [
        ("vllm", None, "not_patched"),
        ("", None, None),
        ("vllm", "vllm@0a1b2c3d", None),
        ("", "vllm@ffffffff", "old_profile"),
        ("acme", "acme@ffffffff", None),
        ("vllm", "vllm", "old_profile"),
    ],
)
def test_unprotected_are_pods_without_the_hook_and_with_an_old_one(label, profile, expected):
    assert unprotected(label, profile, DIGESTS) == expected
