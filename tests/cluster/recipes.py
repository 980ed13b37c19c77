"""The images of the test cluster: what each is made of. No registry is asked.

| image | holds | for |
|---|---|---|
| drainhook-pause, drainhook-busybox | busybox | sandboxes, small pods |
| drainhook-base | Debian, its Python, pip, curl | `ARG BASE_IMAGE` of the Dockerfile where no registry is reached |
| drainhook | the project's wheel and its extras | the webhook, seconds after an edit; else see dockerfile.py |
| drainhook-llama | llama.cpp's server, a random model, curl, bash | the real engine |
| drainhook-llama-server | Debian's llama-server, the same model, curl | its own behaviour on SIGTERM |
| drainhook-fastapi, drainhook-fastapi-bare | FastAPI, streaming.py; bare: no shell | applications of one's own |
| drainhook-vllm | the base, libnuma, lscpu; no vLLM | that server, mounted: vllm.py; made on request |
| drainhook-nginx | nginx | a proxy with upstream keep-alive |
"""

from __future__ import annotations

import hashlib
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.cluster import archive, dockerfile
from tests.cluster.archive import Image
from tests.cluster.errors import ClusterError
from tests.cluster.layers import SITE, Layers
from tests.cluster.pins import FASTAPI, HERE, LLAMA_PACKAGES, LLAMA_SUITE, ROOT, XLLAMACPP
from tests.cluster.places import Places

PAUSE: Final = "drainhook-pause:local"
BUSYBOX: Final = "drainhook-busybox:local"
BASE: Final = "drainhook-base:local"
PRODUCT: Final = dockerfile.IMAGE
LLAMA: Final = "drainhook-llama:local"
LLAMA_SERVER: Final = "drainhook-llama-server:local"
FASTAPI_APP: Final = "drainhook-fastapi:local"
FASTAPI_BARE: Final = "drainhook-fastapi-bare:local"
VLLM: Final = "drainhook-vllm:local"
NGINX: Final = "drainhook-nginx:local"

Recipe = Callable[[Layers], Image]
_TOOLS: Final = ("base-files", "bash", "coreutils", "dash", "findutils", "grep", "gzip", "mawk", "sed", "tar")
_PYTHON: Final = ("ca-certificates", "curl", "libgomp1", "libstdc++6", "python3-pip", "python3-venv")
_PYTHONPATH: Final = f"PYTHONPATH=/{SITE}"
_LLAMA: Final = ("LLAMA_ARG_MODEL=/models/model.gguf", "LLAMA_ARG_HOST=0.0.0.0", "LLAMA_ARG_PORT=8080")
_SHELLS: Final = ("usr/bin/sh", "usr/bin/dash", "usr/bin/bash")
_FOREVER: Final = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"


def pause(layers: Layers) -> Image:
    """Make the first container of each pod: waits, and ends at once on SIGTERM."""
    return Image(PAUSE, (layers.busybox(),), ("/bin/sh", "-c", _FOREVER))


def busybox(layers: Layers) -> Image:
    """Give small tools. Debian 12's busybox crashes on `wget -T`."""
    return Image(BUSYBOX, (layers.busybox(),), ("/bin/sh",))


def base(layers: Layers) -> Image:
    """Give Debian with Python and pip."""
    return Image(BASE, (_base(layers),), ("python3",))


def product(layers: Layers) -> Image:
    """Give drainhook as its wheel, run by a numeric user who is not root."""
    debian = _base(layers)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["serve"], *extras["cluster"]]
    stack = (debian, layers.python_packages(debian, wanted), layers.wheel(debian, ROOT, dockerfile.contents()))
    program = ("python3", "-m", "webhook")  # as in the Dockerfile: manifests give the words after it
    return Image(PRODUCT, stack, ("serve",), (_PYTHONPATH,), user="65532:65532", entrypoint=program)


def llama(layers: Layers) -> Image:
    """Give the real llama.cpp server behind `llama-server`; the model is its default."""
    debian = _base(layers)
    stack = (
        debian,
        layers.python_packages(debian, [XLLAMACPP]),
        _model(layers),
        layers.files("llama-server", {"usr/local/bin/llama-server": HERE / "apps/llama_server.py"}),
    )
    return Image(LLAMA, stack, environment=(_PYTHONPATH, *_LLAMA), entrypoint=("llama-server",))


def llama_server(layers: Layers) -> Image:
    """Give the stand-alone llama-server as Debian's unstable suite builds it, with its own way to take SIGTERM."""
    stack = (layers.debian([*_TOOLS, *LLAMA_PACKAGES], LLAMA_SUITE), _model(layers))
    threads = ("LLAMA_ARG_THREADS=1", "LLAMA_ARG_N_PARALLEL=2", "LLAMA_ARG_CTX_SIZE=8192")
    return Image(LLAMA_SERVER, stack, environment=(*_LLAMA, *threads), entrypoint=("llama-server",))


