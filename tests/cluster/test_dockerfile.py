"""The image of the Dockerfile is built once per checkout, judged, and preferred over the recipe's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cluster import dockerfile, node, recipes
from tests.cluster.archive import Content, Image, compressed_bytes, read, write, write_layer
from tests.cluster.errors import ClusterError
from tests.cluster.pins import ROOT
from tests.cluster.places import Places

FAKE_BUILDAH = """#!/bin/sh
for word; do case $word in --*) ;; *) break ;; esac; done
echo "$*" >> "$FAKE_LOG"
case $word in
pull) echo base ;;
build) mkdir -p "$FAKE_ROOT"; echo image ;;
push) for last; do :; done; out=${last#docker-archive:}; cp "$FAKE_IMAGE" "${out%%:*}" ;;
inspect) echo "$FAKE_BELOW " ;;
esac
"""
FAKE_DOCKER = """#!/bin/sh
echo "$*" >> "$FAKE_LOG"
case $1 in
info) exit "$FAKE_ENGINE" ;;
load) echo "Loaded image: drainhook-base:local" ;;
save) cp "$FAKE_IMAGE" "$3" ;;
image) echo "$FAKE_BELOW" ;;
esac
"""

LISTED = r"""
:env:.cert='/ca.crt'
:env:.index-url='https://env.example'
global.cert='/other.crt'
global.index-url='https://global.example'
global.no-color='true'
install.find-links='\n/a\n/b'
"""


def layer(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / name).write_bytes(content)
    out = folder / f"{name}.tar"
    write_layer([folder / name], out)
    return out


@pytest.fixture
def image(tmp_path):
    """Give an archive of two layers: a base, and 64 KiB that nothing compresses."""
    out = tmp_path / "image.tar"
    stack = (layer(tmp_path, "base", b"base"), layer(tmp_path, "own", os.urandom(1 << 16)))
    write([Image(dockerfile.IMAGE, stack, user="65532:65532")], out)
    return out


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Give a small checkout in the place of ours."""
    folder = tmp_path / "checkout"
    (folder / "webhook").mkdir(parents=True)
    (folder / "webhook/main.py").write_text("1")
    (folder / "Dockerfile").write_text("FROM base")
    (folder / ".dockerignore").write_text("# why\n*\n!webhook\n**/__pycache__\n")
    monkeypatch.setattr(dockerfile, "ROOT", folder)
    return folder


