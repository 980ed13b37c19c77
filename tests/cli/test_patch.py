"""`drainhook patch`: formats, files written back, exit codes, and documents that are never lost."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import pytest
import yaml

from tests.cli.samples import DEPLOYMENT, ENVIRONMENT, SERVICE, program
from webhook import names

UNREADABLE = "x: [\n"
TEMPLATE = "{{- if .Values.on }}\na: 1\n{{- end }}\n"
NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata:
  name: models
  labels: {drainhook.dev/inject: enabled}
  annotations: {drainhook.dev/backend: vllm, drainhook.dev/settle-seconds: "20"}
"""
UNLABELLED = DEPLOYMENT.replace("        drainhook.dev/backend: vllm\n", "")


def pod_spec(text):
    return yaml.safe_load(text)["spec"]["template"]["spec"]


def test_the_text_stays_and_the_hook_is_added(drainhook):
    done = drainhook("patch", "-f", "-", stdin=DEPLOYMENT.encode())
    assert (done.code, done.err) == (0, "")
    kept = iter(done.out.splitlines())
    assert all(any(line == new for new in kept) for line in DEPLOYMENT.splitlines() if "affinity" not in line)
    spec = pod_spec(done.out)
    assert spec["terminationGracePeriodSeconds"] == 120
    assert spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][:2] == ["sh", "-c"]
    assert "                  - |\n" in done.out


def test_what_has_no_label_passes_byte_by_byte(drainhook):
    text = "\ufeff# c\r\n---\r\n" + SERVICE.replace("\n", "\r\n") + "---\r\n...\r\n# end"
    done = drainhook("patch", "-f", "-", stdin=text.encode())
    assert (done.code, done.out, done.err) == (0, text, "")


def test_a_second_pass_changes_nothing(drainhook):
    once = drainhook("patch", "-f", "-", stdin=DEPLOYMENT.encode()).out
    assert drainhook("patch", "-f", "-", stdin=once.encode()).out == once
    assert drainhook("patch", "--check", "-f", "-", stdin=once.encode()).code == 0


def test_check_exits_1_and_prints_no_manifest(drainhook, manifests):
    manifests(**{"a.yaml": DEPLOYMENT, "b.yaml": SERVICE})
    done = drainhook("patch", "--check", "a.yaml", "b.yaml")
    assert (done.code, done.out, done.err) == (1, "", "would change a.yaml\n")


def test_broken_documents_are_said_and_printed_and_the_others_are_done(drainhook):
    text = f"{UNREADABLE}---\n{DEPLOYMENT}---\n{TEMPLATE}---\n{SERVICE}"
    done = drainhook("patch", "-f", "-", stdin=text.encode())
    assert done.code == 1
    for part in (UNREADABLE, TEMPLATE, SERVICE, "terminationGracePeriodSeconds: 120"):
        assert part in done.out
    assert [line.split(": ")[0] for line in done.err.splitlines()] == ["-:2:1", "-:23:3"]
    assert "[unreadable]" in done.err
    assert "[template_text]" in done.err


def test_a_file_that_is_no_text_is_said_and_passed_on(manifests):
    folder = manifests(**{"a.yaml": b"a: \xff\xfe\n", "b.yaml": DEPLOYMENT, "c.yaml": DEPLOYMENT.encode("utf-16")})
    done = program("patch", "-f", ".", cwd=folder)
    assert done.returncode == 1
    assert b"a: \xff\xfe\n" in done.stdout
    assert b"terminationGracePeriodSeconds: 120" in done.stdout
    assert b"./a.yaml:1:1: error: is not UTF-8" in done.stderr
    assert b"./c.yaml:1:1: error: is UTF-16" in done.stderr
    assert b"Traceback" not in done.stderr


