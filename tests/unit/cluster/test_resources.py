"""Kinds as users spell them, and their paths."""

from __future__ import annotations

import pytest

from webhook.cluster.client import ClusterError
from webhook.cluster.resources import absent, discover, find
from webhook.core.workload import KINDS


@pytest.mark.parametrize(
    "spelled",
    ["deploy", "deployment", "deployments", "Deployment", "deployments.apps", "deploy.apps", "deploy.v1.apps"],
)
def test_a_kind_is_found_as_kubectl_finds_it(api, spelled):
    found = find(discover(api.session()), spelled)
    assert (found.group, found.kind, found.plural) == ("apps", "Deployment", "deployments")


def test_a_name_without_group_means_the_core_first(api):
    """Knative's Service must not be meant by `service`, when it was the core's that the user had in mind."""
    api.install("serving.knative.dev", "v1", "Service")
    resources = discover(api.session())

    assert find(resources, "services").group == ""
    assert find(resources, "services.serving.knative.dev").group == "serving.knative.dev"


@pytest.mark.parametrize("spelled", ["pods/status", "deploy.example.dev", "nothing", ""])
def test_what_is_no_kind_is_not_found(api, spelled):
    assert find(discover(api.session()), spelled) is None


def test_paths_have_group_version_and_namespace(api):
    """The preferred version of the group, all namespaces or one; cluster-wide kinds have none."""
    api.install("serving.kserve.io", "v1alpha1", "ClusterServingRuntime")
    api.pages["/apis/serving.kserve.io/v1alpha1"]["resources"][0]["namespaced"] = False
    resources = discover(api.session())
    deploy, runtime, pod = (find(resources, name) for name in ("deploy", "clusterservingruntime", "pod"))

    assert deploy.collection("llm") == "/apis/apps/v1/namespaces/llm/deployments"
    assert deploy.collection(None) == "/apis/apps/v1/deployments"
    assert runtime.collection("llm") == "/apis/serving.kserve.io/v1alpha1/clusterservingruntimes"
    assert (pod.collection("llm"), pod.api_version, deploy.api_version) == (
        "/api/v1/namespaces/llm/pods", "v1", "apps/v1",
    )  # fmt: skip


def test_groups_that_are_not_installed_are_absent(api):
    """A missing custom resource is no error; kinds without a template are not missed."""
    api.install("argoproj.io", "v1alpha1", "Rollout")
    missing = absent(discover(api.session()))

    assert "Rollout.argoproj.io" not in missing
    assert missing == sorted(
        f"{kind}.{group}"
        for (group, kind), row in KINDS.items()
        if group not in {"", "apps", "argoproj.io"} and not row.batch
    )


def test_a_discovery_that_fails_is_an_error(api):
    """Else a kind would be passed over in silence."""
    api.refuse("GET", "/apis/ray.io", (503, "not ready"))
    with pytest.raises(ClusterError, match="not ready"):
        discover(api.session())