@pytest.fixture
def buildah(tmp_path, monkeypatch, image):
    """Put a stand-in for buildah on PATH, and a docker without an engine."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {"buildah": FAKE_BUILDAH, "docker": FAKE_DOCKER}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_ENGINE", "1")
    monkeypatch.setenv("FAKE_LOG", str(folder / "log"))
    monkeypatch.setenv("FAKE_ROOT", str(folder / "root"))
    monkeypatch.setenv("FAKE_IMAGE", str(image))
    monkeypatch.setenv("FAKE_BELOW", next(iter(read(image)[0].layers)))
    return folder


def test_the_inputs_are_there():
    assert "webhook" in dockerfile.contents()
    assert [name for name in dockerfile.contents() if not (ROOT / name).exists()] == []


def test_a_checkout_is_built_once_and_again_after_an_edit(tmp_path, checkout, buildah):
    places = Places(tmp_path / "cache")
    base = tmp_path / "base.tar"
    first = dockerfile.make(places, base)
    assert dockerfile.make(places, base) == first == dockerfile.find(places)
    (checkout / "webhook/main.py").write_text("2")
    assert dockerfile.find(places) is None
    second = dockerfile.make(places, base)
    assert list(places.images.iterdir()) == [second] != [first]
    assert (buildah / "log").read_text().count(" build ") == 2


@pytest.mark.usefixtures("checkout")
def test_a_base_of_a_registry_takes_the_place_of_the_local_one(tmp_path, buildah):
    places = Places(tmp_path / "cache")
    local = dockerfile.make(places, tmp_path / "base.tar")
    other = dockerfile.make(places, "registry.example/python:3")
    assert list(places.images.iterdir()) == [other] == [dockerfile.find(places)] != [local]
    log = (buildah / "log").read_text()
    assert f"docker-archive:{tmp_path / 'base.tar'}" in log
    assert "docker://registry.example/python:3" in log


@pytest.mark.usefixtures("checkout")
def test_an_engine_of_docker_comes_first(tmp_path, buildah, monkeypatch):
    monkeypatch.setenv("FAKE_ENGINE", "0")
    places = Places(tmp_path / "cache")
    assert dockerfile.make(places, tmp_path / "base.tar") == dockerfile.find(places)
    words = [line.split()[0] for line in (buildah / "log").read_text().splitlines()]
    assert words == ["info", "load", "build", "save", "image"]
    assert "--build-arg=BASE_IMAGE=drainhook-base:local" in (buildah / "log").read_text()


@pytest.mark.usefixtures("checkout", "buildah")
def test_a_failed_build_leaves_nothing(tmp_path, monkeypatch):
    places = Places(tmp_path / "cache")
    monkeypatch.setattr(dockerfile, "LIMIT_BYTES", 1000)
    with pytest.raises(ClusterError, match="compressed"):
        dockerfile.make(places, tmp_path / "base.tar")
    assert list(places.images.iterdir()) == []


def test_only_what_the_base_has_not_counts(image):
    base, own = read(image)[0].layers.items()
    assert 1 << 16 < compressed_bytes(image, [own[1]]) < (1 << 16) + 1000
    assert dockerfile.check(image, [base[0]]).startswith("drainhook:local: 0.1 MB compressed on top of the base")
    with pytest.raises(ClusterError, match="holds no layer of its base"):
        dockerfile.check(image, ["sha256:other"])


@pytest.mark.parametrize("user", ["", "root", "0", "0:65532", "drainhook"])
def test_rejects_root_and_users_without_a_number(user):
    with pytest.raises(ClusterError, match="not a number, or root"):
        dockerfile.wrong_user(Content(("a",), user, {}))


def test_the_environment_precedes_pips_files():
    assert dockerfile.pip_settings(LISTED) == {
        "index-url": "https://env.example",
        "cert": "/ca.crt",
        "find-links": "/a /b",
    }


def test_a_build_sees_only_files_that_pips_settings_name(tmp_path):
    (tmp_path / "ca.crt").touch()
    settings = {"cert": f"{tmp_path}/ca.crt", "find-links": f"https://links.example {tmp_path}/none", "proxy": "/etc"}
    config = tmp_path / "pip.conf"
    assert dockerfile.mounts(settings, config) == [
        f"{config}:/etc/pip.conf:ro",
        f"{tmp_path}/ca.crt:{tmp_path}/ca.crt:ro",
    ]


@pytest.mark.usefixtures("buildah")
def test_a_cluster_takes_the_dockerfiles_image_where_it_is_of_this_checkout(tmp_path, checkout, monkeypatch):
    def recipe(layers):
        return Image(recipes.PRODUCT, (layers.files("one", {"one": checkout / "Dockerfile"}),))

    monkeypatch.setattr(recipes, "GROUPS", {"engines": (recipe,), "product": (recipe,)})
    places = Places(tmp_path / "cache")
    assert [path.name.split("-")[0] for path in recipes.make(places)] == ["engines", "product"]
    built = dockerfile.make(places, tmp_path / "base.tar")
    assert list(recipes.make(places).items())[1:] == [(built, [recipes.PRODUCT])]
    (checkout / "Dockerfile").write_text("FROM other")
    assert [path.name.split("-")[0] for path in recipes.make(places)] == ["engines", "product"]


def test_an_unstable_suite_that_is_broken_takes_only_its_own_images_with_it(tmp_path, checkout, monkeypatch, capsys):
    def good(layers):
        return Image(recipes.PRODUCT, (layers.files("one", {"one": checkout / "Dockerfile"}),))

    def broken(_layers):
        raise ClusterError("unmet dependencies")

    monkeypatch.setattr(recipes, "GROUPS", {"engines": (good,), "unstable": (broken,)})
    assert [path.name.split("-")[0] for path in recipes.make(Places(tmp_path))] == ["engines"]
    assert capsys.readouterr().err == "left out: unmet dependencies\n"
    monkeypatch.setattr(recipes, "GROUPS", {"engines": (broken,)})
    with pytest.raises(ClusterError, match="unmet"):
        recipes.make(Places(tmp_path))


def test_the_node_knows_where_an_image_came_from(tmp_path):
    places = Places(tmp_path)
    places.state.mkdir()
    assert node.archive_of(places, recipes.PRODUCT) is None
    (places.state / "imported.json").write_text('{"docker.io/library/drainhook:local": ["/cache/dockerfile-a.tar", 1]}')
    assert node.archive_of(places, recipes.PRODUCT) == Path("/cache/dockerfile-a.tar")
