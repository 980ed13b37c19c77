"""The first process of the cluster's own namespaces (processes, mounts, network): `unshare` runs it.

It makes the node's network and folders and then sleeps. When it is killed, the kernel ends every process of the
cluster, containers included, and drops the mounts and links with the namespaces: that is the whole tear-down.
Nothing here knows Kubernetes.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.cluster.pins import NODE_ADDRESS

# Written by the kubelet outside its own folder, whatever its flags say.
OUTSIDE: Final = ("/var/lib/kubelet", "/var/log/containers")


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def _mounts(state: Path) -> None:
    """Give the cluster its own /proc, /run (namespaces and sockets of containers) and outside folders."""
    _run("mount", "-t", "proc", "proc", "/proc")
    _run("mount", "-t", "tmpfs", "tmpfs", "/run")
    for folder in OUTSIDE:
        own = state / "outside" / folder.strip("/").replace("/", "-")
        own.mkdir(parents=True, exist_ok=True)
        _run("mount", "--bind", str(own), folder)
    # The kubelet expects shared mounts; what it mounts stays in here, since the outside is only our master.
    _run("mount", "--make-rshared", "/")


def _network() -> None:
    """One bridge stands for the network card of the node. The default route leads nowhere: no pod reaches the host."""
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "link", "add", "node0", "type", "bridge")
    _run("ip", "address", "add", f"{NODE_ADDRESS}/24", "dev", "node0")
    _run("ip", "link", "set", "node0", "up")
    _run("ip", "route", "add", "default", "dev", "node0")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def main(state: Path) -> None:
    """Make the namespaces usable, say so, and stay until killed."""
    _mounts(state)
    _network()
    (state / "held").touch()
    # With SIGCHLD ignored the kernel itself reaps the orphans that come to the first process.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        signal.pause()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
