"""The product's image as its Dockerfile makes it: by docker where an engine answers, else by buildah.

So users build it; recipes.py makes the same name from layers in seconds. What of pip's settings on this machine the
build needs is mounted while it runs and is in no image. Docker mounts nothing into a build: there pip has to reach
PyPI without settings. Needs no registry, unless a base of one is named.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.cluster import archive
from tests.cluster.archive import Content
from tests.cluster.errors import ClusterError
from tests.cluster.layers import digest, files_below
from tests.cluster.pins import ROOT
from tests.cluster.places import Places

IMAGE: Final = "drainhook:local"
LIMIT_BYTES: Final = 60_000_000  # compressed, on top of the base
_REGISTRY_SECONDS: Final = 60
_DRAFT: Final = ".dockerfile-"
_SETTINGS: Final = ("index-url", "extra-index-url", "find-links", "trusted-host", "proxy", "cert", "default-timeout")
_BLOBS: Final = Path("/var/lib/containers/cache/blob-info-cache-v1.boltdb")  # buildah has no option for its place


def contents() -> list[str]:
    """Give what of the checkout goes into the image: .dockerignore names it."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    return [line.removeprefix("!") for line in lines if line.startswith("!")]


def find(places: Places) -> Path | None:
    """Give the archive that was built from the Dockerfile and exactly this checkout, on whatever base."""
    return next(places.images.glob(f"dockerfile-{_checkout()}-*.tar"), None)


def make(places: Places, base: Path | str) -> Path:
    """Give the archive of the image on a base, an archive or a registry's image; build it where it is missing."""
    checkout, name = _checkout(), base if isinstance(base, str) else base.name
    out = places.images / f"dockerfile-{checkout}-{hashlib.sha256(name.encode()).hexdigest()[:16]}.tar"
    if out.exists():
        return out
    places.images.mkdir(parents=True, exist_ok=True)
    for old in places.images.glob(f"{_DRAFT}*"):  # of a build that was interrupted
        shutil.rmtree(old)
    with tempfile.TemporaryDirectory(prefix=_DRAFT, dir=places.images) as folder:
        draft = Path(folder) / "image.tar"
        below = _docker(base, draft) if _has_docker() else _buildah(base, draft)
        print(check(draft, below))
        if checkout != _checkout():
            raise ClusterError("The checkout changed while its Dockerfile was built; build it again.")
        for old in places.images.glob("dockerfile-*.tar"):
            old.unlink()
        draft.replace(out)
    return out


def check(path: Path, below: Sequence[str]) -> str:
    """Say how large the image is on top of the base's layers; raise if it is too large or its user is no number."""
    (image,) = archive.read(path)
    wrong_user(image)
    own = [name for layer, name in image.layers.items() if layer not in below]
    if len(own) == len(image.layers):
        raise ClusterError(f"{IMAGE} holds no layer of its base, so its size on top of it is unknown.")
    size = archive.compressed_bytes(path, own)
    text = f"{IMAGE}: {size / 1e6:.1f} MB compressed on top of the base, of {LIMIT_BYTES / 1e6:.0f} MB at most"
    if size > LIMIT_BYTES:
        raise ClusterError(text)
    return text


def wrong_user(image: Content) -> None:
    """Raise unless the image's user is a number and not root: `runAsNonRoot` can tell nothing of a name."""
    user = image.user.split(":")[0]
    if not user.isdigit() or int(user) == 0:
        raise ClusterError(f"{IMAGE} runs as {image.user or 'root'}: not a number, or root.")


def pip_settings(listed: str) -> dict[str, str]:
    """Give those of pip's settings that lead to packages, from `pip config list`: environment, else install, global."""
    found: dict[str, str] = {}
    for place in ("global", "install", ":env:"):
        for name, value in re.findall(rf"^{place}\.([a-z-]+)=(.+)$", listed, re.MULTILINE):
            if name in _SETTINGS:
                found[name] = " ".join(str(ast.literal_eval(value)).split())
    return found


