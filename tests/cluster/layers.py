"""Layers of images, each a tar in the cache under a key of all that goes into it: made once, found afterwards.

How layers become images stands in recipes.py. Debian packages are only unpacked, no script of theirs runs, so their
few effects that matter (awk, users) are made here by hand.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.archive import write_layer
from tests.cluster.errors import ClusterError

_FORM: Final = 1  # of all layers: raised when they are made in another way from the same inputs
SITE: Final = "opt/python"  # on PYTHONPATH of every image that has Python packages
_SOURCES: Final = (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list"))
_KEYRING: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"
_USERS: Final = (
    "root:x:0:0:root:/root:/bin/sh",
    "www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin",
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
)
_LINKS: Final = {"usr/bin/awk": "mawk", "usr/bin/python": "python3"}


@dataclass(frozen=True, slots=True)
class Layers:
    """The cache folder of layers."""

    folder: Path

    def cached(self, kind: str, inputs: Sequence[str], make: Callable[[Path], None]) -> Path:
        """Give the layer of these inputs; `make` fills an empty folder with its content the first time."""
        key = hashlib.sha256(json.dumps([_FORM, kind, *inputs]).encode()).hexdigest()[:16]
        out = self.folder / f"{kind}-{key}.tar"
        if not out.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".draft-", dir=self.folder) as draft:
                content = Path(draft) / "content"
                content.mkdir()
                make(content)
                write_layer([content], out)
        return out

    def busybox(self) -> Path:
        """Busybox and a link for each of its programs."""
        program = Path(shutil.which("busybox") or "/bin/busybox")

        def make(content: Path) -> None:
            names = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
            for name in ("bin", "tmp", "etc", "proc", "sys", "dev", "run", "root"):
                (content / name).mkdir()
            (content / "tmp").chmod(0o1777)
            shutil.copy(program, content / "bin/busybox")
            for name in sorted({*names, "sh"} - {"busybox"}):
                (content / "bin" / name).symlink_to("busybox")
            _add_users(content)

        return self.cached("busybox", [digest(program)], make)

    def debian(self, packages: Sequence[str], suite: str = "") -> Path:
        """Debian packages of this machine's release, or of another suite, and all that they depend on, unpacked."""

        def make(content: Path) -> None:
            _mmdebstrap(packages, suite, content)
            for name, target in _LINKS.items():
                if (content / "usr/bin" / target).exists() and not (content / name).exists():
                    (content / name).symlink_to(target)
            for mark in content.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
                mark.unlink()  # pip may write into an image
            _add_users(content)

        return self.cached("debian", [suite or _release(), *packages], make)

    def python_packages(self, base: Path, requirements: Sequence[str]) -> Path:
        """Python packages as wheels for the Python of the base layer."""

        def make(content: Path) -> None:
            _pip(content / SITE, python_of(base), *requirements)

        return self.cached("python", [base.name, *requirements], make)

    def wheel(self, base: Path, root: Path, contents: Sequence[str]) -> Path:
        """Build and install the project's own wheel from its checkout; `contents` names what goes into it."""
        files = sorted(path for name in contents for path in files_below(root / name))

        def make(content: Path) -> None:
            with tempfile.TemporaryDirectory() as wheels:
                _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", wheels, str(root))
                _pip(content / SITE, python_of(base), "--no-deps", *map(str, Path(wheels).glob("*.whl")))

        return self.cached("wheel", [base.name, *map(digest, files)], make)

    def files(self, kind: str, sources: Mapping[str, Path]) -> Path:
        """Single files by their path in the image, readable and runnable by all."""

        def make(content: Path) -> None:
            for name, source in sources.items():
                path = content / name
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, path)
                path.chmod(0o755)

        inputs = [f"{name} {digest(source)}" for name, source in sources.items()]
        return self.cached(kind, inputs, make)

    def without(self, names: Sequence[str]) -> Path:
        """Take files of the layers below away."""

        def make(content: Path) -> None:
            for name in names:
                path = content / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.with_name(f".wh.{path.name}").touch()

        return self.cached("without", names, make)


def python_of(base: Path) -> str:
    """Give the version, like 3.11, of the Python in a layer."""
    with tarfile.open(base) as tar:
        names = "\n".join(tar.getnames())
    found = re.search(r"^usr/bin/python(3\.\d+)$", names, re.MULTILINE)
    if found is None:
        raise ClusterError(f"{base} holds no Python.")
    return found[1]


def _mmdebstrap(packages: Sequence[str], suite: str, content: Path) -> None:
    _run(
        "mmdebstrap",
        *("--mode=root", "--variant=extract", "--quiet"),
        "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
        f"--include={','.join(packages)}",
        '--aptopt=APT::Install-Recommends "false"',
        '--aptopt=Acquire::Languages "none"',
        '--aptopt=Acquire::Check-Valid-Until "false"',  # a mirror may be a snapshot
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale", "info", "lintian")),
        *(suite, str(content), _sources(suite)),
    )
    for name in ("var/lib/apt", "var/cache/apt"):
        shutil.rmtree(content / name, ignore_errors=True)


def _sources(suite: str) -> str:
    """Give this machine's own package sources, or the same mirror's line for another suite."""
    sources = next((path for path in _SOURCES if path.exists()), None)
    mirror = sources and re.search(r"https?://\S+/debian/?(?=\s)", sources.read_text())
    if not sources or not mirror:
        raise ClusterError("This machine has no Debian package sources, and the images are made from them.")
    return f"deb [signed-by={_KEYRING}] {mirror[0]} {suite} main" if suite else str(sources)


def _pip(target: Path, python: str, *requirements: str) -> None:
    words = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    words += ["--target", str(target), "--only-binary=:all:", "--implementation=cp", f"--python-version={python}"]
    # Layers have no times, so compiled modules must be told by the hash of their source: this variable does that.
    _run(*words, *requirements, SOURCE_DATE_EPOCH="0")


def _run(*command: str, **environment: str) -> None:
    environ = {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    if done.returncode:
        raise ClusterError(f"`{command[0]}` failed while an image was made: {done.stderr.strip()[-800:]}")


def _release() -> str:
    return Path("/etc/os-release").read_text()


def _add_users(content: Path) -> None:
    (content / "etc").mkdir(exist_ok=True)
    (content / "etc/passwd").write_text("\n".join(_USERS) + "\n")
    (content / "etc/group").write_text("root:x:0:\nwww-data:x:33:\nnogroup:x:65534:\n")


def files_below(path: Path) -> list[Path]:
    """Give a file itself, or the files of a folder without what Python compiled."""
    if path.is_file():
        return [path]
    return [entry for entry in path.rglob("*") if entry.is_file() and "__pycache__" not in entry.parts]


def digest(path: Path) -> str:
    """Give the digest of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
