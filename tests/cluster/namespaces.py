"""The namespaces that the cluster lives in: made by the holder, entered by every process of the cluster.

What runs inside stands in control_plane.py and node.py.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.cluster import processes
from tests.cluster.errors import ClusterError
from tests.cluster.holder import OUTSIDE
from tests.cluster.pins import ROOT
from tests.cluster.places import Places
from tests.cluster.processes import Process

_UNSHARE: Final = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--propagation", "slave", "--"]
HOLDER: Final = "holder"
PYTHON: Final = ("/usr/bin/env", f"PYTHONPATH={ROOT}", sys.executable, "-m")  # our own modules, from any folder


def hold(places: Places) -> None:
    """Make the namespaces; return when their network and mounts stand."""
    made = [folder for folder in OUTSIDE if _make(Path(folder))]
    places.state.mkdir(parents=True, exist_ok=True)
    (places.state / "made").write_text("\n".join(made))
    command: list[str | Path] = [*_UNSHARE, *PYTHON, "tests.cluster.holder", places.state]
    unshare = processes.start(places, HOLDER, command)
    processes.wait_until("the namespaces", (places.state / "held").exists, 30, unshare)
    pid = processes.child_of(unshare.pid)
    if pid is None:
        raise ClusterError("The namespaces ended as soon as they stood.")
    processes.remember(places, HOLDER, pid)


def inside(places: Places, *, network_only: bool = False) -> list[str]:
    """Give the words before a command that runs in the cluster; `network_only` for clients, which need no more."""
    holder = processes.find(places, HOLDER)
    if holder is None:
        raise ClusterError("No cluster runs: make cluster")
    if network_only:
        return ["nsenter", f"--net=/proc/{holder.pid}/ns/net", "--"]
    return ["nsenter", f"--target={holder.pid}", "--mount", "--pid", "--net", "--"]


def start(places: Places, name: str, command: Sequence[str | Path], *, files: Sequence[int] = ()) -> Process:
    """Start a process inside. `nsenter` stays outside as its parent, so the file names the child."""
    parent = processes.start(places, name, [*inside(places), *command], files=files)
    processes.wait_until(f"start of {name}", lambda: processes.child_of(parent.pid) is not None, 10, parent)
    return processes.remember(places, name, processes.child_of(parent.pid) or parent.pid)


def listen() -> socket.socket:
    """Open a port of the host's loopback; a process inside that inherits it serves the host."""
    door = socket.socket()
    door.bind(("127.0.0.1", 0))
    door.listen(128)
    return door


def _make(folder: Path) -> bool:
    """Make a mount point on the host if it is not there; the tear-down removes what was made."""
    if folder.is_dir():
        return False
    folder.mkdir(parents=True)
    return True
