"""The pods that are created: one spec, twice. The kind without is one that both configurations leave out."""

from __future__ import annotations

from typing import Any, Final

import yaml

from tests.cluster.pins import ROOT
from tests.latency.figures import WITH, WITHOUT
from webhook import names

SAMPLE: Final = ROOT / "manifests/samples/vllm.yaml"
NAME: Final = "app.kubernetes.io/name"  # both objectSelectors leave out pods that carry drainhook's own
GATE: Final = f"{names.DOMAIN}/latency"  # never lifted: no scheduler and no kubelet takes the pod


def pods() -> dict[str, Any]:
    """Give both pods; they differ in the value of one label."""
    deployment = next(yaml.safe_load_all(SAMPLE.read_text()))
    template = deployment["spec"]["template"]
    return {kind: _pod(template, value) for kind, value in ((WITH, "latency"), (WITHOUT, names.SERVICE))}


def _pod(template: Any, value: str) -> Any:
    labels = {**template["metadata"]["labels"], NAME: value}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "latency-", "labels": labels},
        "spec": {**template["spec"], "schedulingGates": [{"name": GATE}]},
    }