def test_several_files_make_one_stream(drainhook, manifests):
    manifests(
        **{
            "a.yaml": DEPLOYMENT.rstrip("\n"),
            "b.yaml": "\ufeff" + SERVICE,
            "c.yaml": "---\n" + SERVICE,
            "d.json": '{"a": 1}',
        }
    )
    done = drainhook("patch", "-f", "*.yaml", "-f", "d.json")
    kinds = [document.get("kind") for document in yaml.safe_load_all(done.out)]
    assert kinds == ["Deployment", "Service", "Service", None]
    assert "\ufeff" not in done.out


def test_folders_are_read_in_order_without_hidden_ones(drainhook, manifests):
    manifests(
        **{"k/b.yml": SERVICE, "k/a/c.json": "{}", "k/.git/x.yaml": SERVICE, "k/readme.md": "#", "k/a.YAML": "a: 1"}
    )
    done = drainhook("patch", "-f", "k", "-o", "patch")
    assert [json.loads(line)["file"] for line in done.out.splitlines()] == ["k/a.YAML", "k/b.yml", "k/a/c.json"]


def test_json_lines_hold_one_patch_per_document(drainhook):
    done = drainhook("patch", "-f", "-", "-o", "patch", stdin=f"# only\n---\n{DEPLOYMENT}---\n{SERVICE}".encode())
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [(row["file"], row["index"], row["kind"], row["name"]) for row in rows] == [
        ("-", 0, "Deployment", "llm"),
        ("-", 1, "Service", "llm"),
    ]
    assert {operation["op"] for operation in rows[0]["patch"]} == {"add"}
    assert rows[1]["patch"] == []


