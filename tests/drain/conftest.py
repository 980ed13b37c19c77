"""Options and fixtures of the hook's tests: a hook in a shell, with its tools.

Never here: expectations.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drain.hook import Hook


@pytest.fixture
def hook(tmp_path: Path) -> Hook:
    """The plain case: dash, curl, sleep."""
    return Hook(tmp_path)
