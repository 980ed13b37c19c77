"""`drainhook label`: what it shows, what it asks, what it does, and its exit codes."""

from __future__ import annotations

import pytest

from tests.unit.cluster.apiserver import kubeconfig
from tests.unit.cluster.commandline import drainhook
from tests.unit.cluster.workloads import DEPLOYMENTS, ENGINE, OTHER, workload
from webhook import names

CHAT = f"{DEPLOYMENTS}/chat"


@pytest.fixture
def run(api, tmp_path):
    """Run the command against the small server."""
    path = str(kubeconfig(tmp_path, api.url))

    def call(*arguments):
        return drainhook("label", *arguments, "--kubeconfig", path)

    return call


@pytest.fixture
def chat(api):
    """Store a Deployment of three and return how to read its label."""
    api.add(CHAT, workload())
    return lambda: api.objects[CHAT]["spec"]["template"]["metadata"]["labels"].get(names.BACKEND)


def test_the_preview_says_what_changes_and_what_starts(run, chat):
    result = run("deploy/chat", "--backend", "vllm", "--dry-run=client")

    assert (result.exit_code, chat()) == (0, None)
    for line in (
        "Deployment llm/chat\n",
        f"  spec.template: label {names.BACKEND}: (none) -> vllm\n",
        "    grace 120 s = settle 10 + drain 95 + reserve 15\n",
        "    + spec.containers[0].lifecycle.preStop\n",
        "    probe_added: The container had no readiness probe.\n",
        "  This starts a rollout: 3 pods are replaced (RollingUpdate).\n",
        "  The pods that end in it do not have the hook yet: requests that they still serve can be lost.\n",
    ):
        assert line in result.stdout


def test_yes_labels_without_asking(run, chat, api):
    """The API server tries first."""
    api.warnings = ["look out"]
    result = run("deploy/chat", "--backend", "vllm", "--yes")

    assert (result.exit_code, chat()) == (0, "vllm")
    assert result.stdout.endswith("\nDeployment llm/chat changed.\n")
    assert result.stderr == "Warning: look out\n"
    assert [query.get("dryRun") for method, _, query, _ in api.asked if method == "PATCH"] == ["All", None]


def test_a_server_dry_run_says_what_the_server_says(run, chat, api):
    assert run("deploy/chat", "--backend", "vllm", "--dry-run=server").stdout.endswith("llm/chat would be changed.\n")
    api.refuse("PATCH", CHAT, (422, "admission webhook denied it"))
    result = run("deploy/chat", "--backend", "vllm", "--dry-run=server")

    assert (result.exit_code, chat()) == (2, None)
    assert result.stderr == "drainhook: admission webhook denied it\n"


def test_without_a_terminal_nothing_is_changed_unasked(run, chat):
    result = run("deploy/chat", "--backend", "vllm")
    assert (result.exit_code, chat()) == (2, None)
    assert "add --yes" in result.stderr


def test_all_are_labelled_or_none(run, chat, api):
    """A refusal of the second one comes before the first one is changed."""
    api.add(f"{DEPLOYMENTS}/second", workload("second"))
    api.refuse("PATCH", f"{DEPLOYMENTS}/second", (403, "forbidden"))
    result = run("deploy/chat", "deploy/second", "deploy/chat", "--backend", "vllm", "--yes")
    assert (result.exit_code, chat()) == (2, None)
    assert run("deploy/chat", "deploy/second", "--backend", "vllm", "--yes").exit_code == 0
    assert chat() == "vllm"


def test_one_that_is_not_there_stops_all(run, chat):
    result = run("deploy/chat", "deploy/none", "--backend", "vllm", "--yes")
    assert (result.exit_code, chat(), result.stderr) == (2, None, 'drainhook: "none" not found\n')


def test_removal_takes_the_label_away(run, chat):
    run("deploy/chat", "--backend", "vllm", "--yes")
    result = run("deploy/chat", "--remove", "--yes")
    assert (result.exit_code, chat()) == (0, None)
    assert "vllm -> (none)" in result.stdout


@pytest.mark.parametrize("flags", [(), ("--backend", "vllm", "--remove")])
def test_either_backend_or_remove_is_given(run, chat, flags):
    assert (run("deploy/chat", *flags, "--yes").exit_code, chat()) == (2, None)


def test_a_backend_without_profile_is_refused(run, chat):
    result = run("deploy/chat", "--backend", "vlm", "--yes")
    assert (result.exit_code, chat()) == (2, None)
    assert "no profile vlm; known: " in result.stderr


def test_what_is_labelled_already_is_left(run, api):
    api.add(CHAT, workload(label="vllm"))
    result = run("deploy/chat", "--backend", "vllm", "--yes")
    assert (result.exit_code, api.writes()) == (0, [])
    assert "stays as it is" in result.stdout


def test_a_workload_without_an_engine_ends_with_1(run, api):
    """The label would have been asked for in vain."""
    api.add(CHAT, workload(container=OTHER))
    result = run("deploy/chat", "--backend", "auto", "--yes")
    assert (result.exit_code, api.writes()) == (1, [])
    assert "[no_engine_found]" in result.stdout


def test_an_error_of_the_template_ends_with_1(run, api):
    api.add(CHAT, workload(container={**ENGINE, "args": "text"}))
    result = run("deploy/chat", "--backend", "vllm", "--yes")
    assert (result.exit_code, api.writes()) == (1, [])
    assert "Nothing was labelled, because of the errors above." in result.stderr
