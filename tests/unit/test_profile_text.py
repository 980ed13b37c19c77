"""A profile as people read it."""

import pytest
import yaml

from webhook.catalog import shipped, shipped_text
from webhook.profile_check import schema
from webhook.profile_text import MARK, defaults, marked, source_of


@pytest.mark.parametrize("name", shipped())
def test_shown_text_keeps_every_line_and_marks_every_unverified_field(name):
    data = shipped()[name]
    written = shipped_text(name).splitlines()

    rows = marked(data, shipped_text(name)).splitlines()

    assert [row.removesuffix(MARK) for row in rows[: len(written)]] == written
    assert sum(row.endswith(MARK) for row in rows) == len(data.get("unverified", {}))
    assert yaml.safe_load("\n".join(rows)) == data


def test_a_mark_stands_at_its_field():
    rows = marked(shipped()["nim"], shipped_text("nim")).splitlines()

    assert [row for row in rows if row.endswith(MARK)] == [
        f"shutdown_class: A{MARK}",
        f"  default: 0.0.0.0{MARK}",
        f"  env: [NIM_SSL_MODE]{MARK}",
        f"  running: [num_requests_running]{MARK}",
        f"  waiting: [num_requests_waiting]{MARK}",
        f"tools: [sh, bash, curl, python3]{MARK}",
    ]


def test_defaults_in_force_are_listed_for_what_is_left_out():
    data = {"match": {"auto": False}, "metrics": {"idle_seconds": 9}, "readiness": {}, "budget": {"drain": 1}}

    assert dict(defaults(schema(), data)) == {
        ("metrics", "absent"): "unknown",
        ("metrics", "enabled"): "true",
        ("metrics", "refresh_seconds"): 0,
        ("readiness", "min_seconds"): 0,
        ("budget", "settle"): 10,
        ("budget", "reserve"): 15,
    }


def test_a_user_s_own_file_is_shown_as_it_is_written(tmp_path):
    text = shipped_text("ollama") + "# mine\n"
    (tmp_path / "ollama.yaml").write_text(text)

    assert source_of("ollama", [tmp_path]) == (shipped()["ollama"], text)


def test_an_extending_file_is_shown_with_all_values_in_force(tmp_path):
    (tmp_path / "vllm.yaml").write_text("extends: vllm\nbudget: {drain: 300}\n")

    data, text = source_of("vllm", [tmp_path])

    assert text.startswith(f"# {tmp_path / 'vllm.yaml'} on top of profile vllm\n")
    assert yaml.safe_load(text) == data == shipped()["vllm"] | {"budget": {"settle": 10, "drain": 300, "reserve": 15}}
