"""Which records come and when; missed deletions; unprotected pods; what stays in memory."""

from __future__ import annotations

from tests.unit.observe.objects import (
    T0,
    drained,
    end,
    ended,
    endpoint_slice,
    event,
    feed,
    join,
    pod,
    records,
    running,
)
from webhook import names
from webhook.observe.join import LINGER_SECONDS, REMEMBERED_SECONDS, STRANGER_SECONDS
from webhook.observe.record import Cause


def only(*steps, **more):
    """Return the one record that the facts give."""
    (record,) = records(*steps, **more)
    return record


def test_an_event_may_come_after_the_pod_is_gone():
    """Its watch may be slower."""
    assert only(*drained(), (T0 + 17, event("FailedPreStopHook", T0 + 15))).prestop_failed is True


def test_a_missed_deletion_is_found_by_the_next_list():
    """The watch expired while the pod went: what was last seen of it is all there is."""
    steps = drained()
    joined = join(*steps[:2])
    joined.relist_pods({"other"}, T0 + 60)
    joined.relist_pods({"other"}, T0 + 61)
    (record,) = joined.records(T0 + 60 + LINGER_SECONDS)
    assert (record.is_missed, record.cause, record.deleted) == (True, Cause.DELETED, T0)
    assert (record.gone, record.sigkill, record.seconds) == (T0 + 60, None, None)

    feed(joined, *steps[-1])
    assert joined.records(T0 + 100) == [], "the deletion came after all"


def test_a_missed_deletion_of_a_pod_that_had_ended_loses_nothing():
    joined = join(*drained()[:3])
    joined.relist_pods(set(), T0 + 60)
    (record,) = joined.records(T0 + 60 + LINGER_SECONDS)
    assert (record.is_missed, record.sigkill, record.seconds, record.hook.end) == (True, False, 15, "idle")


def test_a_pod_that_was_not_even_seen_ending_is_unknown():
    joined = join(*drained()[:1])
    joined.relist_pods(set(), T0 + 60)
    (record,) = joined.records(T0 + 60 + LINGER_SECONDS)
    assert (record.cause, record.deleted, record.sigkill, record.is_missed) == (Cause.UNKNOWN, None, None, True)


def test_a_list_does_not_end_pods_that_it_holds_nor_those_that_only_events_know():
    joined = join((T0, pod(running())), (T0, event("Killing", T0, uid="u2")))
    joined.relist_pods({"u1"}, T0 + 1)
    assert joined.records(T0 + 30) == []


def test_a_slice_that_a_list_does_not_hold_is_gone():
    joined = join((T0 - 9, endpoint_slice("u1")), *drained()[:2])
    joined.relist_slices(set(), T0 + 0.5)
    for step in drained()[2:]:
        feed(joined, *step)
    (record,) = joined.records(T0 + 60)
    assert record.endpoint_not_ready == T0 + 0.5


def test_pods_of_one_name_are_told_apart():
    """A StatefulSet makes the next one under the same name at once."""
    found = records(*drained(), (T0 + 17, pod(running(instance="n"), uid="u9")))
    assert [one.uid for one in found] == ["u1"]


def test_a_record_waits_for_the_other_watches():
    joined = join(*drained())
    gone = T0 + 16.2
    assert joined.records(gone + LINGER_SECONDS - 0.1) == []
    assert len(joined.records(gone + LINGER_SECONDS)) == 1


def test_unprotected_pods_are_counted_as_long_as_they_live():
    joined = join(
        (T0, pod(running(), uid="a", annotations={})),
        (T0, pod(running(), uid="b", annotations={}, labels={names.BACKEND: "auto"})),
        (T0, pod(running(), uid="c")),
        (T0, pod(running(), uid="d", annotations={}, labels={})),
        (T0, pod(running(), uid="e", annotations={names.STATUS: "{}"})),
    )
    assert joined.unprotected() == {("vllm", "not_patched"): 2, ("other", "not_patched"): 1}

    feed(joined, T0 + 1, pod(running(), uid="a", annotations={}, asked=T0))
    feed(joined, T0 + 1, pod(running(), uid="b", annotations={}, asked=T0), "gone")
    feed(joined, T0 + 1, pod(running(), uid="e"))
    assert joined.unprotected() == {}


