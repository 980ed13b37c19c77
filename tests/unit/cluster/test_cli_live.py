"""`drainhook validate --live`: the report of a cluster, its notes and exit codes."""

from __future__ import annotations

import json

import pytest

from tests.unit.cluster.apiserver import kubeconfig
from tests.unit.cluster.commandline import drainhook
from tests.unit.cluster.workloads import DEPLOYMENTS, PODS, pod, workload
from webhook import names

LINE = (
    f"llm/Pod/p: warning: metadata.labels[{names.BACKEND}]: the label asks for a drain hook, "
    "but the pod came past the webhook without one [not_patched]\n"
)


@pytest.fixture
def run(api, tmp_path):
    """Run the command against the small server."""
    path = str(kubeconfig(tmp_path, api.url))

    def call(*arguments):
        return drainhook("validate", "--live", *arguments, "--kubeconfig", path)

    return call


@pytest.fixture
def found(api):
    """One pod that the webhook did not see, and a workload in order."""
    api.add(f"{DEPLOYMENTS}/chat", workload(label="vllm"))
    api.add(f"{PODS}/p", pod())


pytestmark = pytest.mark.usefixtures("found")


def test_findings_name_the_object_and_the_field(run):
    result = run()
    assert (result.exit_code, result.stdout) == (0, f"{LINE}2 objects, 0 errors, 1 warnings\n")


def test_kinds_that_are_not_installed_are_a_note(run):
    """On standard error, so that the report stays a report."""
    assert run().stderr.startswith("not in this cluster: ClusterServingRuntime.serving.kserve.io, ")


def test_warnings_fail_where_it_is_asked_for(run):
    assert run("--fail-on", "warning").exit_code == 1


def test_the_namespace_is_that_of_the_context_or_the_flag(run):
    assert run("-n", "other").stdout == "0 objects, 0 errors, 0 warnings\n"


def test_what_may_not_be_read_fails(run, api):
    api.refuse("GET", DEPLOYMENTS, (403, "deployments.apps is forbidden"))
    result = run()
    assert result.exit_code == 1
    assert "llm/Deployment: error: deployments.apps is forbidden [unreadable]\n" in result.stdout


def test_a_report_for_machines_has_no_lines(run):
    """There is no file that they could stand in."""
    (row,) = json.loads(run("-o", "json").stdout)["findings"]
    (result,) = json.loads(run("-o", "sarif").stdout)["runs"][0]["results"]

    assert (row["file"], row["line"], row["subject"]) == ("llm/Pod/p", 0, "Pod p")
    assert result["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "llm/Pod/p"}}
    assert 'classname="llm/Pod/p"' in run("-o", "junit").stdout


def test_files_and_a_cluster_exclude_each_other(run):
    assert run("-f", "x.yaml").exit_code == 2


def test_a_cluster_that_does_not_answer_is_one_line(run, api):
    api.refuse("GET", "/version", (503, "not ready"))
    result = run()
    assert (result.exit_code, result.stderr) == (2, "drainhook: not ready\n")


def test_the_version_decides_and_can_be_given(run, api):
    """Then it is not asked."""
    run("--kubernetes-version", "1.30")
    assert [path for _, path, _, _ in api.asked if path == "/version"] == []