def fastapi(layers: Layers) -> Image:
    """Give a FastAPI application that streams, on port 8000."""
    command = ("python3", "-m", "uvicorn", "streaming:app", "--host", "0.0.0.0", "--port", "8000")  # noqa: S104
    return Image(FASTAPI_APP, _fastapi(layers), command, (_PYTHONPATH,), folder="/srv")


def fastapi_bare(layers: Layers) -> Image:
    """Give the same without any shell: the hook's lower rungs."""
    with_shell = fastapi(layers)
    stack = (*with_shell.layers, layers.without(_SHELLS))
    return Image(FASTAPI_BARE, stack, with_shell.command, with_shell.environment, folder=with_shell.folder)


def vllm(layers: Layers) -> Image:
    """Give what vLLM needs of Debian; itself it is mounted."""
    return Image(VLLM, (_base(layers), layers.debian(["libnuma1", "util-linux"])), ("python3",))


def nginx(layers: Layers) -> Image:
    """Give Debian's nginx in the foreground; its configuration is mounted by who uses it."""
    stack = (layers.debian([*_TOOLS, "nginx-light"]),)
    return Image(NGINX, stack, ("nginx", "-g", "daemon off;"))


_PRODUCT_GROUP: Final = "product"
# Debian's unstable suite may be broken on any day; one test needs it, so it must not take the others with it.
_MAY_FAIL: Final = "unstable"
# One archive per group, because its images share layers; the product changes with every edit and has its own.
GROUPS: Final[Mapping[str, tuple[Recipe, ...]]] = {
    "engines": (pause, busybox, llama, fastapi, fastapi_bare, nginx),
    _MAY_FAIL: (llama_server,),
    _PRODUCT_GROUP: (product,),
}


def make(places: Places) -> dict[Path, list[str]]:
    """Give the archives of all images that pods run, with the images' names; only what changed is made anew.

    The product is the one that the Dockerfile made of exactly this checkout, where that is in the cache.
    """
    built = dockerfile.find(places)
    groups = {name: group for name, group in GROUPS.items() if not (built and name == _PRODUCT_GROUP)}
    made: dict[Path, list[str]] = {}
    for group, images in groups.items():
        try:
            made |= dict([make_group(places, group, images)])
        except ClusterError as error:
            if group != _MAY_FAIL:
                raise
            print(f"left out: {error}", file=sys.stderr)
    return made | ({built: [PRODUCT]} if built else {})


def make_by_dockerfile(places: Places, registry_base: str = "") -> Path:
    """Give the archive of the product by its Dockerfile, on the base made here or on a registry's image."""
    return dockerfile.make(places, registry_base or make_group(places, "base", [base])[0])


def make_group(places: Places, group: str, recipes: Sequence[Recipe]) -> tuple[Path, list[str]]:
    """Give one archive of some images, with their names."""
    layers = Layers(places.images / "layers")
    images = [recipe(layers) for recipe in recipes]
    key = hashlib.sha256(repr(images).encode()).hexdigest()[:16]
    out = places.images / f"{group}-{key}.tar"
    if not out.exists():
        archive.write(images, out)
        for old in set(places.images.glob(f"{group}-*.tar")) - {out}:
            old.unlink()
    return out, [image.name for image in images]


def _base(layers: Layers) -> Path:
    return layers.debian([*_TOOLS, *_PYTHON])


def _fastapi(layers: Layers) -> tuple[Path, ...]:
    debian = _base(layers)
    app = layers.files("streaming", {"srv/streaming.py": HERE / "apps/streaming.py"})
    return debian, layers.python_packages(debian, FASTAPI), app, layers.files("drainable", middleware())


def middleware() -> dict[str, Path]:
    """Give the files of the middleware by their place in an application's image; no installed drainhook is needed."""
    files = [ROOT / "webhook/__init__.py", *sorted((ROOT / "webhook/drainable").glob("*.py"))]
    return {f"srv/{path.relative_to(ROOT)}": path for path in files}


def _model(layers: Layers) -> Path:
    """Give the demo's random model, made by the demo's own module."""
    source = ROOT / "demo/model.py"

    def make(content: Path) -> None:
        from demo import model  # noqa: PLC0415  # needs gguf and numpy, and only the first time

        model.build(content / "models/model.gguf")
        (content / "models/model.gguf").chmod(0o644)

    return layers.cached("model", [hashlib.sha256(source.read_bytes()).hexdigest()], make)
