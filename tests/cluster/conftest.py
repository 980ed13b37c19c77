"""The cluster for tests that need one: they are skipped, and say why, where none is up."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    try:
        return Cluster.attach()
    except ClusterError as error:
        pytest.skip(str(error))


@contextmanager
def made_namespace(cluster: Cluster) -> Iterator[str]:
    """Give a namespace of the test's own; it goes with all that is in it."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    # Pods are refused until the namespace has its service account.
    cluster.kubectl("wait", "--for=create", "serviceaccount/default", "-n", name, "--timeout=60s")
    try:
        yield name
    finally:
        # The pods first: the namespace's own controller looks again only after ten seconds.
        cluster.kubectl("delete", "deployment,pod", "--all", "-n", name, "--timeout=90s")
        cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """Give such a namespace to one test."""
    with made_namespace(cluster) as name:
        yield name
