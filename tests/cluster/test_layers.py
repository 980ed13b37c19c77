"""A layer is made once per content, and what is left of a cluster is told."""

from __future__ import annotations

import tarfile

import pytest

from tests.cluster import providers, teardown
from tests.cluster.errors import ClusterError
from tests.cluster.layers import Layers, python_of
from tests.cluster.places import Places


def names(path):
    with tarfile.open(path) as tar:
        return tar.getnames()


def test_a_layer_is_made_once_and_again_for_other_inputs(tmp_path):
    made = []
    layers = Layers(tmp_path)

    def make(content):
        made.append(content)
        (content / "file").touch()

    first = layers.cached("kind", ["a"], make)
    assert layers.cached("kind", ["a"], make) == first
    assert layers.cached("kind", ["b"], make) != first
    assert len(made) == 2
    assert names(first) == ["file"]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".tar", ".tar"]


def test_a_layer_that_fails_leaves_nothing(tmp_path):
    def fail(content):
        (content / "half").touch()
        raise ClusterError("no network")

    with pytest.raises(ClusterError, match="no network"):
        Layers(tmp_path).cached("kind", [], fail)
    assert list(tmp_path.iterdir()) == []


def test_a_changed_file_gives_another_layer(tmp_path):
    source = tmp_path / "source"
    source.write_text("one")
    layers = Layers(tmp_path / "layers")
    first = layers.files("app", {"srv/app.py": source})
    source.write_text("two")
    assert layers.files("app", {"srv/app.py": source}) != first
    assert names(first) == ["srv", "srv/app.py"]


def test_files_are_taken_away_by_whiteouts(tmp_path):
    assert names(Layers(tmp_path).without(["usr/bin/sh"])) == ["usr", "usr/bin", "usr/bin/.wh.sh"]


def test_the_python_of_a_layer_is_found(tmp_path):
    layers = Layers(tmp_path)

    def make(content):
        (content / "usr/bin").mkdir(parents=True)
        (content / "usr/bin/python3.13").touch()

    assert python_of(layers.cached("debian", [], make)) == "3.13"
    with pytest.raises(ClusterError, match=r"holds no Python\.$"):
        python_of(layers.without(["x"]))


def test_without_a_cluster_nothing_is_left_and_down_does_nothing(tmp_path):
    places = Places(tmp_path / "cache")
    teardown.down(places)
    assert [line for line in teardown.leftovers(places) if str(tmp_path) in line] == []


def test_a_process_and_a_folder_that_are_left_are_told(tmp_path):
    places = Places(tmp_path)
    places.state.mkdir()
    assert f"folder {places.state} exists" in teardown.leftovers(places)


@pytest.mark.parametrize("provider", providers.NAMES)
def test_a_provider_that_is_missing_is_told(provider, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match=f"^PROVIDER={provider} needs {provider} on PATH"):
        providers.up(Places(tmp_path), provider)
