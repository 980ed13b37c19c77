"""The cgroup below which all pods of the cluster live: make it, count what is in it, remove it.

Works on the files of cgroup v1 (one tree per controller) and v2 (one tree). Nothing outside that cgroup is changed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tests.cluster.pins import CGROUP

MOUNT: Final = Path("/sys/fs/cgroup")
NEEDED: Final = ("cpu", "cpuset", "memory", "pids")
_COPIED: Final = ("cpuset.cpus", "cpuset.mems")  # v1 lets nobody into a cpuset without them


def missing(mount: Path = MOUNT) -> list[str]:
    """Name the controllers that a kubelet needs and this machine does not offer."""
    unified = mount / "cgroup.controllers"
    offered = unified.read_text().split() if unified.exists() else [entry.name for entry in mount.glob("*")]
    return [name for name in NEEDED if name not in offered]


def make(mount: Path = MOUNT) -> None:
    """Make our cgroup in every tree."""
    for tree in _trees(mount):
        ours = tree / CGROUP
        ours.mkdir(exist_ok=True)
        for name in _COPIED:
            if tree.name == "cpuset" and not (ours / name).read_text().strip():
                (ours / name).write_text((tree / name).read_text())


def find(mount: Path = MOUNT) -> list[Path]:
    """Give our cgroups that exist, the innermost first."""
    found = [Path(path) for tree in _trees(mount) for path, _, _ in os.walk(tree / CGROUP, topdown=False)]
    return sorted(found, key=lambda path: -len(path.parts))


def remove(mount: Path = MOUNT) -> bool:
    """Remove our cgroups; whether none is left (one is left while a process in it is still dying)."""
    for path in find(mount):
        try:
            path.rmdir()
        except OSError:
            continue
    return not find(mount)


def _trees(mount: Path) -> list[Path]:
    if (mount / "cgroup.controllers").exists():
        return [mount]
    return [entry for entry in mount.iterdir() if entry.is_dir() and not entry.is_symlink()]
