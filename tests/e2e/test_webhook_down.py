"""While the webhook is away pods are created without a hook, and `validate --live` finds them afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.cluster import Cluster
from tests.e2e import product
from tests.e2e.workload import llama, pods, roll_out, workload
from webhook import names

pytestmark = [pytest.mark.e2e, pytest.mark.alone]


@pytest.fixture
def without_webhook(drainhook: Cluster) -> Iterator[Cluster]:
    """Give the cluster while no replica of the webhook runs; both are back afterwards."""
    space = ("-n", names.SYSTEM_NAMESPACE)
    try:
        drainhook.kubectl("scale", f"deployment/{names.SERVICE}", *space, "--replicas=0")
        drainhook.kubectl("wait", "--for=delete", "pod", "--all", *space, "--timeout=60s")
        yield drainhook
    finally:
        drainhook.kubectl("scale", f"deployment/{names.SERVICE}", *space, "--replicas=2")
        product.install(drainhook)


def test_a_pod_passes_without_hook_and_is_found_later(without_webhook, namespace):
    roll_out(without_webhook, workload(namespace, llama(), backend="llamacpp"))
    assert all("lifecycle" not in pod["spec"]["containers"][0] for pod in pods(without_webhook, namespace))
    looked = product.command(without_webhook, "validate", "--live", "-n", namespace, "--fail-on", "warning")
    assert looked.returncode == 1, looked.stderr
    assert looked.stdout.count("not_patched") >= 2, looked.stdout
