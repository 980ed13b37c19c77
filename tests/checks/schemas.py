"""`python -m tests.checks.schemas`: every manifest that we ship or expect is valid for Kubernetes, old and new.

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
PATTERNS = (
    "manifests/samples/**/*.yaml",
    "manifests/base/**/*.yaml",
    "tests/conformance/cases/**/input.yaml",
    "tests/conformance/cases/**/expected.yaml",
)
VERSIONS = ("1.28", "1.34")


def documents(path: Path) -> Iterator[dict[str, Any]]:
    """Give the Kubernetes objects of a file, those inside a List too."""
    for document in yaml.safe_load_all(path.read_text()):
        if not isinstance(document, dict) or "kind" not in document or "apiVersion" not in document:
            continue
        if document["kind"] == "List":
            yield from document.get("items", [])
        else:
            yield document


def fault(document: dict[str, Any], version: str) -> str | None:
    """Say what is wrong with an object, None when nothing is. Raises SchemaNotFoundError for custom resources."""
    try:
        kubernetes_validate.validate(document, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return f"{'.'.join(map(str, error.path))}: {error.message}"
    return None


def main() -> int:
    """Print every fault and return 1 if there is one."""
    checked = custom = 0
    faults = []
    for path in sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern)):
        for document in documents(path):
            try:
                found = {version: fault(document, version) for version in VERSIONS}
            except kubernetes_validate.SchemaNotFoundError:
                custom += 1
                continue
            checked += 1
            faults += [f"{path.relative_to(ROOT)} ({version}): {what}" for version, what in found.items() if what]
    print("\n".join([*faults, f"schemas: {checked} objects, {len(faults)} faults; {custom} custom resources left out"]))
    return 1 if faults or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
