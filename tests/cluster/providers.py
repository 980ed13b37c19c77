"""kind or minikube instead of our own node, where docker and that tool are present: PROVIDER=kind|minikube.

Only the commands to run; nobody has run them yet on a machine without docker (docs/requirements.md says so).
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.cluster import recipes
from tests.cluster.errors import ClusterError
from tests.cluster.pins import KUBERNETES
from tests.cluster.places import Places

NAME: Final = "drainhook"
NAMES: Final = ("kind", "minikube")


def up(places: Places, provider: str, version: str = KUBERNETES) -> list[Path]:
    """Start the provider's cluster, load the images, and give their archives."""
    for tool in (provider, "docker"):
        if shutil.which(tool) is None:
            raise ClusterError(f"PROVIDER={provider} needs {tool} on PATH; without it: make cluster")
    _run(start(provider, version))
    archives = list(recipes.make(places))
    for archive in archives:
        _run(load(provider, archive))
    return archives


def down(provider: str) -> None:
    """End the provider's cluster."""
    _run(end(provider))


def start(provider: str, version: str) -> list[str]:
    """Give the command that starts a cluster of a version."""
    if provider == "kind":
        return ["kind", "create", "cluster", "--name", NAME, "--image", f"kindest/node:v{version}", "--wait", "180s"]
    return ["minikube", "start", "-p", NAME, "--driver=docker", f"--kubernetes-version=v{version}", "--wait=all"]


def load(provider: str, archive: Path) -> list[str]:
    """Give the command that loads an image archive."""
    if provider == "kind":
        return ["kind", "load", "image-archive", str(archive), "--name", NAME]
    return ["minikube", "-p", NAME, "image", "load", str(archive)]


def end(provider: str) -> list[str]:
    """Give the command that deletes the cluster."""
    if provider == "kind":
        return ["kind", "delete", "cluster", "--name", NAME]
    return ["minikube", "delete", "-p", NAME]


def _run(command: Sequence[str]) -> None:
    if subprocess.run(command, check=False).returncode:
        raise ClusterError(f"`{' '.join(command)}` failed.")
