"""containerd, kubelet and kube-proxy: their configurations and when they count as ready.

The templates stand in configuration/. Which images there are stands in recipes.py; here they are only imported.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template
from typing import Any, Final

from tests.cluster import archive, cgroups, control_plane, namespaces, processes
from tests.cluster.archive import full_name
from tests.cluster.errors import ClusterError
from tests.cluster.pins import CGROUP, CNI_PLUGINS, HERE, NODE, NODE_ADDRESS, POD_RANGE
from tests.cluster.places import Places
from tests.cluster.recipes import PAUSE

KUBELET: Final = "kubelet"
_TEMPLATES: Final = HERE / "configuration"


def start_containerd(places: Places) -> None:
    """Start containerd; return when it answers."""
    config = _configure(places, "containerd.toml")
    (places.state / "cni").mkdir(exist_ok=True)
    _configure(places, "cni.conflist", "cni/10-drainhook.conflist")
    daemon = namespaces.start(places, "containerd", ["containerd", "--config", config])
    processes.wait_until("an answer of containerd", lambda: _ctr(places, "version").returncode == 0, 60, daemon)


def load(places: Places, archives: Iterable[Path]) -> None:
    """Import archives unless the node's images are from them; imagePullPolicy Never or IfNotPresent finds them."""
    for path in archives:
        mark = [str(path), path.stat().st_mtime_ns]
        names = [full_name(name) for image in archive.read(path) for name in image.names]
        known = _imported(places)
        if names and all(known.get(name) == mark for name in names):
            continue
        done = _ctr(places, "--namespace", "k8s.io", "images", "import", str(path))
        if done.returncode:
            raise ClusterError(f"containerd refused the image {path}: {done.stderr.strip()}")
        _marks(places).write_text(json.dumps({**known, **dict.fromkeys(names, mark)}))


def archive_of(places: Places, image: str) -> Path | None:
    """Give the archive that an image of the node came from."""
    mark = _imported(places).get(full_name(image))
    return Path(mark[0]) if mark else None


def start(places: Places, binaries: Path) -> None:
    """Start kubelet and kube-proxy; return when the node is ready."""
    cgroups.make()
    _configure(places, "kubelet.yaml")
    start_kubelet(places, binaries)
    config = _configure(places, "kube-proxy.yaml")
    proxy: list[str | Path] = [binaries / "kube-proxy", f"--config={config}", f"--hostname-override={NODE}"]
    namespaces.start(places, "kube-proxy", proxy)
    kubelet = processes.find(places, KUBELET)
    processes.wait_until("readiness of the node", lambda: _is_ready(places, binaries), 120, kubelet)


def start_kubelet(places: Places, binaries: Path) -> None:
    """Start the kubelet, at first or again: a story may restart it under running pods."""
    flags = [
        f"--config={places.state / 'kubelet.yaml'}",
        f"--kubeconfig={places.kubeconfig('kubelet')}",
        f"--root-dir={places.state / 'kubelet'}",
        f"--cert-dir={places.state / 'kubelet-certificates'}",
        f"--node-ip={NODE_ADDRESS}",
        f"--hostname-override={NODE}",
        "--v=2",
    ]
    namespaces.start(places, KUBELET, [str(binaries / KUBELET), *flags])


def _marks(places: Places) -> Path:
    return places.state / "imported.json"


def _imported(places: Places) -> Mapping[str, Any]:
    """Give the archive and its time by the image that is on the node."""
    path = _marks(places)
    return json.loads(path.read_text()) if path.exists() else {}


def _is_ready(places: Places, binaries: Path) -> bool:
    path = "jsonpath={.status.conditions[?(@.type=='Ready')].status}"
    return control_plane.ask(places, binaries, "get", "node", NODE, "-o", path).stdout == "True"


def _ctr(places: Places, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*namespaces.inside(places), "ctr", "--address", str(places.socket), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _configure(places: Places, template: str, name: str = "") -> Path:
    """Write a configuration from its template."""
    words = {
        "state": places.state,
        "socket": places.socket,
        "cgroup": CGROUP,
        "pods": POD_RANGE,
        "plugins": CNI_PLUGINS,
        "pause": full_name(PAUSE),
        "snapshotter": _snapshotter(places.state),
    }
    path = places.state / (name or template)
    path.write_text(Template((_TEMPLATES / template).read_text()).substitute(words))
    return path


def _snapshotter(folder: Path) -> str:
    """Choose how layers are stacked: an overlay cannot lie on an overlay, which a container's own files are."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", str(folder)], capture_output=True, text=True, check=True)
    return "native" if kind.stdout.strip() == "overlayfs" else "overlayfs"
