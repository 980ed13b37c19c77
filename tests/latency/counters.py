"""Reads pages of metrics: sums over series, and what was added between two readings. Nothing is fetched here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from prometheus_client.parser import text_string_to_metric_families

ANSWERED: Final = "drainhook_admission_requests_total"
INSIDE: Final = "drainhook_admission_duration_seconds"
SEEN: Final = "apiserver_admission_webhook_admission_duration_seconds"
PATHS: Final = ("mutate", "validate")


@dataclass(frozen=True, slots=True)
class Spent:
    """How often something happened and how many seconds it took in all."""

    count: float
    seconds: float

    @property
    def mean_ms(self) -> float:
        """Milliseconds of one; 0 where nothing happened."""
        return 1000 * self.seconds / self.count if self.count else 0.0

    def since(self, before: Self) -> Spent:
        """Give what was added since an earlier reading."""
        return Spent(self.count - before.count, self.seconds - before.seconds)


@dataclass(frozen=True, slots=True)
class Reading:
    """The counters at one moment: creates by path, and time by path (webhook) and by name (API server)."""

    creates: dict[str, int]
    inside: dict[str, Spent]
    seen: dict[str, Spent]

    def since(self, before: Self) -> Reading:
        """Give what was added since an earlier reading."""
        return Reading(
            {path: count - before.creates[path] for path, count in self.creates.items()},
            {path: spent.since(before.inside[path]) for path, spent in self.inside.items()},
            {name: spent.since(before.seen.get(name, Spent(0, 0))) for name, spent in self.seen.items()},
        )


def reading(webhooks: Iterable[str], api_server: str) -> Reading:
    """Read the pages of all replicas of the webhook and the API server's one."""
    page = "\n".join(webhooks)
    hooks = sorted({labels["name"] for _, labels, _ in _series(api_server, SEEN)})
    return Reading(
        {path: int(total(page, ANSWERED, path=path, operation="CREATE")) for path in PATHS},
        {path: _spent(page, INSIDE, path=path) for path in PATHS},
        {name: _spent(api_server, SEEN, name=name, operation="CREATE") for name in hooks},
    )


def total(page: str, series: str, **labels: str) -> float:
    """Sum the values of all series of a name that carry the labels; 0 where there are none."""
    return sum(
        value for name, found, value in _series(page, series) if name == series and labels.items() <= found.items()
    )


def _spent(page: str, histogram: str, **labels: str) -> Spent:
    return Spent(total(page, f"{histogram}_count", **labels), total(page, f"{histogram}_sum", **labels))


def _series(page: str, prefix: str) -> list[tuple[str, dict[str, str], float]]:
    """Parse the lines that start with a name: the API server's page has tens of thousands."""
    lines = "\n".join(line for line in page.splitlines() if line.startswith(prefix)) + "\n"
    families = text_string_to_metric_families(lines)
    return [(sample.name, sample.labels, sample.value) for family in families for sample in family.samples]
