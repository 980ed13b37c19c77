"""The real llama.cpp server for these tests: one that many share, and more with other options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

import pytest

from demo.engine import Engine, Options

ROOT = Path(__file__).resolve().parents[2]

Start = Callable[..., Engine]


@pytest.fixture(scope="session")
def model() -> Path:
    """Make the random model, once per checkout; skip every test of the real engine where it cannot run."""
    try:
        import_module("xllamacpp")
        build = import_module("demo.model").build
    except ImportError as error:
        pytest.skip(f"{error}: pip install -e '.[engine]', sudo apt-get install libgomp1")
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
