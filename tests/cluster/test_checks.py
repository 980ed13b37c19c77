"""Every lack of a machine is told in a sentence that says how to mend it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster import cgroups, checks
from tests.cluster.pins import IMAGE_PACKAGES, NODE_PACKAGES, ROOT


def test_without_root_it_says_sudo():
    assert checks.root(0) == []
    assert checks.root(1000) == ["The cluster needs root: sudo -E make cluster."]


def test_missing_programs_are_one_line_to_paste():
    (sentence,) = checks.packages(lambda name: name not in {"nft", "runc"}, has_plugins=False)
    line = "apt-get install -y --no-install-recommends runc nftables containernetworking-plugins"
    assert sentence.endswith(line)
    assert checks.packages(lambda _: True, has_plugins=True) == []


def test_continuous_integration_installs_them_all():
    words = set((ROOT / ".ci/run").read_text().replace(")", " ").split())
    wanted = {**NODE_PACKAGES, **IMAGE_PACKAGES}
    assert {f"{command}:{package}" for command, package in wanted.items()} - words == set()


def test_a_busybox_with_libraries_is_told(tmp_path):
    for name, head in (("static", b"ELF"), ("dynamic", b"ELF/lib64/ld-linux-x86-64.so.2")):
        (tmp_path / name).write_bytes(head)
    assert checks.static(str(tmp_path / "static")) == []
    assert checks.static(None) == []
    (sentence,) = checks.static(str(tmp_path / "dynamic"))
    assert "apt-get install -y busybox-static" in sentence


def test_missing_controllers_are_named():
    (sentence,) = checks.controllers(["cpuset", "pids"])
    assert "cpuset pids" in sentence
    assert checks.controllers([]) == []


def test_too_little_room_is_told_with_both_sizes(tmp_path):
    (sentence,) = checks.disk(tmp_path / "not" / "yet", 1 << 60)
    assert sentence.startswith(f"{1 << 30} GiB are needed below {tmp_path} and ")
    assert checks.disk(tmp_path, 1) == []


@pytest.mark.parametrize(("length", "lacks"), [(101, 0), (102, 1)])
def test_a_socket_has_a_longest_path(length, lacks):
    assert len(checks.socket_path(Path("/" + "s" * (length - 1)))) == lacks


def tree(mount, **controllers):
    for name, cpus in controllers.items():
        for folder in (mount / name, mount / name / cgroups.CGROUP):
            folder.mkdir()
        (mount / name / "cpuset.cpus").write_text(cpus)
        for part in ("cpuset.cpus", "cpuset.mems"):
            (mount / name / cgroups.CGROUP / part).write_text("\n")
    (mount / "cpuset" / "cpuset.mems").write_text("0")


def test_version_1_has_a_folder_per_controller(tmp_path):
    for name in ("cpu", "memory"):
        (tmp_path / name).mkdir()
    assert cgroups.missing(tmp_path) == ["cpuset", "pids"]


def test_version_2_has_a_list_of_controllers(tmp_path):
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu memory\n")
    assert cgroups.missing(tmp_path) == ["pids"]


def test_a_cpuset_of_version_1_gets_what_its_parent_has(tmp_path):
    tree(tmp_path, cpuset="0-3", memory="x")
    cgroups.make(tmp_path)
    assert (tmp_path / "cpuset" / cgroups.CGROUP / "cpuset.cpus").read_text() == "0-3"
    assert (tmp_path / "cpuset" / cgroups.CGROUP / "cpuset.mems").read_text() == "0"
    assert (tmp_path / "memory" / cgroups.CGROUP / "cpuset.cpus").read_text() == "\n"


def test_our_cgroups_go_from_the_innermost_and_others_stay(tmp_path):
    (tmp_path / "cpu" / cgroups.CGROUP / "kubepods" / "pod").mkdir(parents=True)
    (tmp_path / "cpu" / "kubepods").mkdir()
    assert cgroups.find(tmp_path)[0].name == "pod"
    assert cgroups.remove(tmp_path)
    assert [path.name for path in (tmp_path / "cpu").iterdir()] == ["kubepods"]


def test_a_cgroup_in_use_is_told(tmp_path):
    inner = tmp_path / "cpu" / cgroups.CGROUP
    inner.mkdir(parents=True)
    (inner / "tasks").touch()
    assert not cgroups.remove(tmp_path)
