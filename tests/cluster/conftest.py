"""The cluster for tests that need one: they are skipped, and say why, where none is up."""

from __future__ import annotations

import uuid
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
    """Give a namespace of the test's own; it goes with all that is in it."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    # Pods are refused until the namespace has its service account.
    cluster.kubectl("wait", "--for=create", "serviceaccount/default", "-n", name, "--timeout=60s")
    yield name
    # The pods first: the namespace's own controller looks again only after ten seconds.
    cluster.kubectl("delete", "deployment,pod", "--all", "-n", name, "--timeout=60s")
    cluster.kubectl("delete", "namespace", name, "--wait=false")
