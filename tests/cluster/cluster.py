"""The running cluster as tests see it: `Cluster.attach()`, then kubectl, apply, load, addresses and certificates.

How it is started and ended stands elsewhere, what is tested on it too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.cluster import namespaces, node, processes
from tests.cluster.certificates import ADMIN, INSIDE
from tests.cluster.errors import ClusterError
from tests.cluster.pins import API_PORT
from tests.cluster.places import Places


@dataclass(frozen=True, slots=True)
class Cluster:
    """A complete cluster. `door` is the API server's port on the host's loopback, `version` the Kubernetes version."""

    places: Places
    version: str
    door: int
    images: tuple[str, ...]

    @classmethod
    def attach(cls, places: Places | None = None) -> Self:
        """Give the cluster that runs on this machine; raise where none does."""
        places = places or Places.of()
        try:
            record = json.loads(places.record.read_text())
        except (OSError, ValueError):
            raise ClusterError("No cluster is up: make cluster") from None
        if processes.find(places, namespaces.HOLDER) is None:
            raise ClusterError("The cluster has ended, its files are still there: make cluster-down")
        return cls(places, record["version"], record["door"], tuple(record["images"]))

    @property
    def kubeconfig(self) -> Path:
        """For programs on the host: KUBECONFIG."""
        return self.places.kubeconfig(ADMIN)

    @property
    def kubeconfig_inside(self) -> Path:
        """For programs in the cluster's network, without the detour through the door."""
        return self.places.kubeconfig(INSIDE)

    @property
    def url(self) -> str:
        """The API server as the host sees it."""
        return f"https://127.0.0.1:{self.door}"

    @property
    def url_inside(self) -> str:
        """The API server as programs in the cluster's network see it."""
        return f"https://127.0.0.1:{API_PORT}"

    @property
    def authority(self) -> Path:
        """The certificate authority of the API server."""
        return self.places.certificates / "ca.crt"

    @property
    def client(self) -> tuple[Path, Path]:
        """Certificate and key of the administrator."""
        return self.places.certificates / "admin.crt", self.places.certificates / "admin.key"

    @property
    def kubectl_path(self) -> Path:
        """The kubectl of the cluster's own version."""
        return self.places.binaries(self.version) / "kubectl"

    @property
    def inside(self) -> list[str]:
        """The words before a client's command that must reach pods and Services: the cluster's network, this disk."""
        return namespaces.inside(self.places, network_only=True)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of a program on the host that uses the cluster."""
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig)}

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """Run kubectl and give what it prints; a failure raises with what it says, unless `check` is off."""
        command = [str(self.kubectl_path), f"--kubeconfig={self.kubeconfig}", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise ClusterError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def get(self, *arguments: str) -> Any:
        """Give an object or a list as JSON: `get("pod", "x", "-n", "y")`."""
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def apply(self, *objects: Mapping[str, Any]) -> None:
        """Apply objects together."""
        items = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(items))

    @contextmanager
    def namespace(self, prefix: str = "test") -> Iterator[str]:
        """Make a namespace and give its name; it goes with all that is in it."""
        name = f"{prefix}-{uuid.uuid4().hex[:8]}"
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        try:
            # Pods are refused until the namespace has its service account.
            self.kubectl("wait", "--for=create", "serviceaccount/default", "-n", name, "--timeout=60s")
            yield name
        finally:
            # The pods first: the namespace's own controller looks again only after ten seconds.
            self.kubectl("delete", "deployment,pod", "--all", "-n", name, "--timeout=90s")
            self.kubectl("delete", "namespace", name, "--wait=false")

    def run(self, *command: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a command in the cluster's network and give its result, whatever it is."""
        words = [*self.inside, *command]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=seconds)

    def wait_for(self, url: str, seconds: float = 30) -> None:
        """Return when a URL of the cluster's network answers; a Service does so a second after its pods are ready."""
        words = ("curl", "--silent", "--fail", "--max-time", "5", "--output", "/dev/null", url)
        processes.wait_until(f"an answer of {url}", lambda: self.run(*words).returncode == 0, seconds)

    def load(self, archives: Iterable[Path]) -> None:
        """Import image archives (OCI or docker) into the node."""
        node.load(self.places, archives)

    def archive_of(self, image: str) -> Path | None:
        """Give the archive that an image of the node came from: `dockerfile-….tar` is built from the Dockerfile."""
        return node.archive_of(self.places, image)

    def restart_kubelet(self, sign: signal.Signals = signal.SIGTERM) -> None:
        """End the kubelet and start it again, as its update does; the pods go on."""
        processes.end(self.places, node.KUBELET, sign)
        node.start_kubelet(self.places, self.places.binaries(self.version))

    def log(self, process: str) -> Path:
        """Give the log of a process: etcd, kube-apiserver, kubelet, containerd, ..."""
        return self.places.logs / f"{process}.log"
