"""What this machine must offer before a cluster is started: every lack is told at once, with how to mend it.

Nothing is installed or changed here. No port is checked: the cluster's ports are in its own network, and its one port
on the host's loopback is whichever is free.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from tests.cluster import build, cgroups
from tests.cluster.errors import ClusterError
from tests.cluster.pins import CNI_PLUGINS, IMAGE_PACKAGES, NODE_PACKAGES
from tests.cluster.places import Places

RUN_BYTES: Final = 4 << 30  # images as layers, archives and unpacked, state and logs
_LONGEST_SOCKET: Final = 107  # bytes of a unix socket's path, by the kernel
Which = Callable[[str], object]


def check(places: Places, version: str) -> None:
    """Raise with one sentence per lack unless a cluster can start."""
    needed = RUN_BYTES + (0 if build.is_built(places, version) else build.BUILD_BYTES)
    lacks = [
        *root(os.geteuid()),
        *packages(shutil.which, has_plugins=CNI_PLUGINS.is_dir()),
        *static(shutil.which("busybox")),
        *controllers(cgroups.missing()),
        *disk(places.cache, needed),
        *socket_path(places.socket),
    ]
    if lacks:
        raise ClusterError("\n".join(lacks))


def root(user: int) -> list[str]:
    """Namespaces, mounts and cgroups need root."""
    return [] if user == 0 else ["The cluster needs root: sudo -E make cluster."]


def packages(which: Which, *, has_plugins: bool) -> list[str]:
    """Name the Debian packages that are missing in one line to paste."""
    wanted = {**NODE_PACKAGES, **IMAGE_PACKAGES}
    missing = [package for command, package in wanted.items() if not which(command)]
    missing += [] if has_plugins else ["containernetworking-plugins"]
    line = f"apt-get install -y --no-install-recommends {' '.join(missing)}"
    return [f"Programs of the node are missing: {line}"] if missing else []


def static(program: str | None) -> list[str]:
    """Tell a busybox that needs libraries, which an image of busybox alone has not; it names its loader at its head."""
    if program is None or b"/ld-" not in Path(program).read_bytes()[:4096]:
        return []
    return [f"{program} needs libraries: apt-get install -y busybox-static (it takes the place of busybox)."]


def controllers(missing: Iterable[str]) -> list[str]:
    """Name the cgroup controllers that are missing."""
    names = " ".join(missing)
    how = "mount them below /sys/fs/cgroup, or in a container start it with --privileged --cgroupns=host"
    return [f"A kubelet needs cgroup controllers that are missing: {names}; {how}."] if names else []


def disk(folder: Path, needed: int) -> list[str]:
    """Compare the free space of the cache folder with what is still to be written."""
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    sizes = f"{needed / (1 << 30):.0f} GiB are needed below {folder} and {free / (1 << 30):.1f} GiB are free"
    return [] if free >= needed else [f"{sizes}: make room, or set XDG_CACHE_HOME to another disk."]


def socket_path(path: Path) -> list[str]:
    """Compare the longest path of a socket with the kernel's limit, which a deep cache folder may exceed."""
    longest = f"{path}.ttrpc"
    return [] if len(longest) <= _LONGEST_SOCKET else [f"{longest} is too long for a socket: set XDG_CACHE_HOME."]
