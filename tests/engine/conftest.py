"""The real llama.cpp server for these tests: one that many share, and more with other options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip("xllamacpp", reason="the real engine is missing: pip install -e '.[engine]'")
pytest.importorskip("gguf", reason="the model writer is missing: pip install -e '.[engine]'")

from demo.engine import Engine, Options
from demo.model import build

ROOT = Path(__file__).resolve().parents[2]

Start = Callable[..., Engine]


@pytest.fixture(scope="session")
def model() -> Path:
    """Make the random model, once per checkout."""
    return build(ROOT / "build" / "demo" / "model.gguf")


@pytest.fixture(scope="session")
def engine(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Start a server with two slots and metrics, for tests that do not end it."""
    with Engine(model, tmp_path_factory.mktemp("engine") / "log") as running:
        yield running


@pytest.fixture
def start(model: Path, tmp_path: Path) -> Iterator[Start]:
    """Start a server of one's own, with options; it is ended after the test at the latest."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(Engine(model, tmp_path / "engine.log", Options(**options)))
