"""The catalog: what is shipped, and what becomes of users' folders."""

import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from webhook import names
from webhook.catalog import InvalidProfiles, load, load_programs, load_script, shipped
from webhook.core.profile import Budget

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests/fixtures/engines"
CATALOG, _ = load()
PROFILES = CATALOG.profiles

SIXTEEN = {
    # profile: class, HTTP port, port in the image, budget, an official image
    "vllm": ("A", 8000, None, (10, 95, 15), "vllm/vllm-openai"),
    "sglang": ("B", 30000, None, (10, 95, 15), "lmsysorg/sglang"),
    "tgi": ("C", 3000, 80, (10, 95, 15), "ghcr.io/huggingface/text-generation-inference"),
    "llamacpp": ("A", 8080, None, (10, 95, 15), "ghcr.io/ggml-org/llama.cpp"),
    "ollama": ("D", 11434, None, (10, 95, 15), "ollama/ollama"),
    "triton": ("C", 8000, None, (10, 75, 35), "nvcr.io/nvidia/tritonserver"),
    "tensorrt-llm": ("B", 8000, None, (10, 95, 15), "nvcr.io/nvidia/tensorrt-llm/release"),
    "nim": ("A", 8000, None, (10, 95, 15), "nvcr.io/nim/meta/llama-3.1-8b-instruct"),
    "lmdeploy": ("B", 23333, None, (10, 95, 15), "openmmlab/lmdeploy"),
    "tei": ("B", 3000, 80, (10, 95, 15), "ghcr.io/huggingface/text-embeddings-inference"),
    "ray-serve": ("C", 8000, None, (10, 75, 35), "rayproject/ray-llm"),
    "kserve-huggingface": ("C", 8080, None, (10, 75, 35), "kserve/huggingfaceserver"),
    "openvino": ("B", None, None, (10, 95, 15), "openvino/model_server"),
    "mlserver": ("A", 8080, None, (10, 95, 15), "docker.io/seldonio/mlserver"),
    "infinity": ("B", 7997, None, (10, 95, 15), "michaelf34/infinity"),
    "fastapi": ("C", 8000, None, (10, 95, 15), None),
}
MORE_IMAGES = {
    "ghcr.io/llm-d/llm-d-cuda": "vllm",
    "mirror.example:5000/hub/vllm/vllm-openai": "vllm",
    "rayproject/ray": "ray-serve",
    "proxy.example/nvcr.io/nim/nvidia/nv-embedqa-e5-v5": "nim",
    "nvcr.io/nvidia/cloud-native/k8s-nim-operator": None,
    "lmsysorg/sglang-router": None,
    "ghcr.io/open-webui/open-webui": None,
    "lmcache/lmstack-router": None,
    "python": None,
}
# No output of the real engine is at hand: their gauges stand under `unverified` until there is.
UNPROVEN = {"tgi", "triton", "tensorrt-llm", "nim", "lmdeploy", "tei", "kserve-huggingface", "openvino"}
WITHOUT_GAUGES = {"ollama", "infinity"}


def _gauges(profile):
    return (*profile.metrics.running, *profile.metrics.waiting) if profile.metrics else ()


def test_the_sixteen_are_what_they_were_measured_to_be():
    found = {
        name: (profile.shutdown_class, profile.http.default, profile.http.in_image, profile.budget)
        for name, profile in PROFILES.items()
    }

    assert found == {name: (*facts[:3], Budget(*facts[3])) for name, facts in SIXTEEN.items()}


def test_a_file_s_name_is_its_profile_s_and_every_profile_has_sources():
    assert {name: data["name"] for name, data in shipped().items()} == {name: name for name in SIXTEEN}
    assert [name for name, data in shipped().items() if not data["sources"]] == []


def test_only_the_idle_window_of_slow_gauges_differs_from_five_seconds():
    windows = {name: profile.metrics.idle_seconds for name, profile in PROFILES.items() if profile.metrics}

    assert {name: seconds for name, seconds in windows.items() if seconds != 5} == {"ray-serve": 15, "lmdeploy": 15}


@pytest.mark.parametrize(
    ("image", "name"), [*((facts[4], name) for name, facts in SIXTEEN.items() if facts[4]), *MORE_IMAGES.items()]
)
def test_an_image_is_that_of_one_profile_and_of_no_other_program(image, name):
    programs = load_programs()
    known = (*programs.meshes, *programs.proxies, *programs.others)

    found = [p.name for p in PROFILES.values() if any(fnmatchcase(image, glob) for glob in p.match.images)]

    assert found == ([name] if name else [])
    assert not (name and any(fnmatchcase(image, glob) for glob in known))


@pytest.mark.parametrize(
    ("image", "kind"),
    [
        ("docker.io/istio/proxyv2", "meshes"),
        ("cr.l5d.io/linkerd/proxy", "meshes"),
        ("nginx", "proxies"),
        ("docker.io/library/nginx", "proxies"),
        ("quay.io/oauth2-proxy/oauth2-proxy", "proxies"),
        ("gcr.io/knative-releases/knative.dev/serving/cmd/queue", "proxies"),
        ("ghcr.io/berriai/litellm", "proxies"),
        ("ghcr.io/open-webui/open-webui", "others"),
        ("registry.k8s.io/gateway-api-inference-extension/epp", "others"),
        ("nvcr.io/nvidia/k8s/dcgm-exporter", "others"),
        ("lmsysorg/sglang-router", "others"),
        ("redis", "others"),
    ],
)
def test_programs_that_are_no_engine_are_known(image, kind):
    assert any(fnmatchcase(image, glob) for glob in getattr(load_programs(), kind))


