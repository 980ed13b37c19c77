"""Every version, address and name of the test cluster, spelled once.

Kubernetes and etcd are pinned by go.mod and go.sum beside this file. Nothing here reads or does anything else.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent.parent
GO_MOD: Final = HERE / "go.mod"


def kubernetes_of(module: str) -> str:
    """Give the Kubernetes version, like 1.37.2, that the text of a go.mod pins."""
    found = re.search(r"\sk8s\.io/kubernetes v(\S+)", module)
    if found is None:
        raise ValueError("go.mod names no version of k8s.io/kubernetes")
    return found[1]


KUBERNETES: Final = kubernetes_of(GO_MOD.read_text())

# Documentation and benchmark ranges (RFC 5737, RFC 2544), alive only inside the cluster's network namespace.
NODE: Final = "drainhook-node"
NODE_ADDRESS: Final = "203.0.113.10"
POD_RANGE: Final = "198.51.100.0/24"
SERVICE_RANGE: Final = "198.18.0.0/20"
FIRST_SERVICE_ADDRESS: Final = "198.18.0.1"
API_PORT: Final = 6443
ETCD_PORT: Final = 2379

# All pods live below this cgroup, so that nothing of another kubelet is ever touched.
CGROUP: Final = "drainhook"

# Debian packages that a node needs, and those that only building images needs: command it is known by, package.
NODE_PACKAGES: Final = {
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "nft": "nftables",
    "conntrack": "conntrack",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "mount": "mount",
}
IMAGE_PACKAGES: Final = {"mmdebstrap": "mmdebstrap", "busybox": "busybox-static"}
CNI_PLUGINS: Final = Path("/usr/lib/cni")  # package containernetworking-plugins

# What the images hold. The base takes Debian and its Python from the release that this machine runs.
XLLAMACPP: Final = "xllamacpp==2026.10.11549"
LLAMA_SUITE: Final = "sid"  # the first Debian suite with llama-server; whichever build it has on that day
LLAMA_PACKAGES: Final = ("curl", "llama.cpp-tools", "python3-minimal")
FASTAPI: Final = ("fastapi==0.165.0", "uvicorn==0.54.0")

# vLLM as its CPU build, mounted instead of an image; it asks for torch's own CPU build, the one on PyPI serves too.
VLLM: Final = "0.32.0"
TORCH: Final = "2.13.0"
