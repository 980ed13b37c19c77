"""The admission server's metrics: names, labels from closed sets only (O2), and every child made at the start.

One registry per object, never the library's global one. No pod name, namespace, image or annotation may become a label.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any, Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from webhook import __version__, names
from webhook.core.decision import Reason

PATHS: Final = ("mutate", "validate")
OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
OTHER: Final = "other"
# `fault`: the review could not be decided. `unproven`: a patch did not pass its own proof. `error`: our own failure.
DECISIONS: Final = ("allow", "patch", "deny", "fault", "unproven", "error")
RELOADS: Final = ("success", "failure")
# Seconds. A decision takes well under a millisecond; what is above 1 s is a stalled process or a slow client.
BUCKETS: Final = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """All series of one server; every one of them is there, as zero, before the first request."""

    def __init__(self) -> None:
        """Make the series in a registry of their own."""
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._requests(self.registry)
        self._process(self.registry)

    def _requests(self, registry: CollectorRegistry) -> None:
        requests = Counter(
            "drainhook_admission_requests_total",
            "Admission reviews answered, by endpoint, operation and decision.",
            ("path", "operation", "decision"),
            registry=registry,
        )
        self._answered = {
            (path, operation, decision): requests.labels(path, operation, decision)
            for path in PATHS
            for operation in (*OPERATIONS, OTHER)
            for decision in DECISIONS
        }
        reasons = Counter(
            "drainhook_admission_reasons_total",
            "Reasons given in decisions: why something was changed, kept, left alone or found.",
            ("reason",),
            registry=registry,
        )
        self._reasons = {str(reason): reasons.labels(str(reason)) for reason in Reason}
        duration = Histogram(
            "drainhook_admission_duration_seconds",
            "Time from the whole body to the answer.",
            ("path",),
            buckets=BUCKETS,
            registry=registry,
        )
        self._seconds = {path: duration.labels(path) for path in PATHS}
        self.in_flight = Gauge("drainhook_admission_in_flight", "Requests being read or answered.", registry=registry)

    def _process(self, registry: CollectorRegistry) -> None:
        errors = Counter(
            "drainhook_admission_errors_total",
            "Failures of our own; each was answered with allowed.",
            ("path",),
            registry=registry,
        )
        self.errors = {path: errors.labels(path) for path in PATHS}
        self.proof_failures = Counter(
            "drainhook_patch_proof_failures_total",
            "Patches that were held back because they did not lead to the decided object.",
            registry=registry,
        )
        self.certificate_expiry = Gauge(
            "drainhook_certificate_expiry_timestamp_seconds",
            "When the served certificate ends, in seconds since the epoch.",
            registry=registry,
        )
        reloads = Counter(
            "drainhook_certificate_reloads_total",
            "Changes of the certificate files: taken over, or refused while the old pair is served on.",
            ("result",),
            registry=registry,
        )
        self.reloads = {result: reloads.labels(result) for result in RELOADS}
        build = Gauge(
            "drainhook_build_info", "Version of drainhook and Python.", ("version", "python"), registry=registry
        )
        build.labels(__version__, platform.python_version()).set(1)

    def answered(self, path: str, operation: str, decision: str, seconds: float) -> None:
        """Count one answer; an operation that Kubernetes does not have counts as `other`."""
        self._answered[path, operation if operation in OPERATIONS else OTHER, decision].inc()
        self._seconds[path].observe(seconds)

    def reasoned(self, keys: list[str]) -> None:
        """Count the reasons of one decision."""
        for key in keys:
            self._reasons[key].inc()


def create_page(metrics: Metrics) -> Callable[..., Any]:
    """Make the ASGI application of the metrics port: one page."""

    async def app(scope: dict[str, Any], _receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        found = scope["path"] == names.METRICS_PATH and scope["method"] in ("GET", "HEAD")
        body = generate_latest(metrics.registry) if found else f"The metrics are under {names.METRICS_PATH}.\n".encode()
        media = CONTENT_TYPE_LATEST if found else "text/plain; charset=utf-8"
        headers = [(b"content-type", media.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200 if found else 404, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app
