"""`python -m tests.checks.schemas`: every manifest that we ship, and every object that a case's patch makes, is valid.

A case whose input has a fault on purpose says nothing here. Kinds without a built-in schema (custom resources) are
counted and left to their own tests.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml

from tests.cluster.pins import KUBERNETES
from tests.cluster.places import Places
from tests.conformance.case import Case, all_cases
from webhook.cli.offline import namespaces_of
from webhook.core.admission import decide
from webhook.core.decision import Patch, Request
from webhook.core.hook import ASSUMED_KUBERNETES
from webhook.core.patch import apply

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = (
    "manifests/samples/**/*.yaml",
    "manifests/base/**/*.yaml",
    "manifests/overlays/**/*.yaml",
    "manifests/observe/**/*.yaml",
    "examples/llm-server/*.yaml",
)
NEWEST = tuple(int(part) for part in kubernetes_validate.latest_version().split(".")[:2])


@dataclass(slots=True)
class Tally:
    """What was checked, and each fault as a line."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def check(self, where: str, document: Any, version: tuple[int, ...]) -> None:
        """Check one object against the schemas of a cluster version."""
        fault = _fault(document, version)
        self.counts["checked" if fault is not None else "custom"] += 1
        if fault:
            self.faults.append(f"{where} ({'.'.join(map(str, version))}): {fault}")


def _fault(document: Any, version: tuple[int, ...]) -> str | None:
    """Say what is wrong with an object; empty for nothing, None for a kind without a schema."""
    try:
        kubernetes_validate.validate(document, ".".join(map(str, min(version, NEWEST))), strict=True)
    except kubernetes_validate.SchemaNotFoundError:
        return None
    except kubernetes_validate.InvalidSchemaError:
        return "no kind or apiVersion"
    except kubernetes_validate.ValidationError as error:
        return f"{'.'.join(map(str, error.path))}: {error.message[:300]}"
    return ""


def check_shipped(tally: Tally) -> None:
    """Check the manifests of the repository for the oldest supported version and the newest."""
    overlays = sorted(path.parent for path in ROOT.glob("manifests/overlays/*/kustomization.yaml"))
    patches = {folder / patch["path"] for folder in overlays for patch in _kustomization(folder).get("patches", ())}
    texts = {
        path: path.read_text() for pattern in SHIPPED for path in sorted(ROOT.glob(pattern)) if path not in patches
    }
    kubectl = _kubectl()
    if kubectl is None:
        print("schemas: patches of overlays are left out, they are whole only when built; kubectl is missing")
    else:
        texts |= {folder: _built(kubectl, folder) for folder in overlays}
    for path, text in texts.items():
        for document in yaml.safe_load_all(text):
            for version in (ASSUMED_KUBERNETES, NEWEST):
                tally.check(str(path.relative_to(ROOT)), document, version)


def _kustomization(folder: Path) -> Any:
    return yaml.safe_load((folder / "kustomization.yaml").read_text())


def _kubectl() -> str | None:
    """Find a kubectl: that of the test cluster, else one on PATH; neither needs a cluster for this."""
    return shutil.which("kubectl", path=Places.of().binaries(KUBERNETES)) or shutil.which("kubectl")


def _built(kubectl: str, overlay: Path) -> str:
    """Give what `kubectl apply -k` would send."""
    return subprocess.run([kubectl, "kustomize", overlay], capture_output=True, text=True, check=True).stdout


def check_case(tally: Tally, case: Case) -> None:
    """Check what the patches of a case make, for the version that the case decides for."""
    version = case.policy.kubernetes or ASSUMED_KUBERNETES
    for before, after in patched(case):
        for old, new in zip(_members(before), _members(after), strict=True):
            if _fault(old, version):
                tally.counts["faulty on purpose"] += 1
            else:
                tally.check(case.name, new, version)


def patched(case: Case) -> Iterator[tuple[Any, Any]]:
    """Give each document of a case that is patched, before and after."""
    namespaces = namespaces_of(case.documents)
    for document in case.documents:
        metadata = document.get("metadata") if isinstance(document.get("metadata"), dict) else {}
        namespace = str(metadata.get("namespace", "default"))
        labels, annotations = namespaces.get(namespace, ({}, {}))
        request = Request(document, namespace, labels=labels, annotations=annotations)
        decision = decide(request, case.catalog, case.policy)
        if isinstance(decision, Patch):
            yield document, apply(document, decision.operations)


def _members(document: Any) -> list[Any]:
    return document["items"] if str(document.get("kind", "")).endswith("List") else [document]


def main() -> int:
    """Print every fault and return 1 if there is one, or if nothing was checked."""
    tally = Tally()
    check_shipped(tally)
    for case in all_cases():
        if not case.is_text:
            check_case(tally, case)
    counts = ", ".join(f"{count} {what}" for what, count in sorted(tally.counts.items()))
    print("\n".join([*tally.faults, f"schemas: {counts}; {len(tally.faults)} faults"]))
    return 1 if tally.faults or not tally.counts["checked"] else 0


if __name__ == "__main__":
    sys.exit(main())
