"""The observer's metrics, with labels from closed sets only: backends are the catalog's, reasons are `Cause`.

One registry per object, never the library's global one. No pod name, namespace or workload may become a label.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from webhook import __version__
from webhook.observe.record import OTHER, UNPROTECTED, Cause, Record

SECONDS: Final = (1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 900, 1800)
IN_FLIGHT: Final = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)
WRITTEN: Final = ("written", "known", "failed", "dropped")
"""What became of a Kubernetes event: `known` is one that another observer had written already."""


class Metrics:
    """All series of one observer. Counters and gauges are there, as zero, from the start; histograms once used."""

    def __init__(self, backends: Iterable[str], resources: Iterable[str], troubles: Iterable[str]) -> None:
        """Make the series in a registry of their own."""
        self.registry = CollectorRegistry()
        self._backends = (*backends, OTHER)
        ProcessCollector(registry=self.registry)
        self._shutdowns(self.registry)
        self._watching(self.registry, tuple(resources), tuple(troubles))

    def _shutdowns(self, registry: CollectorRegistry) -> None:
        self._seconds = Histogram(
            "drainhook_pod_shutdown_duration_seconds",
            "Seconds from the request to end (of a restart: from the Killing event) to the end of the last server.",
            ("backend", "reason"),
            buckets=SECONDS,
            registry=registry,
        )
        self._in_flight = Histogram(
            "drainhook_pod_inflight_at_sigterm",
            "What was in flight when SIGTERM came, by the hook's own record.",
            ("backend",),
            buckets=IN_FLIGHT,
            registry=registry,
        )
        killed = Counter(
            "drainhook_pod_killed_by_sigkill_total",
            "Shutdowns that SIGKILL ended when the grace period was over.",
            ("backend", "reason"),
            registry=registry,
        )
        self._killed = {
            (name, str(cause)): killed.labels(name, str(cause)) for name in self._backends for cause in Cause
        }
        failed = Counter(
            "drainhook_prestop_failed_total",
            "Shutdowns whose preStop hook failed, by the kubelet's event.",
            ("backend",),
            registry=registry,
        )
        self._failed = {name: failed.labels(name) for name in self._backends}
        bare = Gauge(
            "drainhook_pods_unprotected",
            "Living pods that are labelled but not patched, or patched by an old profile.",
            ("backend", "why"),
            registry=registry,
        )
        self._bare = {(name, why): bare.labels(name, why) for name in self._backends for why in UNPROTECTED}
        unknown = Counter(
            "drainhook_observe_unknown_total",
            "Shutdowns of which nobody said what was in flight, or how they ended.",
            ("backend", "what"),
            registry=registry,
        )
        self._unknown = {
            (name, what): unknown.labels(name, what) for name in self._backends for what in ("inflight", "sigkill")
        }

    def _watching(self, registry: CollectorRegistry, resources: tuple[str, ...], troubles: tuple[str, ...]) -> None:
        lists = Counter(
            "drainhook_observe_relists_total", "Lists that were read whole, the first included.", ("resource",),
            registry=registry,
        )  # fmt: skip
        self.lists = {name: lists.labels(name) for name in resources}
        errors = Counter(
            "drainhook_observe_watch_errors_total", "Watches that did not go on, by why.", ("resource", "cause"),
            registry=registry,
        )  # fmt: skip
        self.errors = {(name, why): errors.labels(name, why) for name in resources for why in troubles}
        age = Gauge(
            "drainhook_observe_last_event_age_seconds", "Seconds since the API server last said anything.",
            ("resource",), registry=registry,
        )  # fmt: skip
        self.age = {name: age.labels(name) for name in resources}
        self.pods = Gauge("drainhook_observe_pods", "Pods that are kept in memory.", registry=registry)
        written = Counter(
            "drainhook_observe_events_total", "Kubernetes events of bad shutdowns.", ("result",), registry=registry
        )
        self.written = {result: written.labels(result) for result in WRITTEN}
        build = Gauge(
            "drainhook_build_info", "Version of drainhook and Python.", ("version", "python"), registry=registry
        )
        build.labels(__version__, platform.python_version()).set(1)

    def recorded(self, record: Record) -> None:
        """Count one shutdown."""
        backend, reason = record.backend, str(record.cause)
        if record.seconds is not None:
            self._seconds.labels(backend, reason).observe(record.seconds)
        if record.sigkill:
            self._killed[backend, reason].inc()
        if record.prestop_failed:
            self._failed[backend].inc()
        if record.inflight_at_sigterm is None:
            self._unknown[backend, "inflight"].inc()
        else:
            self._in_flight.labels(backend).observe(record.inflight_at_sigterm)
        if record.sigkill is None:
            self._unknown[backend, "sigkill"].inc()

    def unprotected(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Take the present number of unprotected pods; what is not named is none."""
        for key, gauge in self._bare.items():
            gauge.set(counts.get(key, 0))
