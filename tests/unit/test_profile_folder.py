"""A folder of users' profiles: override, extends, and what may not stand there."""

import os

from webhook.catalog import shipped
from webhook.profile_folder import merge, read_layer

OWN = """\
title: Own
shutdown_class: A
match: {images: ["*own*"], commands: [own serve]}
http: {default: 9000}
host: {default: 0.0.0.0}
readiness: {path: /ready}
metrics: null
tools: [sh]
"""


def _write(folder, **files):
    for name, text in files.items():
        (folder / f"{name.replace('_', '-')}.yaml").write_text(text)
    return folder


def _told(layer):
    return [(os.path.basename(fault.path), fault.line, fault.field, fault.message) for fault in layer.faults]  # noqa: PTH119


def test_a_file_with_a_known_name_replaces_the_profile_as_a_whole(tmp_path):
    layer = read_layer(_write(tmp_path, vllm=OWN), shipped())

    assert layer.faults == ()
    assert layer.profiles["vllm"]["http"] == {"default": 9000}
    assert "secret" not in layer.profiles["vllm"]


def test_extends_changes_what_the_file_says_and_keeps_the_rest(tmp_path):
    layer = read_layer(_write(tmp_path, vllm="extends: vllm\nbudget: {drain: 300}\n"), shipped())

    assert layer.faults == ()
    assert layer.profiles["vllm"] == shipped()["vllm"] | {"budget": {"settle": 10, "drain": 300, "reserve": 15}}


def test_extends_under_a_name_of_its_own(tmp_path):
    layer = read_layer(_write(tmp_path, vllm_long="extends: vllm\ntitle: long\n"), shipped())

    assert layer.profiles["vllm-long"] == shipped()["vllm"] | {"name": "vllm-long", "title": "long"}


def test_extends_follows_files_of_the_same_folder_in_any_order(tmp_path):
    layer = read_layer(_write(tmp_path, a="extends: z\ntitle: a\n", z=OWN), shipped())

    assert layer.faults == ()
    assert layer.profiles["a"] == layer.profiles["z"] | {"name": "a", "title": "a"}


def test_extends_in_a_circle_is_told(tmp_path):
    layer = read_layer(_write(tmp_path, a="extends: b\n", b="extends: a\n"), shipped())

    assert layer.profiles == {}
    assert _told(layer) == [
        ("b.yaml", 1, "extends", "goes in a circle: a -> b -> a"),
        ("a.yaml", 1, "extends", "b has a fault of its own"),
    ]


def test_extends_of_nothing_known_names_what_is(tmp_path):
    layer = read_layer(_write(tmp_path, a="title: a\nextends: nope\n", b="extends: [vllm]\n"), {"vllm": {}})

    assert _told(layer) == [
        ("a.yaml", 2, "extends", "must be a profile that is known here: vllm"),
        ("b.yaml", 1, "extends", "must be a profile that is known here: vllm"),
    ]


def test_a_fault_in_what_is_merged_stands_at_the_line_of_the_file(tmp_path):
    layer = read_layer(_write(tmp_path, vllm="extends: vllm\nmetrics:\n  idle_seconds: 0\n"), shipped())

    assert [(line, field) for _, line, field, _ in _told(layer)] == [(3, "metrics.idle_seconds")]
    assert layer.profiles == {}


def test_only_profiles_and_schemas_may_stand_in_a_folder(tmp_path):
    _write(tmp_path, own=OWN)
    (tmp_path / "notes.txt").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "profile.schema.json").touch()
    wanted = "is no profile; here only <profile>.yaml, <profile>.yml and *.schema.json may stand"

    layer = read_layer(tmp_path, {})

    assert _told(layer) == [("notes.txt", 0, "", wanted), ("sub", 0, "", wanted)]
    assert list(layer.profiles) == ["own"]


def test_two_files_of_one_profile_are_told(tmp_path):
    _write(tmp_path, own=OWN)
    (tmp_path / "own.yml").write_text(OWN)

    assert _told(read_layer(tmp_path, {})) == [("own.yml", 0, "", f"{tmp_path / 'own.yaml'} is the same profile")]


def test_a_mounted_configmap_is_read_through_its_links(tmp_path):
    data = tmp_path / "..2026_11_30"
    data.mkdir()
    _write(data, own=OWN)
    (tmp_path / "..data").symlink_to(data.name)
    (tmp_path / "own.yaml").symlink_to("..data/own.yaml")

    layer = read_layer(tmp_path, {})

    assert layer.faults == ()
    assert list(layer.profiles) == ["own"]


def test_a_folder_that_is_not_there_or_a_loop_of_links_is_told(tmp_path):
    (tmp_path / "loop").symlink_to("loop")

    assert _told(read_layer(tmp_path / "gone", {})) == [("gone", 0, "", "can't be read: No such file or directory")]
    assert _told(read_layer(tmp_path / "loop", {})) == [
        ("loop", 0, "", "can't be read: Too many levels of symbolic links")
    ]


def test_one_file_is_a_layer_too(tmp_path):
    assert list(read_layer(_write(tmp_path, own=OWN) / "own.yaml", {}).profiles) == ["own"]


def test_a_fact_stated_anew_is_no_longer_unverified():
    below = {
        "a": {"x": 1, "y": 2},
        "t": {},
        "n": {"z": 1},
        "unverified": {"a.x": "?", "a.y": "?", "t": "?", "n.z": "?"},
    }

    merged = merge(below, {"a": {"x": 5}, "t": {"flags": []}, "n": None})

    assert merged == {"a": {"x": 5, "y": 2}, "t": {"flags": []}, "n": None, "unverified": {"a.y": "?"}}
    assert merge(below, {"a": {"x": 5}, "unverified": {"a.x": "!"}})["unverified"]["a.x"] == "!"
