"""A record as one JSON line and as one row of a table; the words for the pods that are still ending.

Nothing is printed here. The JSON keys are a promise: docs/observe.md lists them, and a test compares.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Final

from webhook.core.profile import Json
from webhook.observe.facts import KILLING
from webhook.observe.history import History
from webhook.observe.join import Bare
from webhook.observe.record import Record, backend_of

COLUMNS: Final = ("ENDED", "POD", "BACKEND", "REASON", "TOOK", "GRACE", "IN FLIGHT", "HOOK", "EXIT", "VERDICT")
_WIDTHS: Final = (8, 44, 18, 13, 6, 6, 9, 14, 4, 0)
_UNKNOWN: Final = "-"
SIGKILL: Final = "SIGKILL"


def json_line(record: Record) -> str:
    """Return the record as one line; times are RFC 3339, unknown values null."""
    return _line(
        {
            "namespace": record.namespace,
            "pod": record.pod,
            "uid": record.uid,
            "owner": None if record.owner is None else dict(zip(("kind", "name"), record.owner, strict=True)),
            "backend": record.backend,
            "profile": record.profile,
            "reason": str(record.cause),
            "container": record.container,
            "deleted": _stamp(record.deleted),
            "grace_seconds": record.grace,
            "endpoint_not_ready": _stamp(record.endpoint_not_ready),
            "stopping": _stamp(record.stopping),
            "hook_ended": _stamp(record.hook_ended),
            "finished": _stamp(record.finished),
            "gone": _stamp(record.gone),
            "seconds": record.seconds,
            "inflight_at_sigterm": record.inflight_at_sigterm,
            "hook": None if record.hook is None else asdict(record.hook),
            "exit_code": record.exit_code,
            "sigkill": record.sigkill,
            "oom": record.oom,
            "prestop_failed": record.prestop_failed,
            "forced": record.is_forced,
            "missed": record.is_missed,
        }
    )


def heading() -> str:
    """Return the names of the columns."""
    return _row(COLUMNS)


def row(record: Record) -> str:
    """Return the record as one row; a value that is too long moves the rest of its row."""
    ended = record.finished or record.gone
    cells = (
        _UNKNOWN if ended is None else f"{datetime.fromtimestamp(ended, UTC):%H:%M:%S}",
        f"{record.namespace}/{record.pod}",
        record.backend,
        str(record.cause),
        _number(record.seconds, "s"),
        _number(record.grace, "s"),
        _number(record.inflight_at_sigterm),
        record.hook.end if record.hook else _UNKNOWN,
        _number(record.exit_code),
        verdict(record),
    )
    return _row(cells)


def verdict(record: Record) -> str:
    """Say in a few words what a reader must know."""
    words = [SIGKILL] if record.sigkill else []
    words += ["OOM killed"] if record.oom else []
    words += ["hook failed"] if record.prestop_failed else []
    words += ["forced"] if record.is_forced else []
    if record.sigkill is None:
        words.append("end not seen")
    return ", ".join(words) or "ok"


def is_bad(record: Record) -> bool:
    """Say whether requests were probably lost: by SIGKILL, by the kernel, or since the hook failed."""
    return bool(record.sigkill or record.oom or record.prestop_failed)


def bare_row(bare: Bare) -> str:
    """Return an unprotected pod as a row."""
    return f"{bare.namespace}/{bare.pod}: unprotected ({bare.why}), backend {bare.backend}"


def bare_line(bare: Bare) -> str:
    """Return an unprotected pod as one line of JSON."""
    return _line({"namespace": bare.namespace, "pod": bare.pod, "backend": bare.backend, "unprotected": bare.why})


def lost_row(history: History) -> str:
    """Return a pod that is gone, and of which only events are left, as a row."""
    return f"{history.place}: gone, how it ended cannot be known; its events: {', '.join(history.told_since())}"


def lost_line(history: History) -> str:
    """Return such a pod as one line of JSON."""
    namespace, _, name = history.place.partition("/")
    return _line({"namespace": namespace, "pod": name, "uid": history.uid, "lost": history.told_since()})


def ending_rows(histories: Iterable[History], backends: Iterable[str], now: float, most: int) -> list[str]:
    """Return a row for each pod that is ending, the one nearest to its deadline first, and what is left out."""
    known = dict.fromkeys(backends, "")
    found = sorted(histories, key=lambda one: (one.deadline or now, one.uid))
    rows = [_ending(one, known, now) for one in found[:most]]
    return [*rows, f"… and {len(found) - most} more"] if len(found) > most else rows


def event(record: Record, stamp: str) -> Json:
    """Return the Kubernetes event of a bad shutdown; its name is fixed, so that it is made once."""
    reason = "DrainhookSigkill" if record.sigkill else "DrainhookOomKill" if record.oom else "DrainhookHookFailed"
    which = f"{record.uid[:8]}-{(record.container or 'pod')[:20]}-{int(record.finished or 0):x}"
    name = f"{record.pod[:200].rstrip('-.')}.{which}"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": record.namespace},
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "namespace": record.namespace, "name": record.pod, "uid": record.uid,
        },
        "type": "Warning",
        "reason": reason,
        "message": f"{verdict(record)} after {_number(record.seconds, ' s')} of {_number(record.grace, ' s')} grace; "
        f"in flight at SIGTERM: {_number(record.inflight_at_sigterm)}; reason {record.cause}",
        "source": {"component": "drainhook"},
        "reportingComponent": "drainhook",
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
    }  # fmt: skip


def _line(values: Json) -> str:
    return json.dumps(values, separators=(",", ":"))


def _ending(history: History, known: dict[str, str], now: float) -> str:
    pod, requested = history.pod, history.requested
    assert pod is not None  # noqa: S101 (only pods end)
    assert requested is not None  # noqa: S101
    backend = backend_of(pod.label, pod.profile, known)
    limit = "" if history.deadline is None else f" of {round(history.deadline - requested)} s"
    state = "stopping" if any(reason == KILLING for reason, _ in history.events) else "asked to end"
    return f"{pod.namespace}/{pod.name}  {backend}  {state}, {max(0, round(now - requested))} s{limit}"


def _row(cells: Iterable[str]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip()


def _number(value: float | None, unit: str = "") -> str:
    return _UNKNOWN if value is None else f"{value:g}{unit}"


def _stamp(at: float | None) -> str | None:
    """Return a time of the API; fractions only where there are any."""
    if at is None:
        return None
    form = "seconds" if at == int(at) else "milliseconds"
    return datetime.fromtimestamp(at, UTC).isoformat(timespec=form).replace("+00:00", "Z")
