"""The sidecar in the text of a manifest: `drainhook patch` writes it in, and finds nothing to do the second time."""

from __future__ import annotations

import pytest
import yaml

from tests.conformance.case import VERSION, catalog
from tests.conformance.passes import SIDECAR
from webhook.cli.documents import read
from webhook.cli.offline import Settings
from webhook.cli.patching import patch_file
from webhook.cli.sources import Source
from webhook.core.decision import Policy

SETTINGS = Settings(catalog(), Policy(VERSION, (1, 34), sidecar=SIDECAR))
LISTS = {
    "none": ("", []),
    "block": (
        "      initContainers:\n        - name: wait   # for the model\n      volumes:\n      - {name: models}\n",
        ["wait"],
    ),
    "flow": ("      initContainers: [{name: wait}]\n      volumes: [{name: models}]\n", ["wait"]),
    "empty": ("      initContainers: []\n      volumes: null\n", []),
}
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: llm}}
spec:
  template:
    metadata:
      labels: {{drainhook.dev/backend: vllm}}
      annotations: {{drainhook.dev/hook: sidecar}}
    spec:
{lists}      containers:
        # the engine
        - name: vllm
          image: vllm/vllm-openai:v0.32.0
          ports: [{{name: http, containerPort: 8000}}]
"""


def patched(text):
    """Return the file after the patch."""
    source = Source("a.yaml", text.encode(), text)
    done = patch_file(source, read(source), SETTINGS)
    assert not done.has_errors
    return done


@pytest.mark.parametrize("form", LISTS)
def test_it_is_written_behind_what_stands(form):
    lists, names = LISTS[form]
    text = patched(DEPLOYMENT.format(lists=lists)).content().decode()
    spec = yaml.safe_load(text)["spec"]["template"]["spec"]
    assert [item["name"] for item in spec["initContainers"]] == [*names, "drainhook"]
    assert spec["initContainers"][-1]["args"][:3] == ["drain", "--listen=9390", "--"]
    assert spec["volumes"][-1] == {"name": "drainhook-no-token", "downwardAPI": {}}
    assert "# the engine" in text
    assert not patched(text).is_changed
