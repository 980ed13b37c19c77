"""One small API server per test."""

from __future__ import annotations

import pytest

from tests.unit.cluster.apiserver import running


@pytest.fixture
def api():
    """Run a server for one test."""
    with running() as state:
        yield state
