"""drainhook on the cluster for the time of a measurement; one that was there before is brought up to date and stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.cluster import Cluster
from tests.e2e import product


@contextmanager
def installed(cluster: Cluster) -> Iterator[None]:
    """Install drainhook, and remove it afterwards unless it was there before."""
    stays = product.is_installed(cluster)
    try:
        product.install(cluster)
        yield
    finally:
        if not stays:
            product.uninstall(cluster)
