"""Fixtures of the hook's tests: a hook in the plainest setting, and what the machine may lack.

Never here: expectations.
"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.drain.hook import Hook


@pytest.fixture
def hook(tmp_path: Path) -> Hook:
    """Return the plain case: dash, curl, sleep, grep."""
    return Hook(tmp_path)


@pytest.fixture
def ipv6() -> str:
    """Return the IPv6 loopback; skip aloud where the machine has none."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"no IPv6 loopback: {error}")
    return "::1"