def test_a_pod_of_an_older_profile_is_unprotected():
    made = pod(running())
    made["metadata"]["annotations"][names.STATUS] = made["metadata"]["annotations"][names.STATUS].replace(
        "0a1b", "ffff"
    )
    joined = join((T0, made))
    assert joined.unprotected() == {("vllm", "old_profile"): 1}
    assert [(one.namespace, one.pod) for one in joined.bare.values()] == [("llm", "chat-5d9f7c8b6-x2x4k")]


def test_pods_that_are_ending_can_be_listed():
    joined = join((T0, pod(running(), uid="a")), *drained()[:2])
    assert [one.uid for one in joined.ending()] == ["u1"]


def test_nothing_is_left_of_pods_that_are_gone():
    """The memory of a watcher must not grow with the pods that it has seen."""
    joined = join(
        *drained(),
        (T0 - 40, endpoint_slice("u1")), (T0 + 16, endpoint_slice()), (T0 + 17, event("Killing", T0)),
        (T0 + 17, event("Killing", T0, uid="of a pod that is long gone")),
    )  # fmt: skip
    joined.records(T0 + 30)
    joined.records(T0 + 30 + STRANGER_SECONDS)
    assert (joined.pods, joined.slices, joined.bare, joined.due, joined.strangers) == ({}, {}, {}, {}, {})
    assert list(joined.gone) == ["u1"]

    feed(joined, *drained()[-1])
    joined.records(T0 + 30 + REMEMBERED_SECONDS)
    assert joined.gone == {}


def test_a_pod_that_restarts_for_ever_does_not_grow():
    joined = join((T0, pod(running())))
    for number in range(100):
        at = T0 + 100 * number
        feed(joined, at, event("Killing", T0, at))
        last = end(at, 1, instance=f"i{number}", started=at - 50)
        feed(joined, at + 1, pod(running(instance=f"i{number + 1}", started=at + 1, last=last)))
        feed(joined, at + 1, endpoint_slice("u1"))
        feed(joined, at + 2, endpoint_slice())
        assert len(joined.records(at + 5)) == 1
    history = joined.pods["u1"]
    sizes = [len(kept) for kept in (history.endings, history.restarted["server"], history.running, history.unready)]
    assert sizes + [len(times) for times in history.events.values()] == [0, 4, 1, 16, 16]


def test_a_pod_with_many_containers_is_recorded_like_any_other():
    """No list of a fixed length may forget one of them."""
    many = [f"c{number}" for number in range(40)]
    again = [running(one, f"{one}-b", T0, last=end(T0 - 1, 1, instance=f"{one}-a")) for one in many]
    joined = join((T0 + 1, pod(*again, annotations={})))
    assert len(joined.records(T0 + 10)) == 40
    feed(joined, T0 + 11, pod(*again, annotations={}))
    assert joined.records(T0 + 20) == []

    last = [ended(T0 + 30, 0, name=one, instance=f"{one}-b", started=T0) for one in many]
    feed(joined, T0 + 31, pod(*last, annotations={}, asked=T0 + 25), "gone")
    (record,) = joined.records(T0 + 40)
    assert (record.sigkill, record.seconds, record.exit_code) == (False, 5, 0)


def test_an_older_state_that_comes_once_more_takes_nothing_back():
    """An API server whose cache lags behind may show it after the newer one."""
    crashed = pod(ended(T0, 1))
    again = pod(running(instance="b", started=T0 + 2, restarts=1, last=end(T0, 1)))
    joined = join((T0 - 9, pod(running())), (T0 + 1, crashed), (T0 + 3, again), (T0 + 3, crashed))
    feed(joined, T0 + 4, pod(running()))
    assert [one.cause for one in joined.records(T0 + 9)] == [Cause.RESTART]

    feed(joined, T0 + 10, pod(asked=T0 + 10, now=T0 + 10), "gone")
    (record,) = joined.records(T0 + 20)
    assert (record.is_forced, record.sigkill) == (True, None), "the second instance ran"
