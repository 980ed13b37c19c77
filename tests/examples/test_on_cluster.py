"""The article's exercise on the real cluster: the example as a user applies it, and try.py, which says how it went."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cluster.cluster import Cluster
from tests.examples.image import EXAMPLE, load

pytestmark = pytest.mark.e2e


def test_the_example_loses_nothing(drainhook: Cluster, namespace: str) -> None:
    """Five streams whole, the draining pod refuses, the Service answers, the log tells the order, exit code 0."""
    load(drainhook)
    drainhook.kubectl("apply", "-n", namespace, "-k", str(EXAMPLE))
    environment = {
        **drainhook.environment,
        "KUBECTL": str(drainhook.kubectl_path),
        "KUBECONFIG": str(drainhook.kubeconfig),
        "NAMESPACE": namespace,
    }

    words = [sys.executable, str(EXAMPLE / "try.py")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=600)

    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
