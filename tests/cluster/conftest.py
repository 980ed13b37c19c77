"""The cluster for tests that need one: they are skipped, and say why, where none is up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    try:
        return Cluster.attach()
    except ClusterError as error:
        pytest.skip(str(error))


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """Give such a namespace to one test."""
    with cluster.namespace() as name:
        yield name
