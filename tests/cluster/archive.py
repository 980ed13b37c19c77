"""Archives of images by the standard library: an OCI layout and a docker-archive in one tar.

So containerd, docker, podman, buildah and kind can all load it. What goes into an image stands in recipes.py.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_PATH: Final = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_OCI: Final = "application/vnd.oci.image"


@dataclass(frozen=True, slots=True)
class Image:
    """What an image is: its short name with tag, its layers (tar files) and how it is started."""

    name: str
    layers: tuple[Path, ...]
    command: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    user: str = ""
    folder: str = "/"
    entrypoint: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """What an archive holds of an image: names, user, and the path of each layer by digest, the lowest first."""

    names: tuple[str, ...]
    user: str
    layers: Mapping[str, str]


@dataclass(slots=True)
class _Blobs:
    """The content of the layout by its digest: files, and JSON documents."""

    files: dict[str, Path] = field(default_factory=dict)
    texts: dict[str, Any] = field(default_factory=dict)
    known: dict[Path, dict[str, Any]] = field(default_factory=dict)

    def add(self, content: Any) -> dict[str, Any]:
        """Add a JSON document; give digest and size."""
        text = json.dumps(content).encode()
        digest = hashlib.sha256(text).hexdigest()
        self.texts[digest] = content
        return {"digest": f"sha256:{digest}", "size": len(text)}

    def add_file(self, path: Path) -> dict[str, Any]:
        """Add a file, read once however many images hold it; give digest and size."""
        if path in self.known:
            return self.known[path]
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        self.files[digest] = path
        self.known[path] = {"digest": f"sha256:{digest}", "size": path.stat().st_size}
        return self.known[path]


def full_name(name: str) -> str:
    """Give the name under which containerd looks an image up: short names belong to the default host."""
    return name if "." in name.split("/", 1)[0] else f"docker.io/library/{name}"


def write(images: Sequence[Image], out: Path) -> None:
    """Write images into one archive, layers that they share once; `out` appears whole or not at all."""
    blobs = _Blobs()
    entries, dockers = zip(*(_describe(image, blobs) for image in images), strict=True)
    draft = out.with_suffix(".draft")
    with tarfile.open(draft, "w") as tar:
        _text(tar, "oci-layout", {"imageLayoutVersion": "1.0.0"})
        _text(tar, "index.json", {"schemaVersion": 2, "manifests": entries})
        _text(tar, "manifest.json", dockers)
        for digest, content in blobs.texts.items():
            _text(tar, f"blobs/sha256/{digest}", content)
        for digest, path in blobs.files.items():
            tar.add(path, f"blobs/sha256/{digest}", filter=_plain)
    draft.replace(out)


def _describe(image: Image, blobs: _Blobs) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give an image's entry in the OCI index and in docker's manifest."""
    layers = [blobs.add_file(path) for path in image.layers]
    config = blobs.add(_config(image, [layer["digest"] for layer in layers]))
    kind = f"{_OCI}.manifest.v1+json"
    manifest = {
        "schemaVersion": 2,
        "mediaType": kind,
        "config": {"mediaType": f"{_OCI}.config.v1+json", **config},
        "layers": [{"mediaType": f"{_OCI}.layer.v1.tar", **layer} for layer in layers],
    }
    names = {
        "io.containerd.image.name": full_name(image.name),
        "org.opencontainers.image.ref.name": image.name.rsplit(":", 1)[1],
    }
    docker = {"Config": _path(config), "RepoTags": [image.name], "Layers": [_path(layer) for layer in layers]}
    return {"mediaType": kind, **blobs.add(manifest), "annotations": names}, docker


def read(path: Path) -> list[Content]:
    """Give what a docker-archive holds; nothing of one that is an OCI layout alone."""
    with tarfile.open(path) as tar:
        if "manifest.json" not in tar.getnames():
            return []
        return [_content(tar, entry) for entry in _json(tar, "manifest.json")]


def compressed_bytes(path: Path, layers: Iterable[str]) -> int:
    """Give the size of some layers of an archive as a registry would keep them."""
    size = 0
    with tarfile.open(path) as tar:
        for name in layers:
            content = tar.extractfile(name)
            packer = zlib.compressobj(wbits=31)  # gzip
            while content and (part := content.read(1 << 20)):
                size += len(packer.compress(part))
            size += len(packer.flush())
    return size


def write_layer(folders: Iterable[Path], out: Path) -> None:
    """Write the content of folders as one layer, owned by root and without times, so that it is the same each time."""
    draft = out.with_suffix(".draft")
    with tarfile.open(draft, "w", format=tarfile.PAX_FORMAT) as tar:
        for folder in folders:
            for path in sorted(folder.iterdir()):
                tar.add(path, path.name, filter=_owned_by_root)
    draft.replace(out)


def _config(image: Image, digests: list[str]) -> dict[str, Any]:
    start: dict[str, Any] = {"Env": [_PATH, *image.environment], "WorkingDir": image.folder}
    optional = {"Entrypoint": list(image.entrypoint), "Cmd": list(image.command), "User": image.user}
    start |= {name: value for name, value in optional.items() if value}
    return {
        "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": start,
        "rootfs": {"type": "layers", "diff_ids": digests},
        "history": [{"created_by": "tests/cluster"} for _ in digests],
    }


def _content(tar: tarfile.TarFile, entry: dict[str, Any]) -> Content:
    config = _json(tar, entry["Config"])
    layers = dict(zip(config["rootfs"]["diff_ids"], entry["Layers"], strict=True))
    return Content(tuple(entry["RepoTags"] or ()), config["config"].get("User", ""), layers)


def _json(tar: tarfile.TarFile, name: str) -> Any:
    content = tar.extractfile(name)
    return json.load(content) if content else None


def _path(blob: dict[str, Any]) -> str:
    return f"blobs/sha256/{blob['digest'].removeprefix('sha256:')}"


def _text(tar: tarfile.TarFile, name: str, content: Any) -> None:
    text = json.dumps(content).encode()
    entry = tarfile.TarInfo(name)
    entry.size = len(text)
    tar.addfile(entry, io.BytesIO(text))


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mtime = 0
    return entry


def _owned_by_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return _plain(entry)
