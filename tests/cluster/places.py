"""Where the test cluster keeps things: what outlives a cluster (cache) and what ends with it (state).

Only paths. Both are below the user cache directory and not below build/, so that `make clean` cannot pull the files
from under a running cluster, and so that a cluster left by another checkout is found.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of one user's cluster."""

    cache: Path

    @classmethod
    def of(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Find them by XDG_CACHE_HOME, else below the home folder."""
        home = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cls(home.absolute() / "drainhook")

    def binaries(self, version: str) -> Path:
        """Give the folder of the binaries of one Kubernetes version."""
        return self.cache / f"kubernetes-v{version}"

    def vllm(self, version: str) -> Path:
        """Give the folder of vLLM's packages and model."""
        return self.cache / f"vllm-{version}"

    @property
    def images(self) -> Path:
        """Image archives and their layers."""
        return self.cache / "images"

    @property
    def state(self) -> Path:
        """Everything that one cluster writes; removed when it goes down."""
        return self.cache / "cluster"

    @property
    def certificates(self) -> Path:
        """Keys and certificates of the control plane."""
        return self.state / "certificates"

    @property
    def logs(self) -> Path:
        """One log per process."""
        return self.state / "logs"

    @property
    def processes(self) -> Path:
        """One file per process that was started: what is not listed here is never ended."""
        return self.state / "processes"

    @property
    def record(self) -> Path:
        """Written last: a cluster with this file is complete."""
        return self.state / "cluster.json"

    @property
    def socket(self) -> Path:
        """The socket of containerd, usable from outside the namespaces too."""
        return self.state / "containerd.sock"

    def kubeconfig(self, user: str) -> Path:
        """Give the path of the kubeconfig of a user."""
        return self.state / f"{user}.kubeconfig"
