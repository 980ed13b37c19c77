"""The cluster with drainhook for the example's story, as in tests/e2e; without one it is skipped, aloud."""

from __future__ import annotations

from tests.cluster.conftest import cluster, namespace
from tests.e2e.conftest import drainhook

__all__ = ["cluster", "drainhook", "namespace"]
