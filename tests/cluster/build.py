"""Kubernetes' and etcd's binaries, and the in-process validation that is built from the same modules (k8soracle).

All built once per version by Go, kept in the cache, never rebuilt without need.
The pins are go.mod and go.sum beside this file. Another version (KUBERNETES=1.36.4) gets a go.mod derived from them.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.cluster.errors import ClusterError
from tests.cluster.pins import GO_MOD, KUBERNETES
from tests.cluster.places import Places

NAMES: Final = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
)
BUILD_BYTES: Final = 7 << 30  # build cache 4.2 GB, modules 0.6 GB, binaries 0.6 GB twice, measured
ORACLE: Final = "k8soracle"
_ORACLE_STAMP: Final = f"{ORACLE}.sha256"  # of the source and pins that it was built from
_STAMP: Final = "go.mod"  # the pins that the binaries were built from, beside them
_DRAFT: Final = ".draft-"


def is_built(places: Places, version: str) -> bool:
    """Whether all binaries of that version and of today's pins are in the cache."""
    folder = places.binaries(version)
    stamp = folder / _STAMP
    if not stamp.exists() or not all((folder / name).exists() for name in NAMES):
        return False
    return version != KUBERNETES or stamp.read_text() == GO_MOD.read_text()


def build(places: Places, version: str) -> Path:
    """Give the folder of the binaries; build them first where they are missing (17 CPU minutes from nothing)."""
    folder = places.binaries(version)
    if is_built(places, version):
        return folder
    check_go()
    places.cache.mkdir(parents=True, exist_ok=True)
    for old in places.cache.glob(f"{_DRAFT}*"):  # of a build that was interrupted
        shutil.rmtree(old, ignore_errors=True)
    draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=places.cache))
    module = _module(draft, version)
    _go(module, "build", "-trimpath", "-ldflags", _flags(version), "-o", f"{draft / 'bin'}/", "tool", f"./{ORACLE}")
    made = draft / "bin"
    (made / _ORACLE_STAMP).write_text(_oracle_stamp(module))
    (made / "server").rename(made / "etcd")  # etcd's main package has that name
    shutil.copy(module / "go.mod", made / _STAMP)
    shutil.rmtree(folder, ignore_errors=True)
    made.rename(folder)
    shutil.rmtree(draft)
    return folder


def oracle(places: Places) -> Path:
    """Give the in-process validation of the pinned version; where it is missing or older than its source, build it.

    Alone that takes 3 s with Go's build cache of the binaries, and 11 CPU minutes from nothing.
    """
    folder = places.binaries(KUBERNETES)
    binary, stamp, wanted = folder / ORACLE, folder / _ORACLE_STAMP, _oracle_stamp(GO_MOD.parent)
    if binary.exists() and stamp.exists() and stamp.read_text() == wanted:
        return binary
    check_go()
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f"{ORACLE}.draft"
    _go(GO_MOD.parent, "build", "-trimpath", "-ldflags", _flags(KUBERNETES), "-o", str(draft), f"./{ORACLE}")
    draft.rename(binary)
    stamp.write_text(wanted)
    return binary


def _oracle_stamp(module: Path) -> str:
    texts = [(module / ORACLE / "main.go").read_bytes(), (module / "go.mod").read_bytes()]
    return hashlib.sha256(b"".join(texts)).hexdigest()


def check_go() -> None:
    """Raise unless the installed Go is new enough; nothing is fetched to make it so."""
    needed = _minor(re.search(r"^go (\S+)$", GO_MOD.read_text(), re.MULTILINE))
    how = f"install Go 1.{needed} or later from https://go.dev/dl and put its bin folder on PATH"
    if shutil.which("go") is None:
        raise ClusterError(f"Go is missing, and Kubernetes is built with it: {how}.")
    found = subprocess.run(["go", "version"], capture_output=True, text=True, check=True, env=_environment()).stdout
    if _minor(re.search(r"go(1\.\S+)", found)) < needed:
        raise ClusterError(f"This Go is too old ({found.split()[2]}): {how}.")


def _minor(version: re.Match[str] | None) -> int:
    """Give 26 for 1.26.8; a development version without a number counts as the newest."""
    return int(version[1].split(".")[1]) if version else 1_000


def _module(draft: Path, version: str) -> Path:
    """Give a folder with go.mod and go.sum: our own for the pinned version, a derived one otherwise."""
    if version == KUBERNETES:
        return GO_MOD.parent
    folder = draft / "module"
    folder.mkdir()
    (folder / "go.mod").write_text(derive(GO_MOD.read_text(), version))
    shutil.copytree(GO_MOD.parent / ORACLE, folder / ORACLE)
    _go(folder, "mod", "tidy")
    return folder


def derive(module: str, version: str) -> str:
    """Give a go.mod for another Kubernetes version: its own modules by that version, the rest is for `go mod tidy`."""
    staging = f"v0.{KUBERNETES.split('.', 1)[1]}"
    pinned = (f" {staging}", f"k8s.io/kubernetes v{KUBERNETES}")
    kept = [line for line in module.splitlines() if not line.endswith("// indirect") or any(p in line for p in pinned)]
    text = "\n".join(kept) + "\n"
    return text.replace(f"v{KUBERNETES}", f"v{version}").replace(staging, f"v0.{version.split('.', 1)[1]}")


def _flags(version: str) -> str:
    """Stamp the version: without it the components call themselves v0.0.0-master."""
    minor = version.split(".")[1]
    stamp = {"gitVersion": f"v{version}", "gitMajor": "1", "gitMinor": minor, "gitTreeState": "clean"}
    return " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{name}={value}" for name, value in stamp.items())])


def _environment() -> dict[str, str]:
    return {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false"}


def _go(folder: Path, *arguments: str) -> None:
    done = subprocess.run(["go", *arguments], cwd=folder, env=_environment(), check=False)
    if done.returncode:
        raise ClusterError(f"`go {arguments[0]}` failed; the same command goes on where it stopped: make cluster")
