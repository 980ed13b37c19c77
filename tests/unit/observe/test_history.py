"""The record of one pod, from sequences of objects as the watches of pods, events and EndpointSlices show them."""

from __future__ import annotations

import pytest

from tests.unit.observe.objects import (
    LOST,
    T0,
    drained,
    end,
    ended,
    endpoint_slice,
    event,
    feed,
    join,
    message,
    pod,
    records,
    running,
)
from webhook import names
from webhook.observe.join import LINGER_SECONDS
from webhook.observe.record import Cause


def only(*steps, **more):
    """Return the one record that the facts give."""
    (record,) = records(*steps, **more)
    return record


def test_a_drained_pod_gives_one_record():
    record = only(
        *drained(),
        (T0 - 40, endpoint_slice("u1")),
        (T0 + 0.3, event("Killing", T0)),
        (T0 + 0.4, endpoint_slice(leaving=["u1"])),
        (T0 + 16.0, endpoint_slice()),
    )
    assert (record.namespace, record.pod, record.owner) == ("llm", "chat-5d9f7c8b6-x2x4k", ("Deployment", "chat"))
    assert (record.backend, record.profile, record.cause) == ("vllm", "vllm@0a1b2c3d", Cause.DELETED)
    assert (record.container, record.exit_code, record.sigkill, record.oom) == ("server", 143, False, False)
    assert (record.deleted, record.grace, record.seconds) == (T0, 120, 15)
    assert (record.stopping, record.hook_ended, record.finished) == (T0, T0 + 14, T0 + 15)
    assert (record.endpoint_not_ready, record.gone) == (T0 + 0.4, T0 + 16.2)
    assert (record.inflight_at_sigterm, record.hook.end) == (0, "idle")
    assert (record.prestop_failed, record.is_forced, record.is_missed) == (False, False, False)


def test_sigkill_at_the_end_of_grace_is_seen():
    record = only(*drained(took=121, code=137, text=message(end="deadline", inflight_end=3)))
    assert (record.sigkill, record.oom, record.exit_code, record.inflight_at_sigterm) == (True, False, 137, 3)


def test_an_oom_kill_while_draining_is_no_sigkill_of_the_kubelet():
    record = only(*drained(took=121, code=137, why="OOMKilled", text=None))
    assert (record.sigkill, record.oom, record.hook) == (False, True, None)


def test_a_server_that_kills_itself_early_is_not_counted():
    """SGLang kills its own process tree after its drain."""
    record = only(*drained(took=20, code=137))
    assert (record.sigkill, record.exit_code) == (False, 137)


def test_a_grace_period_that_was_shortened_later_counts():
    """`kubectl delete --grace-period=5` on a pod that is already ending."""
    last = ended(T0 + 25, 137)
    record = only(
        (T0 - 9, pod(running())),
        (T0, pod(running(), asked=T0, grace=120)),
        (T0 + 20, pod(running(), asked=T0, grace=24)),
        (T0 + 26, pod(last, asked=T0, grace=24)),
        (T0 + 27, pod(last, asked=T0, grace=24, now=T0 + 26), "gone"),
    )
    assert (record.deleted, record.grace, record.seconds, record.sigkill) == (T0, 24, 25, True)


def test_a_pod_that_was_deleted_by_force_has_no_verdict():
    """The API forgets it at once; nobody tells how its containers end."""
    record = only((T0 - 9, pod(running())), (T0 + 0.2, pod(running(), asked=T0, now=T0), "gone"))
    assert (record.is_forced, record.sigkill, record.seconds, record.exit_code) == (True, None, None, None)
    assert (record.cause, record.deleted, record.grace) == (Cause.DELETED, T0 - 0, 0)


def test_a_pod_on_a_node_that_is_gone_has_no_verdict():
    leaving = {"asked": T0, "grace": 120, "disruption": "DeletionByTaintManager"}
    record = only(
        (T0 - 9, pod(running())),
        (T0 + 1, pod(running(), **leaving)),
        (T0 + 900, pod(running(), **leaving, now=T0 + 900, phase="Failed"), "gone"),
    )
    assert (record.cause, record.sigkill, record.seconds, record.is_forced) == (Cause.NODE_TAINT, None, None, False)


def test_a_container_that_the_kubelet_lost_has_no_verdict():
    """It writes 137 without knowing."""
    record = only(
        (T0 - 9, pod(running())),
        (T0 + 1, pod(running(), asked=T0)),
        (T0 + 200, pod(LOST, asked=T0)),
        (T0 + 201, pod(LOST, asked=T0, now=T0 + 200), "gone"),
    )
    assert (record.sigkill, record.oom, record.exit_code, record.seconds) == (None, None, None, None)