def test_image_globs_of_shipped_profiles_let_mirrors_match():
    assert [glob for profile in PROFILES.values() for glob in profile.match.images if not glob.startswith("*")] == []


def test_auto_never_finds_the_profile_that_any_web_application_would_match():
    assert [name for name, profile in PROFILES.items() if not profile.match.auto] == ["fastapi"]


def _samples(path):
    """Return the values of a page by metric name, with each series' labels."""
    text = path.read_text("utf-8")
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def _pages(name):
    return [path for path in FIXTURES.glob(f"{name}-*.txt") if re.fullmatch(rf"{name}-[\d.]+-(idle|busy)", path.stem)]


@pytest.mark.parametrize("name", sorted(set(SIXTEEN) - UNPROVEN - WITHOUT_GAUGES))
def test_the_engine_itself_prints_the_gauges_of_its_profile(name):
    pages = _pages(name)

    assert pages
    for page in pages:
        values = {
            gauge: sum(sample.value for sample in _samples(page) if sample.name == gauge.partition("{")[0])
            for gauge in _gauges(PROFILES[name])
        }
        found = {sample.name for sample in _samples(page)}
        assert {gauge.partition("{")[0] for gauge in values} <= found, page.name
        assert (sum(values.values()) > 0) == page.stem.endswith("-busy"), page.name


def test_profiles_without_a_page_of_their_engine_are_exactly_those_marked_unverified():
    marked = {
        name
        for name, profile in PROFILES.items()
        if {"metrics.running", "metrics.waiting"} & set(profile.unverified or {})
    }

    assert marked == UNPROVEN
    assert {name for name in PROFILES if _pages(name)} == set(SIXTEEN) - UNPROVEN - WITHOUT_GAUGES
    assert {name for name, profile in PROFILES.items() if not _gauges(profile)} == WITHOUT_GAUGES


@pytest.mark.parametrize("name", SIXTEEN)
def test_every_profile_has_a_sample_that_kubernetes_takes(name):
    documents = list(yaml.safe_load_all((ROOT / f"manifests/samples/{name}.yaml").read_text("utf-8")))
    for document in documents:
        kubernetes_validate.validate(document, "1.34", strict=True)
    labels = documents[0]["spec"]["template"]["metadata"]["labels"]

    assert [document["kind"] for document in documents] == ["Deployment", "Service"]
    assert labels[names.BACKEND] == name
    assert documents[1]["spec"]["selector"].items() <= labels.items()


def test_the_script_is_embedded_without_comments_and_still_parses():
    script = load_script()

    assert CATALOG.script == script
    assert [row for row in script.splitlines() if not row.strip() or row.lstrip().startswith("#")] == []
    assert subprocess.run(["sh", "-n", "-c", script], check=False, capture_output=True).returncode == 0


def test_a_later_folder_wins(tmp_path):
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "vllm.yaml").write_text(f"extends: vllm\nbudget: {{settle: {number}}}\n")
    (tmp_path / "1" / "mine.yaml").write_text("extends: sglang\n")

    catalog, faults = load([tmp_path / "1", tmp_path / "2"])

    assert faults == ()
    assert catalog.profiles["vllm"].budget == Budget(2, 95, 15)
    assert set(catalog.profiles) == {*SIXTEEN, "mine"}
    assert list(catalog.profiles) == sorted(catalog.profiles)


def test_a_faulty_file_refuses_or_is_skipped_and_what_was_there_stays_in_force(tmp_path):
    (tmp_path / "vllm.yaml").write_text("extends: vllm\nbudget: {settle: -1}\n")
    (tmp_path / "mine.yaml").write_text("extends: sglang\n")

    with pytest.raises(InvalidProfiles) as refused:
        load([tmp_path])
    catalog, faults = load([tmp_path], skip_invalid=True)

    assert refused.value.faults == faults
    assert str(refused.value) == str(faults[0])
    assert [(fault.path, fault.line, fault.field) for fault in faults] == [
        (str(tmp_path / "vllm.yaml"), 2, "budget.settle")
    ]
    assert catalog.profiles["vllm"] == PROFILES["vllm"]
    assert "mine" in catalog.profiles


def test_the_digest_follows_the_content(tmp_path):
    (tmp_path / "vllm.yaml").write_text("extends: vllm # nothing new\n")
    same = load([tmp_path])[0].profiles["vllm"]
    (tmp_path / "vllm.yaml").write_text("extends: vllm\nbudget: {settle: 11}\n")
    other = load([tmp_path])[0].profiles["vllm"]

    assert same == PROFILES["vllm"]
    assert re.fullmatch(r"[0-9a-f]{8}", same.digest)
    assert other.digest != same.digest


def test_shipped_profiles_load_without_jsonschema():
    code = "import sys; from webhook.catalog import load; load(); print('jsonschema' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"


def test_the_docs_table_is_that_of_the_catalog():
    text = (ROOT / "docs/profiles.md").read_text("utf-8")
    rows = [
        [cell.strip() for cell in row.strip("|").split(" | ")]
        for row in text.splitlines()
        if re.match(r"\| `[a-z-]+` \| [ABCD] \|", row)
    ]
    wanted = [
        [f"`{name}`", profile.shutdown_class, *_listed(_gauges(profile)), *_listed(profile.unverified or {})]
        for name, profile in PROFILES.items()
    ]

    assert [[row[0], row[1], row[3], row[5]] for row in rows] == wanted


def _listed(words):
    return [", ".join(f"`{word}`" for word in words) or "none"]
