"""What the workers of a server share, with real processes."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drainable.workers import Worker, own_path
from webhook.drainable.board import Board, join


@pytest.fixture
def start():
    """Start workers that have joined; end them all."""
    own_path().unlink(missing_ok=True)
    made = []

    def one():
        made.append(Worker())
        return made[-1].joined()

    yield one
    for worker in made:
        worker.kill()
    if own_path().is_dir():
        own_path().rmdir()
    own_path().unlink(missing_ok=True)


def test_every_worker_sees_what_all_have(start):
    one, two = start(), start()
    one("enter")
    two("enter")
    two("enter")
    one("reject")
    two("reject")

    assert [(worker("in_flight"), worker("here"), worker("rejected")) for worker in (one, two)] == [
        (3, 1, 2),
        (3, 2, 2),
    ]

    two("leave")
    assert one("in_flight") == 2


def test_a_drain_reaches_every_worker_and_one_that_comes_later(start):
    one, two = start(), start()
    now = time.monotonic()

    two("begin", now, now)

    assert [worker("refuses") for worker in (one, two, start())] == [True, True, True]
    assert one("began") == now


def test_sigterm_to_one_worker_concerns_that_one(start):
    """Supervisors replace workers: SIGHUP, a limit of requests or of memory."""
    old, new = start(), start()

    old("end", time.monotonic())

    assert [worker("refuses") for worker in (old, new, start())] == [True, False, False]
    assert [worker("began") > 0 for worker in (old, new)] == [True, False]


def test_what_a_killed_worker_had_is_over_and_what_it_refused_is_not(start):
    one, two = start(), start()
    for worker in (one, two):
        worker("enter")
        worker("reject")
    assert one("in_flight") == 2

    two.kill()

    assert (one("in_flight"), one("rejected")) == (1, 2)
    third = start()
    assert (third("here"), third("in_flight"), third("rejected")) == (0, 1, 2)


def test_the_first_worker_of_a_new_life_begins_at_zero(start):
    workers = [start(), start()]
    now = time.monotonic()
    for worker in workers:
        worker("enter")
        worker("reject")
        worker("begin", now, now)
    for worker in workers:
        worker.kill()
    assert own_path().exists()

    fresh = start()

    assert [fresh(name) for name in ("in_flight", "rejected", "began", "refuses")] == [0, 0, 0.0, False]


def test_the_last_worker_that_leaves_removes_the_file(start):
    one, two = start(), start()

    one("close")
    assert own_path().stat().st_mode & 0o777 == 0o600
    two("close")
    assert not own_path().exists()

    three, four = start(), start()
    three("enter")
    assert four("in_flight") == 1


def test_a_worker_that_was_killed_does_not_keep_the_file(start):
    one, two = start(), start()
    two.kill()

    one("close")

    assert not own_path().exists()


def test_workers_that_come_and_go_at_the_same_moment_never_lose_the_count(start):
    workers = [start() for _ in range(3)]
    for worker in workers:
        worker("close")
    for worker in workers:
        worker._pipe.send(("churn", (60,)))

    assert [worker._pipe.recv() for worker in workers if worker._pipe.poll(60)] == [0, 0, 0]
    assert not own_path().exists()


def test_what_runs_on_after_the_end_is_counted_alone_and_disturbs_no_successor(start):
    old, other = start(), start()
    old("enter")
    old("reject")
    old("close")
    assert (old("here"), old("in_flight"), old("rejected"), other("in_flight")) == (1, 1, 1, 0)

    new = start()
    new("enter")
    old("leave")

    assert (old("here"), new("here"), other("in_flight")) == (0, 1, 1)


def test_two_applications_of_a_process_share_a_board_until_both_are_closed(start):
    worker, other = start(), start()
    worker("enter")

    assert worker("join") is True
    worker("enter")
    worker("close")
    assert (worker("here"), other("in_flight")) == (2, 2)

    worker("close")
    assert other("in_flight") == 0


def make_a_folder(path):
    path.mkdir()


def make_a_link(path):
    path.symlink_to("/dev/null")


def make_a_second_name(path):
    path.touch(0o600)
    path.with_name(f"{path.name}-2").hardlink_to(path)


def make_another_user_s(path):
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    path.touch(0o600)
    os.chown(path, 65_534, 65_534)


@pytest.mark.parametrize("make", [make_a_folder, make_a_link, make_a_second_name, make_another_user_s])
def test_a_path_that_is_not_ours_is_left_alone_and_the_worker_works_alone(make, start):
    make(own_path())
    before = own_path().lstat()
    try:
        one, two = start(), start()
        one("enter")
        assert [worker("in_flight") for worker in (one, two)] == [1, 0]
        one("close")
        assert own_path().lstat()[:6] == before[:6]
    finally:
        own_path().with_name(f"{own_path().name}-2").unlink(missing_ok=True)


def test_a_worker_without_space_says_so_and_works_alone(start):
    alone = Worker()
    alone("no_space")
    alone.joined()
    alone("enter")
    one = start()

    assert (one("in_flight"), alone("in_flight")) == (0, 1)
    assert alone("said") == [
        "a drain reaches one worker only: no memory can be shared with the others: [Errno 27] File too large"
    ]
    alone.kill()


def test_where_every_slot_is_taken_the_worker_works_alone(start):
    holder = Worker()
    holder("lock_all_slots", str(own_path()))
    late = start()
    late("enter")

    assert late("in_flight") == 1
    assert late("said")[0].endswith(f"{own_path()} has no slot left, 250 workers have one")
    holder.kill()
    assert start()("in_flight") == 0


def test_a_process_without_a_supervisor_shares_nothing():
    one, two = join(), join()
    one.enter()

    assert (one.in_flight, two.in_flight) == (1, 0)
    one.close()
    assert one.in_flight == 1


def test_a_board_that_came_by_a_fork_is_known_as_another_process_s():
    board = join()
    assert not board.is_stale
    child = os.fork()
    if child == 0:
        os._exit(0 if board.is_stale else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@given(st.lists(st.tuples(st.floats(1, 1e6), st.floats(0, 300)), min_size=1, max_size=8))
def test_of_several_drains_the_first_one_s_start_and_the_earliest_refusal_count(drains):
    board = Board()
    for now, settle in drains:
        board.begin(now, now + settle)

    assert board.began == drains[0][0]
    assert board._times[1] == min(now + settle for now, settle in drains)


STEP = st.tuples(st.integers(0, 2), st.sampled_from(["enter", "leave", "reject", "kill", "close"]))


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(steps=st.lists(STEP, min_size=8, max_size=12))
def test_any_history_of_three_workers_adds_up(steps):
    own_path().unlink(missing_ok=True)
    workers = [Worker().joined() for _ in range(3)]
    here, refused = [0, 0, 0], 0
    try:
        for number, step in steps:
            if step == "leave" and not here[number]:
                continue
            if step in {"kill", "close"}:
                if step == "close":
                    workers[number]("close")
                workers[number].kill()
                workers[number] = Worker().joined()
                here[number] = 0
            else:
                workers[number](step)
                here[number] += {"enter": 1, "leave": -1, "reject": 0}[step]
                refused += step == "reject"
            assert [worker("in_flight") for worker in workers] == [sum(here)] * 3
            assert workers[0]("rejected") == refused
    finally:
        for worker in workers:
            worker("close")
            worker.end()
    assert not own_path().exists()