@pytest.mark.parametrize(
    ("disruption", "cause"),
    [("EvictionByEvictionAPI", Cause.EVICTED), ("PreemptionByScheduler", Cause.PREEMPTED)],
)
def test_evictions_are_told_apart(disruption, cause):
    assert only(*drained(disruption=disruption)).cause is cause


@pytest.mark.parametrize(("reason", "cause"), [("Evicted", Cause.NODE_PRESSURE), ("Terminated", Cause.NODE_SHUTDOWN)])
def test_what_the_kubelet_ends_by_itself_is_recorded_without_a_deletion(reason, cause):
    """The failed pod stays; when it is cleaned up later, that is no second shutdown."""
    told = {"disruption": "TerminationByKubelet", "reason": reason, "phase": "Failed"}
    joined = join(
        (T0 - 9, pod(running())),
        (T0, event("Killing", T0)),
        (T0 + 3, pod(ended(T0 + 2, 137, text=None), **told)),
    )
    (record,) = joined.records(T0 + 3 + LINGER_SECONDS)
    assert (record.cause, record.sigkill, record.deleted, record.stopping) == (cause, True, None, T0)
    assert (record.seconds, record.grace) == (2, None)

    feed(joined, T0 + 500, pod(ended(T0 + 2, 137), **told, asked=T0 + 500, now=T0 + 500), "gone")
    assert joined.records(T0 + 600) == []


def test_what_the_kubelet_ended_before_we_looked_is_not_ours():
    told = {"disruption": "TerminationByKubelet", "reason": "Evicted", "phase": "Failed"}
    assert records((T0, pod(ended(T0 - 500, 137), **told))) == []


def test_the_record_of_a_sidecar_counts_for_the_server():
    """It drains for it, ends after it, and writes into its own termination message."""
    beside = ended(T0 + 17, 0, name="drainhook", instance="z", text=message(end="deadline", inflight_end=2))
    steps = drained(text=None)
    for _, obj, *_ in steps[2:]:
        obj["status"]["initContainerStatuses"] = [beside]
    record = only(*steps)
    assert (record.container, record.hook.end, record.inflight_at_sigterm) == ("server", "deadline", 2)
    assert (record.seconds, record.sigkill) == (15, False)


def test_a_failed_hook_is_seen():
    record = only(*drained(text=None), (T0 + 1, event("FailedPreStopHook", T0)))
    assert (record.prestop_failed, record.hook, record.inflight_at_sigterm) == (True, None, None)


def test_a_hook_that_failed_at_a_restart_before_does_not_count():
    """An event lives for an hour."""
    assert only(*drained(), (T0 - 1, event("FailedPreStopHook", T0 - 300))).prestop_failed is False


def test_the_earliest_killing_event_counts():
    """A kubelet that is restarted runs the hook again."""
    assert only(*drained(), (T0 + 1, event("Killing", T0)), (T0 + 9, event("Killing", T0, T0 + 8))).stopping == T0


def test_a_probe_that_failed_before_the_deletion_is_not_its_effect():
    record = only(
        *drained(),
        (T0 - 40, endpoint_slice("u1")), (T0 - 30, endpoint_slice(leaving=["u1"])),
        (T0 - 20, endpoint_slice("u1")), (T0 + 0.6, endpoint_slice()),
    )  # fmt: skip
    assert record.endpoint_not_ready == T0 + 0.6


def test_a_pod_that_never_had_a_hook_is_recorded_too():
    record = only(*drained(took=0, text=None, labels={}, annotations={}))
    assert (record.backend, record.profile, record.hook, record.seconds) == ("other", None, None, 0)


def test_a_restart_is_a_record_of_its_own():
    """The liveness probe failed: the kubelet runs the hook, SIGTERM, SIGKILL, and starts the container again."""
    again = running(instance="b", started=T0 + 122, restarts=1, last=end(T0 + 121, 137, text=message(end="deadline")))
    joined = join((T0 - 9, pod(running())), (T0, event("Killing", T0)), (T0 + 123, pod(again)), (T0 + 125, pod(again)))
    (record,) = joined.records(T0 + 123 + LINGER_SECONDS)
    assert (record.cause, record.container, record.exit_code, record.sigkill) == (Cause.RESTART, "server", 137, True)
    assert (record.stopping, record.seconds, record.grace, record.deleted) == (T0, 121, 120, None)

    feed(joined, T0 + 140, pod(again))
    assert joined.records(T0 + 200) == [], "one restart gives one record"


def test_a_probes_own_grace_period_counts_at_a_restart():
    containers = [{"name": "server", "livenessProbe": {"terminationGracePeriodSeconds": 5}}]
    again = running(instance="b", started=T0 + 9, restarts=1, last=end(T0 + 6, 137))
    record = only((T0, event("Killing", T0)), (T0 + 10, pod(again, containers=containers)))
    assert (record.grace, record.sigkill) == (5, True)


