"""The hook that drainhook itself gives a llama.cpp pod, made to run beside the real server instead of in its container.

Nothing is built by hand: the command comes out of decide(), and only where it logs and records is changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonpatch

from demo.kubelet import Hook
from demo.story import localise
from webhook import names
from webhook.catalog import load
from webhook.core.admission import decide
from webhook.core.decision import Patch, Policy, Request

CATALOG, _ = load()
PROFILE = CATALOG.profiles["llamacpp"]


def admitted(args: list[str], settle: int, drain: int) -> dict[str, Any]:
    """Give a labelled pod with these arguments and budgets as the API server stores it after our patch."""
    plain = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "llama",
            "labels": {names.BACKEND: PROFILE.name},
            "annotations": {names.SETTLE: str(settle), names.DRAIN: str(drain)},
        },
        "spec": {
            "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "server", "image": "ghcr.io/ggml-org/llama.cpp:server", "args": args}],
        },
    }
    decision = decide(Request(object=plain), CATALOG, Policy(version="test"))
    assert isinstance(decision, Patch)
    patched: dict[str, Any] = jsonpatch.apply_patch(plain, list(decision.operations))
    return patched


class HookHere:
    """The hook of one pod: `hook` to run, `grace` of the pod, `record()` for what it wrote at its end."""

    def __init__(self, port: int, folder: Path, *flags: str, settle: int = 1, drain: int = 27) -> None:
        """Admit a pod that serves on `port` with these flags, and take its hook."""
        spec = admitted(["--model", "model.gguf", "--port", str(port), *flags], settle, drain)["spec"]
        command = spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
        self._record = folder / "record"
        self.log = folder / "log"
        self.grace: int = spec["terminationGracePeriodSeconds"]
        self.hook = Hook(localise(command, self.log, self._record))

    def hurried(self, drain: int) -> Hook:
        """Give the same hook with less time to drain than decide() ever gives, since grace is never below 30."""
        words = [f"drain={drain}" if word.startswith("drain=") else word for word in self.hook.command]
        return Hook(words)

    def with_environment(self, environment: Mapping[str, str]) -> Hook:
        """Give the hook in a container that has these variables."""
        return Hook(self.hook.command, environment)

    def record(self) -> dict[str, Any]:
        """Read the termination message; its last line is the newest."""
        found: dict[str, Any] = json.loads(self._record.read_text().splitlines()[-1])
        return found
