"""The four metrics, as text and, where prometheus-client is there, as a collector of its registry."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from webhook.drainable.board import Board

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_HELP: Final = {
    "inflight_requests": ("gauge", "Requests and websockets in flight in all workers."),
    "requests_rejected_draining_total": ("counter", "Requests refused because the server is leaving."),
    "draining": ("gauge", "1 while the server is leaving."),
    "shutdown_duration_seconds": ("gauge", "Seconds since the shutdown began, 0 before it."),
}


def values(board: Board, now: float) -> dict[str, float]:
    """Give the value of each metric."""
    began = board.began
    return {
        "inflight_requests": board.in_flight,
        "requests_rejected_draining_total": board.rejected,
        "draining": int(began > 0),
        "shutdown_duration_seconds": round(now - began, 3) if began else 0,
    }


def text(board: Board, now: float) -> str:
    """Give the page in Prometheus' text format."""
    lines = []
    for name, value in values(board, now).items():
        kind, sense = _HELP[name]
        lines += [f"# HELP {name} {sense}", f"# TYPE {name} {kind}", f"{name} {value}"]
    return "\n".join(lines) + "\n"


class Collector:
    """What prometheus-client asks at each scrape: sums over all workers, whichever of them is asked."""

    def __init__(self, read: Callable[[], dict[str, float]]) -> None:
        """Remember where the values come from."""
        self._read = read

    def collect(self) -> Iterator[Any]:
        """Yield the metric families."""
        return _families(self._read())

    def describe(self) -> Iterator[Any]:
        """Yield the families without values."""
        return _families(dict.fromkeys(_HELP))


def _families(values: Mapping[str, float | None]) -> Iterator[Any]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415 (may be missing)

    for name, value in values.items():
        kind, sense = _HELP[name]
        yield (CounterMetricFamily if kind == "counter" else GaugeMetricFamily)(name, sense, value=value)


def register(collector: Collector) -> bool:
    """Add the collector to the default registry, which an application's own page shows; say whether that worked."""
    try:
        from prometheus_client import REGISTRY  # noqa: PLC0415 (may be missing)
    except ImportError:
        return False
    try:
        REGISTRY.register(collector)
    except ValueError:  # another application of this process has them
        return False
    return True


def unregister(collector: Collector) -> None:
    """Take the collector out again, if it is there."""
    with contextlib.suppress(ImportError, KeyError):
        from prometheus_client import REGISTRY  # noqa: PLC0415 (may be missing)

        REGISTRY.unregister(collector)