def mounts(settings: Mapping[str, str], config: Path) -> list[str]:
    """Give what a build sees of this machine, read only: pip's settings, and the files that they name."""
    named = [Path(word) for name in ("cert", "find-links") for word in settings.get(name, "").split()]
    paths = [(path, path) for path in named if path.is_absolute() and path.exists()]
    return [f"{here}:{there}:ro" for here, there in [(config, Path("/etc/pip.conf")), *paths]]


def _checkout() -> str:
    names = ["Dockerfile", ".dockerignore", *contents()]
    files = sorted(path for name in names for path in files_below(ROOT / name))
    texts = [f"{path.relative_to(ROOT)} {digest(path)}" for path in files]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _has_docker() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


def _docker(base: Path | str, out: Path) -> list[str]:
    """Build with docker's engine, which keeps both images; give the layers of the base."""
    if isinstance(base, Path):
        name = _run(["docker", "load", "--quiet", "--input", str(base)]).removeprefix("Loaded image: ")
    else:
        _run(["docker", "pull", "--quiet", base], seconds=_REGISTRY_SECONDS)
        name = base
    _run(["docker", "build", "--network=host", f"--build-arg=BASE_IMAGE={name}", f"--tag={IMAGE}", str(ROOT)])
    _run(["docker", "save", "--output", str(out), IMAGE])
    return _run(["docker", "image", "inspect", "--format", '{{join .RootFS.Layers " "}}', name]).split()


def _buildah(base: Path | str, out: Path) -> list[str]:
    """Build with buildah, all of it beside `out`, without mounts; give the layers of the base."""
    if shutil.which("buildah") is None:
        raise ClusterError("A Dockerfile needs docker or buildah: apt-get install -y --no-install-recommends buildah")
    folder = out.parent
    config = folder / "pip.conf"
    settings = pip_settings(_run([sys.executable, "-m", "pip", "config", "list"]))
    config.write_text("\n".join(["[global]", *(f"{name} = {value}" for name, value in settings.items())]))
    buildah = ["buildah", f"--root={folder / 'root'}", f"--runroot={folder / 'run'}", "--storage-driver=vfs"]
    build = ["build", "--isolation=chroot", "--network=host", "--pull-never"]
    build += [f"--volume={mount}" for mount in mounts(settings, config)]
    form = "{{range .OCIv1.RootFS.DiffIDs}}{{.}} {{end}}"
    with _no_blob_cache():
        if isinstance(base, Path):
            below = _last(_run([*buildah, "pull", "--quiet", f"docker-archive:{base}"], folder))
        else:
            below = _last(_run([*buildah, "pull", "--quiet", f"docker://{base}"], folder, _REGISTRY_SECONDS))
        image = _last(_run([*buildah, *build, f"--build-arg=BASE_IMAGE={below}", str(ROOT)], folder))
        _run([*buildah, "push", "--quiet", image, f"docker-archive:{out}:{IMAGE}"], folder)
        return _run([*buildah, "inspect", "--type=image", f"--format={form}", below], folder).split()


@contextmanager
def _no_blob_cache() -> Iterator[None]:
    """Remove what buildah notes outside its folders, unless it was there before."""
    known = _BLOBS.exists()
    try:
        yield
    finally:
        if not known:
            _BLOBS.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # not there, or not empty
                _BLOBS.parent.rmdir()
                _BLOBS.parent.parent.rmdir()


def _last(text: str) -> str:
    """Give the last line: the image's identity."""
    return text.splitlines()[-1]


def _run(command: Sequence[str], temporary: Path | None = None, seconds: float | None = None) -> str:
    """Give what a command prints."""
    environment = {**os.environ, **({"TMPDIR": str(temporary)} if temporary else {})}
    what = f"`{Path(command[0]).name}` failed while the Dockerfile was built"
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=seconds, env=environment, cwd=ROOT
        )
    except subprocess.TimeoutExpired:
        raise ClusterError(f"{what}: no answer within {seconds:.0f} s") from None
    if done.returncode:
        raise ClusterError(f"{what}: {(done.stderr or done.stdout).strip()[-1500:]}")
    return done.stdout.strip()
