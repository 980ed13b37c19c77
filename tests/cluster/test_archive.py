"""Image archives are complete, the same each time, and hold a shared layer once."""

from __future__ import annotations

import hashlib
import json
import tarfile

import pytest

from tests.cluster.archive import Image, full_name, write, write_layer


@pytest.fixture
def layer(tmp_path):
    folder = tmp_path / "content"
    (folder / "etc").mkdir(parents=True)
    (folder / "etc/name").write_text("here")
    (folder / "link").symlink_to("etc/name")
    out = tmp_path / "layer.tar"
    write_layer([folder], out)
    return out


def read(path):
    with tarfile.open(path) as tar:
        return {name: tar.extractfile(name).read() for name in tar.getnames()}


def test_a_layer_belongs_to_root_and_has_no_times(layer):
    with tarfile.open(layer) as tar:
        entries = {entry.name: entry for entry in tar.getmembers()}
    assert set(entries) == {"etc", "etc/name", "link"}
    assert {(entry.uid, entry.gid, entry.mtime) for entry in entries.values()} == {(0, 0, 0)}
    assert entries["link"].linkname == "etc/name"


def test_every_blob_has_the_digest_that_names_it(layer, tmp_path):
    out = tmp_path / "image.tar"
    write([Image("drainhook-one:local", (layer,), ("sh",))], out)
    files = read(out)
    blobs = {name: content for name, content in files.items() if name.startswith("blobs/")}
    assert {name.rsplit("/", 1)[1] for name in blobs} == {hashlib.sha256(blob).hexdigest() for blob in blobs.values()}
    assert len(blobs) == 3  # layer, configuration, manifest


def test_both_manifests_lead_to_the_same_image(layer, tmp_path):
    out = tmp_path / "image.tar"
    image = Image("drainhook-one:local", (layer,), ("--port", "80"), ("A=b",), "7:7", "/srv", ("server",))
    write([image], out)
    files = read(out)
    (entry,) = json.loads(files["index.json"])["manifests"]
    (docker,) = json.loads(files["manifest.json"])
    manifest = json.loads(files[f"blobs/sha256/{entry['digest'][7:]}"])
    assert docker["Config"] == f"blobs/sha256/{manifest['config']['digest'][7:]}"
    assert docker["Layers"] == [f"blobs/sha256/{manifest['layers'][0]['digest'][7:]}"]
    assert docker["RepoTags"] == ["drainhook-one:local"]
    assert entry["annotations"]["io.containerd.image.name"].endswith("/library/drainhook-one:local")
    config = json.loads(files[docker["Config"]])["config"]
    assert config["Env"][1:] == ["A=b"]
    assert (config["Entrypoint"], config["Cmd"]) == (["server"], ["--port", "80"])
    assert (config["User"], config["WorkingDir"]) == ("7:7", "/srv")


def test_a_layer_of_two_images_is_there_once(layer, tmp_path):
    out = tmp_path / "images.tar"
    write([Image("drainhook-one:local", (layer,)), Image("drainhook-two:local", (layer,), ("sh",))], out)
    with tarfile.open(out) as tar:
        names = tar.getnames()
    assert len(names) == len(set(names)) == 3 + 1 + 2 * 2  # fixed files, the layer, two documents per image


def test_the_same_image_gives_the_same_archive(layer, tmp_path):
    for name in ("a.tar", "b.tar"):
        write([Image("drainhook-one:local", (layer,))], tmp_path / name)
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()


@pytest.mark.parametrize(
    ("name", "full"),
    [("one:local", "docker.io/library/one:local"), ("registry.example/one:local", "registry.example/one:local")],
)
def test_short_names_belong_to_the_default_host(name, full):
    assert full_name(name) == full