def test_json_output_is_the_object_or_a_list_of_them(drainhook):
    one = json.loads(drainhook("patch", "-f", "-", "-o", "json", stdin=DEPLOYMENT.encode()).out)
    assert one["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 120
    two = json.loads(drainhook("patch", "-f", "-", "-o", "json", stdin=f"{DEPLOYMENT}---\n{SERVICE}".encode()).out)
    assert (two["kind"], [item["kind"] for item in two["items"]]) == ("List", ["Deployment", "Service"])
    assert two["items"][0] == one


def test_explain_says_what_why_and_the_budget(drainhook):
    done = drainhook("patch", "-f", "-", "-o", "explain", stdin=DEPLOYMENT.encode())
    assert done.out.splitlines()[0] == "-:1 Deployment llm"
    assert "grace 120 s = settle 10 + drain 95 + reserve 15" in done.out
    assert "+ spec.containers[0].lifecycle.preStop" in done.out
    assert "probe_added: The container had no readiness probe." in done.out
    assert "\x1b" not in done.out


def test_the_diff_is_applied_by_patch(drainhook, manifests):
    folder = manifests(
        **{"a b.yaml": f"{SERVICE}---\n{DEPLOYMENT}---\n{DEPLOYMENT}", "c.yaml": DEPLOYMENT.replace("\n", "\r\n")}
    )
    wanted = {name: drainhook("patch", "-f", name).out for name in ("a b.yaml", "c.yaml")}
    diff = drainhook("patch", "-f", ".", "-o", "diff").out
    subprocess.run(["patch", "-p0", "--binary"], input=diff.encode(), cwd=folder, check=True, capture_output=True)
    assert {name: (folder / name).read_bytes().decode() for name in wanted} == wanted


def test_files_are_written_back_with_their_mode_and_through_links(drainhook, manifests):
    folder = manifests(**{"real/a.yaml": DEPLOYMENT, "b.yaml": SERVICE})
    (folder / "real/a.yaml").chmod(0o640)
    (folder / "a.yaml").symlink_to("real/a.yaml")
    before = (folder / "b.yaml").stat().st_mtime_ns
    done = drainhook("patch", "-i", "-f", "a.yaml", "-f", "b.yaml")
    assert (done.code, done.out, done.err) == (0, "", "changed a.yaml\n")
    assert (folder / "a.yaml").is_symlink()
    assert pod_spec((folder / "real/a.yaml").read_text())["terminationGracePeriodSeconds"] == 120
    assert stat.S_IMODE((folder / "real/a.yaml").stat().st_mode) == 0o640
    assert (folder / "b.yaml").stat().st_mtime_ns == before
    assert sorted(path.name for path in folder.rglob("*")) == ["a.yaml", "a.yaml", "b.yaml", "real"]


def test_a_file_with_an_error_is_not_written_the_others_are(drainhook, manifests):
    folder = manifests(**{"a.yaml": f"{DEPLOYMENT}---\n{UNREADABLE}", "b.yaml": DEPLOYMENT})
    done = drainhook("patch", "-i", "-f", ".")
    assert done.code == 1
    assert (folder / "a.yaml").read_text() == f"{DEPLOYMENT}---\n{UNREADABLE}"
    assert "terminationGracePeriodSeconds" in (folder / "b.yaml").read_text()
    assert "not written because of its errors: ./a.yaml" in done.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere; run as another user to see this")
def test_a_folder_that_refuses_leaves_the_file_as_it_was(drainhook, manifests):
    folder = manifests(**{"k/a.yaml": DEPLOYMENT})
    (folder / "k").chmod(0o555)
    done = drainhook("patch", "-i", "-f", "k/a.yaml")
    (folder / "k").chmod(0o755)
    assert done.code == 1
    assert "k/a.yaml: error: cannot be written" in done.err
    assert (folder / "k/a.yaml").read_text() == DEPLOYMENT


def test_a_full_disk_leaves_the_file_as_it_was(manifests):
    """The limit on the size of files stands for a full disk: the new file cannot be written whole."""
    folder = manifests(**{"a.yaml": DEPLOYMENT})
    command = f"ulimit -f 1; trap '' XFSZ; exec '{sys.executable}' -m webhook patch -i -f a.yaml"
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 1
    assert b"cannot be written: File too large" in done.stderr
    assert (folder / "a.yaml").read_text() == DEPLOYMENT
    assert [path.name for path in folder.iterdir()] == ["a.yaml"]


def test_namespaces_of_the_input_give_their_defaults(drainhook, manifests):
    text = UNLABELLED.replace("  name: llm ", "  namespace: models\n  name: llm ")
    manifests(**{"a.yaml": text, "z.yaml": NAMESPACE, "other.yaml": UNLABELLED})
    done = drainhook("patch", "-f", ".", "-o", "json")
    by_file = {
        item["metadata"].get("namespace"): item
        for item in json.loads(done.out)["items"]
        if item["kind"] == "Deployment"
    }
    assert by_file["models"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 130
    assert "terminationGracePeriodSeconds" not in by_file[None]["spec"]["template"]["spec"]
    other = drainhook("patch", "-n", "models", "-f", "other.yaml", "-f", "z.yaml", "-o", "explain")
    assert "settle 20" in other.out


def test_items_of_a_list_are_decided_each_in_its_namespace(drainhook):
    item = json.dumps(yaml.safe_load(UNLABELLED.replace("  name: llm ", "  namespace: models\n  name: llm ")))
    text = f'{{"apiVersion": "v1", "kind": "List", "items": [{json.dumps(yaml.safe_load(NAMESPACE))}, {item}]}}\n'
    done = drainhook("patch", "-f", "-", "-o", "patch", stdin=text.encode())
    paths = [operation["path"] for operation in json.loads(done.out)["patch"]]
    assert paths
    assert all(path.startswith("/items/1/spec/template/") for path in paths)


def test_backend_labels_and_patches_what_has_no_label(drainhook):
    done = drainhook("patch", "--backend", "vllm", "-f", "-", stdin=f"{UNLABELLED}---\n{SERVICE}".encode())
    first, second = yaml.safe_load_all(done.out)
    template = first["spec"]["template"]
    assert template["metadata"]["labels"] == {"app": "llm", names.BACKEND: "vllm"}
    assert template["spec"]["terminationGracePeriodSeconds"] == 120
    assert second == yaml.safe_load(SERVICE)
    again = drainhook("patch", "--backend", "tgi", "-f", "-", stdin=done.out.encode())
    assert again.out == done.out


@pytest.mark.parametrize(
    ("selector", "is_patched"), [("app=llm", True), ("app=other", False), ("app=llm,tier=x", False)]
)
def test_the_selector_says_which_objects_are_labelled(drainhook, selector, is_patched):
    done = drainhook("patch", "--backend", "vllm", "--selector", selector, "-f", "-", stdin=UNLABELLED.encode())
    assert (done.out != UNLABELLED) == is_patched
    assert done.code == 0


def test_no_label_is_added_where_the_pod_would_be_left_alone(drainhook):
    text = UNLABELLED.replace("vllm/vllm-openai:v0.11.0", "ghcr.io/open-webui/open-webui:main").replace(
        "name: vllm", "name: web"
    )
    done = drainhook("patch", "--backend", "vllm", "-f", "-", stdin=text.encode())
    assert done.out == text


def test_a_job_is_not_labelled(drainhook):
    text = UNLABELLED.replace("kind: Deployment", "kind: Job").replace("apps/v1", "batch/v1")
    assert drainhook("patch", "--backend", "vllm", "-f", "-", stdin=text.encode()).out == text


def test_only_the_label_is_written_where_the_kind_lacks_the_fields(drainhook):
    text = UNLABELLED.replace("apps/v1", "serving.knative.dev/v1").replace("kind: Deployment", "kind: Service")
    done = drainhook("patch", "--backend", "vllm", "-f", "-", stdin=text.encode())
    assert done.out == text.replace("        app: llm\n", "        app: llm\n        drainhook.dev/backend: vllm\n")
    assert "[cr_field]" in done.err


def test_an_edit_that_cannot_be_proven_is_a_finding_and_changes_nothing(drainhook):
    text = UNLABELLED.rstrip("\n").replace("      affinity: {}", "      note: |\n        no line end")
    text = text.replace("        app: llm\n", "        app: llm\n        drainhook.dev/backend: vllm\n")
    done = drainhook("patch", "-f", "-", stdin=text.encode())
    assert (done.code, done.out) == (1, text)
    assert "[edit_failed]" in done.err
    as_json = drainhook("patch", "-o", "json", "-f", "-", stdin=text.encode())
    assert json.loads(as_json.out) == yaml.safe_load(text)


USAGE = [
    (["patch"], "no input"),
    (["patch", "-f", "nope.yaml"], "no such file: nope.yaml"),
    (["patch", "-f", "*.nope"], "no such file: *.nope"),
    (["patch", "-f", "."], "no *.yaml"),
    (["patch", "-i", "-f", "-"], "-i cannot write back"),
    (["patch", "-i", "-o", "yaml", "-f", "-"], "exclude each other"),
    (["patch", "-i", "--check", "-f", "-"], "exclude each other"),
    (["patch", "--selector", "a=b", "-f", "-"], "--selector needs --backend"),
    (["patch", "--backend", "vlm", "-f", "-"], "no profile vlm"),
    (["patch", "--backend", "vllm", "--selector", "x", "-f", "-"], "'x' is not key=value"),
    (["patch", "--kubernetes-version", "new", "-f", "-"], "--kubernetes-version"),
    (["patch", "-o", "xml", "-f", "-"], "xml"),
]


@pytest.mark.parametrize(("argv", "message"), USAGE)
def test_wrong_usage_is_one_line_and_exit_code_2(drainhook, argv, message):
    done = drainhook(*argv)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_wrong_profile_stops_the_run_unless_it_may_be_skipped(drainhook, manifests):
    manifests(**{"p/mine.yaml": "shutdown_class: Q\n"})
    done = drainhook("patch", "--profiles", "p", "-f", "-", stdin=SERVICE.encode())
    assert done.code == 2
    assert "p/mine.yaml:1: error: shutdown_class: " in done.err
    skipped = drainhook("patch", "--profiles", "p", "--skip-invalid-profiles", "-f", "-", stdin=SERVICE.encode())
    assert (skipped.code, skipped.out) == (0, SERVICE)
    assert "p/mine.yaml:1: warning: shutdown_class: " in skipped.err
