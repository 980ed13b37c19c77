"""One JSON line, one row, and one Kubernetes event for a record."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.observe.objects import DIGESTS, T0, drained, endpoint_slice, event, join, message, records
from webhook.observe import report
from webhook.observe.join import Bare

DOCS = Path(__file__).parents[3] / "docs/observe.md"
(RECORD,) = records(
    *drained(), (T0 - 9, endpoint_slice("u1")), (T0 + 0.25, endpoint_slice()), (T0 + 0.3, event("Killing", T0))
)
KILLED = replace(RECORD, sigkill=True, exit_code=137, prestop_failed=True)


def test_a_record_is_one_json_line():
    line = report.json_line(RECORD)
    assert "\n" not in line
    assert json.loads(line) == {
        "namespace": "llm", "pod": "chat-5d9f7c8b6-x2x4k", "uid": "u1",
        "owner": {"kind": "Deployment", "name": "chat"}, "backend": "vllm", "profile": "vllm@0a1b2c3d",
        "reason": "deleted", "container": "server", "deleted": "2026-12-01T14:23:20Z", "grace_seconds": 120,
        "endpoint_not_ready": "2026-12-01T14:23:20.250Z", "stopping": "2026-12-01T14:23:20Z",
        "hook_ended": "2026-12-01T14:23:34Z", "finished": "2026-12-01T14:23:35Z",
        "gone": "2026-12-01T14:23:36.200Z", "seconds": 15.0, "inflight_at_sigterm": 0,
        "hook": {"end": "idle", "seconds": 14, "inflight_start": 4, "inflight_end": 0, "connections_end": 0,
                 "settle": 10, "last_busy": 3.36},
        "exit_code": 143, "sigkill": False, "oom": False, "prestop_failed": False, "forced": False, "missed": False,
    }  # fmt: skip


def test_the_documents_name_every_key():
    """They are a promise."""
    table = DOCS.read_text().partition("## The record")[2].partition("`reason` is one of")[0]
    told = {key for line in table.splitlines() if line.startswith("| `") for key in line.split("|")[1].split("`")[1::2]}
    assert told == set(json.loads(report.json_line(RECORD)))


def test_what_nobody_said_is_null():
    unknown = replace(RECORD, owner=None, hook=None, stopping=None, finished=None, sigkill=None, seconds=None)
    found = json.loads(report.json_line(unknown))
    keys = ("owner", "hook", "hook_ended", "stopping", "finished", "sigkill", "seconds", "inflight_at_sigterm")
    assert {key: found[key] for key in keys} == dict.fromkeys(keys)


def test_a_record_is_one_row_under_its_heading():
    heading, row = report.heading(), report.row(RECORD)
    assert row.split() == ["14:23:35", "llm/chat-5d9f7c8b6-x2x4k", "vllm", "deleted", "15s", "120s", "0", "idle",
                           "143", "ok"]  # fmt: skip
    assert [row.index(word) for word in ("vllm", "deleted", "ok")] == [
        heading.index(word) for word in ("BACKEND", "REASON", "VERDICT")
    ]


def test_a_row_of_which_little_is_known_has_dashes():
    little = replace(
        RECORD, finished=None, gone=None, seconds=None, grace=None, hook=None, exit_code=None, sigkill=None
    )
    assert report.row(little).split() == ["-", "llm/chat-5d9f7c8b6-x2x4k", "vllm", "deleted", "-", "-", "-", "-", "-",
                                          "end", "not", "seen"]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "verdict", "is_bad"),
    [
        ({}, "ok", False),
        ({"sigkill": True}, "SIGKILL", True),
        ({"sigkill": True, "prestop_failed": True}, "SIGKILL, hook failed", True),
        ({"oom": True}, "OOM killed", True),
        ({"is_forced": True, "sigkill": None, "oom": None}, "forced, end not seen", False),
    ],
)
def test_the_verdict_says_what_a_reader_must_know(changes, verdict, is_bad):
    record = replace(RECORD, **changes)
    assert (report.verdict(record), report.is_bad(record)) == (verdict, is_bad)


def test_an_unprotected_pod_is_one_row():
    assert report.bare_row(Bare("llm", "p", "vllm", "old_profile")) == (
        "llm/p: unprotected (old_profile), backend vllm"
    )


def test_pods_that_are_ending_are_shown_nearest_deadline_first():
    joined = join(
        *drained(uid="a", name="slow")[:2],
        *drained(uid="b", name="fast", grace=30)[:2],
        (T0, event("Killing", T0, uid="a")),
    )
    assert report.ending_rows(joined.ending(), DIGESTS, T0 + 7, 5) == [
        "llm/fast  vllm  asked to end, 7 s of 30 s",
        "llm/slow  vllm  stopping, 7 s of 120 s",
    ]
    assert report.ending_rows(joined.ending(), DIGESTS, T0 + 7, 1)[1:] == ["… and 1 more"]


def test_a_bad_shutdown_is_one_event_with_a_name_of_its_own():
    made = report.event(KILLED, "2026-12-01T14:23:40Z")
    assert (made["reason"], made["type"], made["involvedObject"]["uid"]) == ("DrainhookSigkill", "Warning", "u1")
    assert made["message"] == (
        "SIGKILL, hook failed after 15 s of 120 s grace; in flight at SIGTERM: 0; reason deleted"
    )
    assert made == report.event(KILLED, "2026-12-01T14:23:40Z"), "a second observer makes the same one"
    other = report.event(replace(KILLED, finished=T0 + 16), "2026-12-01T14:23:40Z")
    assert made["metadata"]["name"] != other["metadata"]["name"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"sigkill": True}, "Sigkill"), ({"oom": True}, "OomKill"), ({"prestop_failed": True}, "HookFailed")],
)
def test_the_events_reason_is_the_worst_that_happened(changes, reason):
    assert report.event(replace(RECORD, **changes), "")["reason"] == f"Drainhook{reason}"


def test_the_name_of_an_event_is_one_that_the_api_takes():
    """A DNS subdomain of at most 253 characters."""
    longest = replace(KILLED, pod="p" * 199 + "-" + "q" * 53, container="c" * 63, uid="0a1b2c3d-1111")
    name = report.event(longest, "")["metadata"]["name"]
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", name)
    assert len(name) <= 253


def test_a_record_of_a_shutdown_by_deadline_shows_what_was_cut():
    (record,) = records(*drained(took=121, code=137, text=message(end="deadline", inflight_end=3)))
    assert report.row(record).split()[4:] == ["121s", "120s", "3", "deadline", "137", "SIGKILL"]
