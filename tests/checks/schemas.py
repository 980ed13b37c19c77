"""`python -m tests.checks.schemas`: every manifest that we ship or expect is valid for Kubernetes, old and new.

A conformance case may have a fault in its input on purpose; then its expected output may have that fault and no other.
Kinds without a built-in schema (custom resources) are counted and left to their own tests.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml

ROOT = Path(__file__).resolve().parents[2]
OLDEST, NEWEST = "1.28", kubernetes_validate.latest_version()
SHIPPED = ("manifests/samples/**/*.yaml", "manifests/base/**/*.yaml")
EXPECTED = "tests/conformance/cases/**/expected.yaml"


def documents(path: Path) -> Iterator[dict[str, Any]]:
    """Give the Kubernetes objects of a file, those inside a List too."""
    for document in yaml.safe_load_all(path.read_text()):
        if not isinstance(document, dict) or "kind" not in document or "apiVersion" not in document:
            continue
        if document["kind"] == "List":
            yield from document.get("items", [])
        else:
            yield document


def faults(path: Path, *versions: str) -> list[str | None]:
    """Say what is wrong with each object of a file; None stands for a custom resource, an empty text for a good one."""
    return [_fault(document, version) for document in documents(path) for version in versions]


def _fault(document: dict[str, Any], version: str) -> str | None:
    try:
        kubernetes_validate.validate(document, version, strict=True)
    except kubernetes_validate.SchemaNotFoundError:
        return None
    except kubernetes_validate.ValidationError as error:
        return f"{version}: {'.'.join(map(str, error.path))}: {error.message[:300]}"
    return ""


def main() -> int:
    """Print every fault and return 1 if there is one."""
    shipped = sorted(path for pattern in SHIPPED for path in ROOT.glob(pattern))
    found = {path: faults(path, OLDEST, NEWEST) for path in shipped}
    for path in sorted(ROOT.glob(EXPECTED)):
        # The newest only: some cases are about fields that old clusters do not have.
        known = set(faults(path.with_name("input.yaml"), NEWEST))
        found[path] = ["" if fault and fault in known else fault for fault in faults(path, NEWEST)]
    bad = [f"{path.relative_to(ROOT)} ({fault})" for path, each in found.items() for fault in each if fault]
    every = [fault for each in found.values() for fault in each]
    custom = every.count(None)
    print(
        "\n".join(
            [*bad, f"schemas: {len(every) - custom} checks, {len(bad)} faults; {custom} of custom resources left out"]
        )
    )
    return 1 if bad or len(every) == custom else 0


if __name__ == "__main__":
    sys.exit(main())
