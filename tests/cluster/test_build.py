"""Binaries are built once, and an interrupted build leaves nothing that looks built."""

from __future__ import annotations

import os

import pytest

from tests.cluster import build
from tests.cluster.errors import ClusterError
from tests.cluster.pins import GO_MOD, KUBERNETES, kubernetes_of
from tests.cluster.places import Places

FAKE_GO = """#!/bin/sh
case $1 in
version) echo "go version go$FAKE_VERSION linux/amd64" ;;
build)
  for last; do case $previous in -o) out=$last ;; esac; previous=$last; done
  case $out in *.draft) echo x > "$out"; echo oracle >> "$FAKE_LOG"; exit ;; esac
  mkdir -p "$out"; echo built >> "$FAKE_LOG"
  [ -e "$FAKE_FAILURE" ] && exit 1
  for name in server kube-apiserver kube-controller-manager kube-proxy kube-scheduler kubectl kubelet k8soracle; do
    echo x > "$out/$name"
  done ;;
esac
"""


@pytest.fixture
def go(tmp_path, monkeypatch):
    """Put a stand-in for the Go compiler on PATH: the real one takes 17 CPU minutes."""
    folder = tmp_path / "go"
    folder.mkdir()
    (folder / "go").write_text(FAKE_GO)
    (folder / "go").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_VERSION", "1.26.8")
    monkeypatch.setenv("FAKE_LOG", str(folder / "log"))
    monkeypatch.setenv("FAKE_FAILURE", str(folder / "failure"))
    return folder


def test_a_second_build_builds_nothing(go, tmp_path):
    places = Places(tmp_path / "cache")
    folder = build.build(places, KUBERNETES)
    assert {path.name for path in folder.iterdir()} == {*build.NAMES, "go.mod", "k8soracle", "k8soracle.sha256"}
    assert build.build(places, KUBERNETES) == folder
    assert (go / "log").read_text() == "built\n"


def test_after_an_interrupted_build_the_next_one_works(go, tmp_path):
    places = Places(tmp_path / "cache")
    (go / "failure").touch()
    with pytest.raises(ClusterError, match="go build"):
        build.build(places, KUBERNETES)
    assert not build.is_built(places, KUBERNETES)
    (go / "failure").unlink()
    build.build(places, KUBERNETES)
    assert build.is_built(places, KUBERNETES)
    assert [path.name for path in places.cache.iterdir()] == [f"kubernetes-v{KUBERNETES}"]


def test_binaries_of_other_pins_are_built_anew(go, tmp_path):
    places = Places(tmp_path / "cache")
    folder = build.build(places, KUBERNETES)
    (folder / "go.mod").write_text("module old\n")
    build.build(places, KUBERNETES)
    assert (go / "log").read_text() == "built\nbuilt\n"


def test_the_oracle_is_built_with_the_binaries_and_alone_only_where_its_source_is_newer(go, tmp_path):
    places = Places(tmp_path / "cache")
    folder = build.build(places, KUBERNETES)
    assert build.oracle(places) == folder / build.ORACLE
    (folder / "k8soracle.sha256").write_text("older")
    build.oracle(places)
    build.oracle(places)
    assert (go / "log").read_text() == "built\noracle\n"
    assert build.is_built(places, KUBERNETES)


def test_an_old_go_is_told_with_how_to_get_a_new_one(go, monkeypatch):
    monkeypatch.setenv("FAKE_VERSION", "1.19.8")
    with pytest.raises(
        ClusterError, match=r"too old \(go1\.19\.8\): install Go 1\.26 or later from https://go\.dev/dl"
    ):
        build.check_go()
    assert not (go / "log").exists()


def test_a_missing_go_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match=r"^Go is missing"):
        build.check_go()


def test_another_version_takes_its_own_modules_and_leaves_the_rest_open():
    module = build.derive(GO_MOD.read_text(), "1.36.4")
    assert kubernetes_of(module) == "1.36.4"
    assert "k8s.io/client-go v0.36.4" in module
    assert "k8s.io/kubernetes/cmd/kubelet" in module
    assert KUBERNETES not in module
    assert "github.com/google/cel-go" not in module
