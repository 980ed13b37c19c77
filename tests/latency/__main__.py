"""`python -m tests.latency`: milliseconds that drainhook adds to the creation of a pod, on the cluster that is up.

Exit code 0 whatever the figures are, 1 where the webhooks were not called as often as pods were created with them, 2
where a part is missing. Installs drainhook where it is not, and removes it then.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.report import machine
from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError
from tests.cluster.namespaces import PYTHON
from tests.e2e.product import installed
from tests.latency.counters import Reading, reading
from tests.latency.figures import MEDIAN_GOAL_MS, P99_GOAL_MS, WITH, WITHOUT, Figures, figures, order, table
from tests.latency.pods import pods
from webhook import names

RESULT: Final = Path("build/latency/result.json")
WARM_UP: Final = 50  # creates of each kind: connections are made, the webhook has decided once
BATCH: Final = 100  # pods that stand at the same time


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write the result; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.latency", description=__doc__)
    parser.add_argument("--pairs", type=_positive, default=1_000, help="creates with and as many without (1000)")
    pairs = parser.parse_args(arguments).pairs
    try:
        cluster = Cluster.attach()
        with installed(cluster), cluster.namespace("latency") as namespace:
            return _measure(cluster, namespace, pairs)
    except ClusterError as error:
        print(f"not measured: {error}")
        return 2


def _positive(text: str) -> int:
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value


def _measure(cluster: Cluster, namespace: str, pairs: int) -> int:
    about = machine()
    faults = []
    for kind in (WITHOUT, WITH):
        _, _, more = _round(cluster, namespace, [kind] * WARM_UP)
        faults += more
    samples, spent, more = _round(cluster, namespace, list(order(pairs)))
    found = figures(samples[WITH], samples[WITHOUT])
    faults += more
    print(f"Kubernetes {cluster.version}, {pairs} pairs of creates, load average before {about['load_average']:.1f}")
    print(f"{table(found)}\n{_where(spent, found)}")
    _write(found, spent, {**about, "kubernetes": cluster.version, "faults": faults})
    print("\n".join(faults) or f"The webhooks were called once each for {WITH}, never for {WITHOUT}.")
    return 1 if faults else 0


def _round(cluster: Cluster, namespace: str, kinds: list[str]) -> tuple[dict[str, list[float]], Reading, list[str]]:
    """Create pods of the kinds in order; give samples, what the counters say, and what is wrong with the calls."""
    before = _read(cluster)
    result = _create(cluster, namespace, kinds)
    spent = _read(cluster).since(before)
    called = kinds.count(WITH)
    faults = [
        f"/{path} was called {count} times for {called} pods of {len(kinds)}: what else uses the cluster?"
        for path, count in spent.creates.items()
        if count != called
    ]
    if result["patched"] != {WITH: called, WITHOUT: 0}:
        faults.append(f"Patched pods: {result['patched']}")
    return result["samples"], spent, faults


def _create(cluster: Cluster, namespace: str, kinds: list[str]) -> Any:
    certificate, key = cluster.client
    errand = {
        "url": cluster.url_inside,
        "authority": str(cluster.authority),
        "certificate": str(certificate),
        "key": str(key),
        "namespace": namespace,
        "pods": pods(),
        "order": kinds,
        "batch": BATCH,
    }
    command = [*cluster.inside, *PYTHON, "tests.latency.client"]
    done = subprocess.run(command, input=json.dumps(errand), capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(done.stderr.strip()[-500:])
    return json.loads(done.stdout)


def _read(cluster: Cluster) -> Reading:
    selector = f"app.kubernetes.io/name={names.SERVICE}"
    replicas = cluster.get("pods", "-n", names.SYSTEM_NAMESPACE, "-l", selector)["items"]
    addresses = [item["status"]["podIP"] for item in replicas if "deletionTimestamp" not in item["metadata"]]
    pages = [_page(cluster, f"http://{address}:{names.METRICS_PORT}{names.METRICS_PATH}") for address in addresses]
    return reading(pages, cluster.kubectl("get", "--raw", "/metrics"))


def _page(cluster: Cluster, url: str) -> str:
    done = cluster.run("curl", "--silent", "--show-error", "--fail", "--max-time", "10", url)
    if done.returncode:
        raise ClusterError(f"The webhook's metrics: {done.stderr.strip()}")
    return done.stdout


def _where(spent: Reading, found: Figures) -> str:
    """Say on average where the time of a create goes that is added."""
    seen = ", ".join(f"{name} {item.mean_ms:.2f}" for name, item in spent.seen.items())
    inside = ", ".join(f"/{path} {item.mean_ms:.2f}" for path, item in spent.inside.items())
    return f"means in ms: added {found.added_mean:.2f}; seen by the API server: {seen}; in the webhook: {inside}"


def _write(found: Figures, spent: Reading, about: dict[str, Any]) -> None:
    added = {"added_median": found.added_median, "added_p99": found.added_p99}
    goals = {"added_median": MEDIAN_GOAL_MS, "added_p99": P99_GOAL_MS}
    result = {**about, "ms": asdict(found) | added, "goals_ms": goals, "counters": asdict(spent)}
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
