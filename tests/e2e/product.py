"""drainhook on the cluster, installed as users install it; only the image's tag differs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster import processes, recipes
from tests.cluster.cluster import Cluster
from tests.cluster.pins import ROOT
from webhook import names
from webhook.core.decision import Sidecar

OVERLAY = ROOT / "tests/e2e/overlay"
SIDECAR = Sidecar(recipes.PRODUCT, "Never")
"""The sidecar's settings, as the overlay has them."""
_KINDS = "mutatingwebhookconfiguration,validatingwebhookconfiguration"


def install(cluster: Cluster) -> None:
    """Apply the overlay and wait until both replicas serve and both configurations hold the CA."""
    if _is_leaving(cluster):  # of an earlier run
        cluster.kubectl("wait", "--for=delete", f"namespace/{names.SYSTEM_NAMESPACE}", "--timeout=90s")
    cluster.kubectl("apply", "-k", str(OVERLAY))
    target = f"deployment/{names.SERVICE}"
    cluster.kubectl("rollout", "status", target, "-n", names.SYSTEM_NAMESPACE, "--timeout=90s")
    processes.wait_until("the CA in both configurations", lambda: _has_authority(cluster), 30)
    processes.wait_until("an answer of the webhook", lambda: _patches(cluster), 60)


@contextmanager
def installed(cluster: Cluster, *, shared: bool = False) -> Iterator[None]:
    """Install drainhook, or bring it up to date, and remove it afterwards unless it was there before.

    A `shared` one may be in use and is not started anew, though its image may have been built again under its name.
    """
    stays = is_installed(cluster)
    try:
        install(cluster)
        if stays and not shared:
            target = f"deployment/{names.SERVICE}"
            cluster.kubectl("rollout", "restart", target, "-n", names.SYSTEM_NAMESPACE)
            cluster.kubectl("rollout", "status", target, "-n", names.SYSTEM_NAMESPACE, "--timeout=90s")
        yield
    finally:
        if not stays:
            uninstall(cluster)


def is_installed(cluster: Cluster) -> bool:
    """Say whether there is a Deployment of drainhook."""
    words = ("get", "deployment", names.SERVICE, "-n", names.SYSTEM_NAMESPACE, "--ignore-not-found", "-o", "name")
    return bool(cluster.kubectl(*words))


def uninstall(cluster: Cluster) -> None:
    """Delete all that was installed."""
    cluster.kubectl("delete", _KINDS, names.CONFIGURATION, "--ignore-not-found")
    cluster.kubectl("delete", "-k", str(OVERLAY), "--ignore-not-found", "--timeout=90s")


def command(cluster: Cluster, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run drainhook's command line on the host against the cluster."""
    line = [sys.executable, "-m", "webhook", *words]
    environment = dict(cluster.environment)
    return subprocess.run(
        line, input=stdin, capture_output=True, text=True, check=False, timeout=120, env=environment, cwd=ROOT
    )


def _is_leaving(cluster: Cluster) -> bool:
    words = ("get", "namespace", names.SYSTEM_NAMESPACE, "--ignore-not-found", "-o", "jsonpath={.status.phase}")
    return cluster.kubectl(*words) == "Terminating"


def _has_authority(cluster: Cluster) -> bool:
    found = cluster.get(_KINDS, names.CONFIGURATION)["items"]
    return all(one["clientConfig"].get("caBundle") for item in found for one in item["webhooks"])


def _patches(cluster: Cluster) -> bool:
    """Say whether a labelled pod, created as a dry run, gets its hook."""
    label = f"--labels={names.BACKEND}=llamacpp"
    words = ["run", "probe", "--image=llama-server", label, "--port=8080", "--dry-run=server", "-o", "json"]
    return "preStop" in cluster.kubectl(*words, "--", "llama-server", "--host=0.0.0.0", check=False)
