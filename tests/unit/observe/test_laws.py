"""Whatever order the watches deliver in, and however often: the same facts give the same records."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.observe.objects import (
    DIGESTS,
    LOST,
    T0,
    drained,
    end,
    ended,
    endpoint_slice,
    event,
    feed,
    message,
    pod,
    running,
)
from webhook.observe.join import LINGER_SECONDS, REMEMBERED_SECONDS, STRANGER_SECONDS, Join

END = T0 + 400
CAUSES = [None, "EvictionByEvictionAPI", "PreemptionByScheduler", "DeletionByTaintManager"]
WORDS = [None, message(), message(end="deadline", inflight_end=2), message(end="signal"), "no record"]


@st.composite
def lives(draw, uid):
    """Return what the watches show of one pod, each feed in its own order: pods, events, slices."""
    took, code = draw(st.integers(0, 130)), draw(st.sampled_from([0, 1, 137, 143]))
    told = {"uid": uid, "name": f"pod-{uid}", "disruption": draw(st.sampled_from(CAUSES))}
    text, why = draw(st.sampled_from(WORDS)), draw(st.sampled_from(["Error", "OOMKilled"]))
    pods = drained(took=took, code=code, text=text, why=why, **told)
    events = [(T0 + 0.3, event("Killing", T0, uid=uid))]
    if draw(st.booleans()):  # it was restarted before
        again = running(instance="b", started=T0 - 30, last=end(T0 - 31, 137, text=text), restarts=1)
        last = {**ended(T0 + took, code, instance="b", text=text, reason=why), "lastState": again["lastState"]}
        pods = [
            (T0 - 50, pod(running(), **told)), (T0 - 30, pod(again, **told)), (T0 + 1, pod(again, asked=T0, **told)),
            (T0 + 300, pod(last, asked=T0, **told)),
            (T0 + 301, pod(last, asked=T0, now=T0 + 300, **told), "gone"),
        ]  # fmt: skip
        events.insert(0, (T0 - 151, event("Killing", T0 - 151, uid=uid)))
    if draw(st.booleans()):  # its node went away
        pods = [*pods[:-2], (T0 + 301, pod(LOST, asked=T0, now=T0 + 300, **told), "gone")]
    if draw(st.booleans()):
        events.append((T0 + 1, event("FailedPreStopHook", draw(st.sampled_from([T0 - 200, T0, T0 + took])), uid=uid)))
    slices = [(T0 - 60, endpoint_slice(uid, uid=f"s-{uid}")), (T0 + 0.5, endpoint_slice(leaving=[uid], uid=f"s-{uid}")),
              (T0 + 302, endpoint_slice(uid=f"s-{uid}"))]  # fmt: skip
    return pods, events, slices


def merged(draw, feeds):
    """Return the steps of all feeds as one sequence that keeps the order within each feed."""
    left = [list(steps) for steps in feeds if steps]
    made = []
    while left:
        steps = left[draw(st.integers(0, len(left) - 1))]
        made.append(steps.pop(0))
        left = [steps for steps in left if steps]
    return made


def outcome(steps):
    """Return the records of a sequence, without the times of our own clock, and what is left in memory."""
    joined = Join(DIGESTS, T0 - 3600)
    for step in steps:
        feed(joined, *step)
    made = joined.records(END + LINGER_SECONDS)
    for later in (STRANGER_SECONDS, REMEMBERED_SECONDS):
        made += joined.records(END + LINGER_SECONDS + later)
    left = [len(kept) for kept in (joined.pods, joined.slices, joined.due, joined.strangers, joined.gone, joined.bare)]
    return sorted(repr(record) for record in made), sum(left)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_order_between_watches_does_not_matter(data):
    """Each watch keeps its order; which one is ahead is chance."""
    feeds = [steps for uid in ("u1", "u2") for steps in data.draw(lives(uid))]
    straight = [step for steps in feeds for step in steps]
    shuffled = merged(data.draw, feeds)

    assert outcome(shuffled) == outcome(straight)
    assert outcome(straight)[1] == 0, "something is left of pods that are gone"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_order_and_repetition_within_the_feeds_of_pods_and_events_do_not_matter(data):
    """An API server that comes back may show older states once more."""
    pods, events, slices = data.draw(lives("u1"))
    again = data.draw(st.lists(st.sampled_from([*pods, *events]), max_size=6))
    gone = [(at, obj, "gone") for at, obj, *_ in again if data.draw(st.booleans()) and "involvedObject" not in obj]
    same = [*slices[:1], *slices]
    mixed = data.draw(st.permutations([*pods, *events, *again]))
    last = [pods[-1], *gone[:1]] if gone else []

    # When the pod was gone is what the first such fact says: it is compared for one that is the last in time.
    assert at_the_end(outcome([*same, *mixed, *last])) == at_the_end(outcome([*pods, *events, *slices]))


def at_the_end(found):
    """Return records without the time at which our watch said that the pod was gone."""
    records, left = found
    return [record.partition("gone=")[0] + record.partition(", seconds=")[2] for record in records], left


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_list_instead_of_a_deletion_gives_one_record_with_the_same_verdict(data):
    """The DELETED event was lost: the pod's last state and the list say the same, save when it went."""
    pods, events, slices = data.draw(lives("u1"))
    told = records_of([*slices, *pods, *events])
    lost = records_of([*slices, *pods[:-1], *events], relist=True)

    assert len(lost) == len(told)
    unseen = {"gone": None, "is_missed": True}
    assert [replace(one, **unseen) for one in lost if one.sigkill is not None] == [
        replace(one, **unseen) for one, other in zip(told, lost, strict=True) if other.sigkill is not None
    ]


def records_of(steps, *, relist=False):
    """Return the records of a sequence; at its end a list may show that the pod is gone."""
    joined = Join(DIGESTS, T0 - 3600)
    for step in steps:
        feed(joined, *step)
    if relist:
        joined.relist_pods(set(), END)
    return joined.records(END + LINGER_SECONDS)
