"""The cluster, the product and the report of the stories. Without a cluster all of them are skipped, aloud."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.conftest import cluster, namespace
from tests.e2e import product
from tests.e2e.report import Report

__all__ = ["cluster", "namespace"]


@pytest.fixture(scope="session")
def drainhook(cluster: Cluster) -> Iterator[Cluster]:  # pytest's way to ask for a fixture
    """Give the cluster with drainhook installed, once per session; one that was there before stays."""
    stays = product.is_installed(cluster)
    try:
        product.install(cluster)
        yield cluster
    finally:
        if not stays:
            product.uninstall(cluster)


@pytest.fixture(scope="session")
def report() -> Iterator[Report]:
    """Give the report; its table is printed at the end."""
    made = Report()
    yield made
    print("\n" + made.table())
