"""Install, label, and compare: the pod carries what `drainhook patch` prints offline, field by field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e import product
from tests.e2e.workload import BUDGET, llama, pods, roll_out, wait_ready, workload
from webhook import names

pytestmark = pytest.mark.e2e

TEMPLATE = "/spec/template"
STALE = "differs; if the image on the node is older than the checkout: make cluster"


def at(pod: Any, pointer: str) -> Any:
    """Give the value that a JSON pointer leads to."""
    for token in pointer.removeprefix(TEMPLATE).split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        pod = pod[int(key)] if isinstance(pod, list) else pod[key]
    return pod


def has(found: Any, wanted: Any) -> bool:
    """Say whether a value is there; the API server may have added defaults to an object."""
    if isinstance(wanted, dict):
        return all(key in found and has(found[key], value) for key, value in wanted.items())
    return bool(found == wanted)


def test_a_pod_of_a_labelled_template_carries_what_the_command_line_prints(drainhook, namespace):
    made = workload(namespace, llama())
    made["spec"]["template"]["metadata"]["annotations"] = BUDGET
    roll_out(drainhook, made)
    assert all("lifecycle" not in pod["spec"]["containers"][0] for pod in pods(drainhook, namespace))
    live = product.command(drainhook, "label", "deploy/app", "-n", namespace, "--backend", "llamacpp", "-y")
    assert live.returncode == 0, live.stderr
    wait_ready(drainhook, namespace)

    made["spec"]["template"]["metadata"]["labels"][names.BACKEND] = "llamacpp"
    words = ("patch", "--kubernetes-version", drainhook.version, "-f", "-", "-o", "patch")
    offline = product.command(drainhook, *words, stdin=json.dumps(made))
    assert offline.returncode == 0, offline.stderr
    operations = json.loads(offline.stdout)["patch"]
    assert any("preStop" in json.dumps(operation) for operation in operations)
    for pod in pods(drainhook, namespace):
        for operation in operations:
            assert has(at(pod, operation["path"]), operation["value"]), f"{operation['path']}: {STALE}"
    looked = product.command(drainhook, "validate", "--live", "-n", namespace)
    assert looked.returncode == 0, looked.stdout
