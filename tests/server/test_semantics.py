"""What the door must get right about requests: rows M1, M7, M16 to M19 and S11."""

from __future__ import annotations

import copy
import json
from importlib.metadata import version

import jsonpatch
import pytest

from tests.server.conftest import eventually
from tests.server.reviews import bare_pod, operations, pod, review


def mutate(client, document, **request):
    return client.post("/mutate", json=review(document, **request)).json()["response"]


def test_m1_unknown_fields_and_nulls_survive(client):
    """Taking away what the patch adds gives the very object that was sent."""
    sent = pod()

    result = jsonpatch.apply_patch(sent, operations(mutate(client, sent)))

    added = copy.deepcopy(result)
    assert added["spec"].pop("terminationGracePeriodSeconds")
    assert added["spec"]["containers"][0].pop("lifecycle")
    assert added["spec"]["containers"][0].pop("readinessProbe")
    assert added["metadata"].pop("annotations")
    assert added == sent


def test_m7_validation_sees_what_another_webhook_changed_after_ours(client):
    final = jsonpatch.apply_patch(pod(), operations(mutate(client, pod())))
    final["spec"]["terminationGracePeriodSeconds"] = 30

    response = client.post("/validate", json=review(final)).json()["response"]

    assert response["allowed"] is True
    assert any("terminationGracePeriodSeconds" in text for text in response["warnings"])


def test_m16_a_workload_is_not_patched(client):
    """A webhook that changed Deployments would fight with what is in git."""
    sent = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": pod()}}

    response = mutate(client, sent)

    assert response["allowed"] is True
    assert response["auditAnnotations"]["reason"] == "kind_ignored"
    assert "patch" not in response


@pytest.mark.parametrize("operation", ["UPDATE", "DELETE"])
def test_m16_only_creation_is_patched(client, operation):
    assert "patch" not in mutate(client, pod(), operation=operation, oldObject=pod())


@pytest.mark.parametrize("subresource", ["ephemeralcontainers", "resize", "status", "eviction"])
def test_m17_subresources_are_left_alone(client, subresource):
    response = mutate(client, pod(), subResource=subresource)

    assert response["allowed"] is True
    assert "patch" not in response


def test_m18_namespace_and_name_are_the_requests(server, client):
    document = pod()
    document["metadata"]["namespace"] = "elsewhere"

    response = mutate(client, document, uid="m18")

    line = eventually(lambda: [line for line in server.lines() if line.get("uid") == "m18"])[0]
    assert (line["namespace"], line["name"]) == ("team-a", "llm-*")
    assert not any("namespace" in operation["path"] for operation in operations(response))


def test_m18_a_pod_without_name_and_namespace_is_decided(client):
    document = pod()
    del document["metadata"]["generateName"]

    assert "patch" in mutate(client, document, namespace="", name="")


def test_m19_a_dry_run_gets_the_same_answer(client):
    """The handler writes nothing anywhere, so that `sideEffects: None` is true."""
    assert mutate(client, pod(), dryRun=True) == mutate(client, pod())


def test_m19_the_log_says_that_it_was_a_dry_run(server, client):
    mutate(client, pod(), dryRun=True, uid="m19")

    line = eventually(lambda: [line for line in server.lines() if line.get("uid") == "m19"])[0]
    assert line["dryRun"] is True


def test_s11_the_library_that_applies_patches_is_new_enough():
    """1.33 makes wrong patches for lists of mixed types."""
    assert tuple(map(int, version("jsonpatch").split("."))) >= (1, 34)


def test_s11_a_second_pass_over_the_result_changes_nothing(client):
    result = jsonpatch.apply_patch(pod(), operations(mutate(client, pod())))

    assert "patch" not in mutate(client, result)


def test_o3_one_line_per_decision_with_who_and_why(server, client):
    mutate(client, pod(), uid="o3")

    line = eventually(lambda: [line for line in server.lines() if line.get("uid") == "o3"])[0]
    assert line.pop("ms") > 0
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "event": "admission",
        "path": "mutate",
        "uid": "o3",
        "namespace": "team-a",
        "name": "llm-*",
        "kind": "Pod",
        "operation": "CREATE",
        "subresource": "",
        "dryRun": False,
        "user": "alice",
        "decision": "patch",
        "reasons": ["hook_exec", "probe_added", "grace_raised"],
        "operations": 4,
    }


def test_o3_no_value_of_an_object_is_logged(server, client):
    document = pod()
    document["spec"]["containers"][0]["env"] = [{"name": "HF_TOKEN", "value": "hf_secret"}]
    document["spec"]["containers"][0]["args"] += ["--api-key", "hf_secret"]
    document["metadata"]["annotations"] = {"drainhook.dev/port": "hf_secret", "note": "hf_secret"}
    for path in ("/mutate", "/validate"):
        client.post(path, json=review(document, uid="secret"))

    eventually(lambda: sum(line.get("uid") == "secret" for line in server.lines()) == 2)
    assert "hf_secret" not in server.log.read_text()


def test_unlabelled_pods_are_left_alone(client):
    assert mutate(client, bare_pod())["auditAnnotations"]["reason"] == "not_labelled"


def test_the_answer_is_the_same_each_time(client):
    answers = {json.dumps(mutate(client, pod()), sort_keys=True) for _ in range(5)}

    assert len(answers) == 1
