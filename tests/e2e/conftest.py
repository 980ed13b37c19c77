"""The cluster, the product and the report of the stories. Without a cluster all of them are skipped, aloud."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.conftest import cluster, namespace
from tests.e2e import product
from tests.e2e.report import Report
from tests.e2e.stories import STORIES
from tests.e2e.story import SIDES

__all__ = ["cluster", "namespace"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add how often each disruption is repeated."""
    parser.addoption("--rounds", type=int, default=1, help="how often each disruption is repeated (1)")
    parser.addoption("--short", action="store_true", help="leave out what is only for the long forms")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each story its own test; those of the whole node are marked `alone`."""
    if "story" in metafunc.fixturenames:
        told = [story for story in STORIES.values() if story.short or not metafunc.config.getoption("short")]
        marked = [pytest.param(story, id=story.name, marks=[pytest.mark.alone] * story.alone) for story in told]
        metafunc.parametrize("story", marked)


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("rounds"))


@pytest.fixture(scope="session")
def drainhook(cluster: Cluster) -> Iterator[Cluster]:  # pytest's way to ask for a fixture
    """Give the cluster with drainhook installed, once per session; one that was there before stays."""
    with product.installed(cluster, shared=True):
        yield cluster


@pytest.fixture
def namespaces(cluster: Cluster) -> Iterator[Mapping[str, str]]:
    """Give a namespace for each side of a story."""
    with cluster.namespace() as labelled, cluster.namespace() as plain:
        yield dict(zip(SIDES, (labelled, plain), strict=True))


@pytest.fixture
def report() -> Report:
    return Report()