@pytest.mark.parametrize(
    ("code", "reason", "oom"), [(137, "OOMKilled", True), (137, "Error", False), (1, "Error", False)]
)
def test_a_crash_is_no_sigkill_at_the_end_of_grace(code, reason, oom):
    """Nobody asked the container to end."""
    again = running(instance="b", started=T0 + 3, restarts=1, last=end(T0, code, reason))
    record = only((T0 - 9, pod(running())), (T0 + 3, pod(again)))
    assert (record.cause, record.sigkill, record.oom) == (Cause.RESTART, False, oom)
    assert (record.seconds, record.stopping) == (None, None)


def test_restarts_before_we_looked_are_not_ours():
    again = running(instance="b", started=T0 - 300, restarts=1, last=end(T0 - 301, 137))
    assert records((T0, pod(again))) == []


def test_a_pod_that_was_restarted_once_and_ends_later_gives_two_records():
    again = running(instance="b", started=T0 - 20, restarts=1, last=end(T0 - 21, 1))
    last = {**ended(T0 + 5, 0, instance="b", reason="Completed"), "lastState": {"terminated": end(T0 - 21, 1)}}
    found = records(
        (T0 - 20, pod(again)), (T0, pod(again, asked=T0)), (T0 + 6, pod(last, asked=T0)),
        (T0 + 7, pod(last, asked=T0, now=T0 + 6), "gone"),
    )  # fmt: skip
    assert [(one.cause, one.exit_code) for one in found] == [(Cause.RESTART, 1), (Cause.DELETED, 0)]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_ended_by_itself_is_no_shutdown(phase):
    """Whoever tidies up deletes it with a grace period of 0, maybe in the same second."""
    done = ended(T0, 0 if phase == "Succeeded" else 1)
    assert records((T0, pod(done, phase=phase)), (T0, pod(done, phase=phase, asked=T0, now=T0), "gone")) == []
    assert records((T0, pod(done, phase=phase)), (T0, pod(done, phase=phase), "gone")) == []


def test_a_pod_that_never_ran_is_no_shutdown():
    waiting = {"name": "server", "state": {"waiting": {"reason": "ContainerCreating"}}, "lastState": {}}
    steps = [(T0, pod(waiting, phase="Pending")), (T0 + 1, pod(asked=T0, phase="Pending"), "gone")]
    assert records(*steps) == []


def test_a_container_that_waits_for_its_restart_when_the_pod_is_deleted_is_no_shutdown():
    """It crashed before."""
    waiting = {"name": "server", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "containerID": "containerd://a",
               "restartCount": 0, "lastState": {"terminated": end(T0 - 5, 1)}}  # fmt: skip
    found = records((T0 - 4, pod(waiting)), (T0, pod(waiting, asked=T0)), (T0 + 1, pod(waiting, asked=T0), "gone"))
    assert [one.cause for one in found] == [Cause.RESTART]


def test_the_server_counts_and_not_what_runs_beside_it():
    """A log shipper that ignores SIGTERM is killed at the end of grace; no request is lost by that."""
    beside = ended(T0 + 121, 137, name="shipper", instance="z")
    last = ended(T0 + 15, 0, reason="Completed", text=message())
    steps = [
        (T0 - 9, pod(running(), running("shipper", "z"))),
        (T0, pod(running(), running("shipper", "z"), asked=T0)),
        (T0 + 122, pod(last, beside, asked=T0)),
        (T0 + 123, pod(last, beside, asked=T0, now=T0 + 122), "gone"),
    ]
    record = only(*steps)
    assert (record.container, record.sigkill, record.seconds, record.exit_code) == ("server", False, 15, 0)


def test_without_a_status_every_container_counts():
    last = [ended(T0 + 15, 0), ended(T0 + 121, 137, name="web", instance="z")]
    record = only((T0 - 9, pod(running(), running("web", "z"), annotations={})),
                  (T0 + 123, pod(*last, asked=T0, annotations={}), "gone"))  # fmt: skip
    assert (record.container, record.sigkill, record.seconds) == ("web", True, 121)


def test_a_server_that_the_status_names_wrongly_is_not_waited_for():
    assert only(*drained(annotations={names.CONTAINER: "elsewhere"})).container == "server"


def test_a_grace_period_that_the_kubelet_says_was_exceeded_is_enough():
    """It killed by a period of its own, shorter than the pod's."""
    exceeded = event("ExceededGracePeriod", T0 + 30, container="")
    assert only(*drained(took=31, code=137), (T0 + 31, exceeded)).sigkill is True
