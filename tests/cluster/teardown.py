"""End a cluster, whole or half up, and look for what is left of it.

The holder's end is the end of everything inside; then cgroups and files are removed. Only processes with a file of
ours are signalled.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from pathlib import Path
from typing import Final

from tests.cluster import cgroups, processes
from tests.cluster.errors import ClusterError
from tests.cluster.holder import OUTSIDE
from tests.cluster.namespaces import HOLDER
from tests.cluster.pins import CGROUP
from tests.cluster.places import Places

_LINKS: Final = ("node0",)


def down(places: Places) -> None:
    """End the cluster and remove its state; does nothing where there is none (cgroups may be another user's)."""
    if not places.state.exists():
        return
    for name in _first_holder(places):
        processes.end(places, name, signal.SIGKILL)
    with contextlib.suppress(ClusterError):  # what stays is told by leftovers()
        processes.wait_until("the end of all processes", lambda: not _running(places), 20)
    with contextlib.suppress(ClusterError):  # also where somebody's client goes on
        processes.wait_until("the end of all pods", cgroups.remove, 20)
    _remove(places)


def leftovers(places: Places) -> list[str]:
    """Say what of a cluster is still there, one sentence each; after `down` there is none."""
    return [
        *(f"process {pid} runs: {words}" for pid, words in _running(places)),
        *(f"cgroup {path} exists" for path in cgroups.find() if path.name == CGROUP),
        *(f"{path} is mounted" for path in _mounts(places)),
        *(f"link {name} exists" for name in _LINKS if Path("/sys/class/net", name).exists()),
        *(f"folder {places.state} exists" for _ in [0] if places.state.exists()),
    ]


def _first_holder(places: Places) -> list[str]:
    """Give all names of processes that were started, the holder first: with it all others end."""
    if not places.processes.is_dir():
        return []
    names = sorted(path.name for path in places.processes.iterdir())
    return sorted(names, key=lambda name: name != HOLDER)


def _running(places: Places) -> list[tuple[int, str]]:
    """Find processes that belong to the cluster by its state folder in their words, or by their cgroup."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            if str(places.state) + "/" in words + "/" or f"/{CGROUP}/" in (entry / "cgroup").read_text():
                found.append((int(entry.name), words))
    return found


def _mounts(places: Places) -> list[str]:
    paths = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    return [path for path in paths if path.startswith(f"{places.state}/") or path in OUTSIDE]


def _remove(places: Places) -> None:
    """Remove files and folders, never what is mounted below them."""
    if _mounts(places):
        return
    with contextlib.suppress(OSError):
        for folder in (places.state / "made").read_text().splitlines():
            if folder in OUTSIDE:
                Path(folder).rmdir()  # only if empty: something else may live there by now
    shutil.rmtree(places.state, ignore_errors=True)
