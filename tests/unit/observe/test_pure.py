"""What joins and judges is pure: values in, values out; only the rest of the package talks to anybody."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import webhook.observe

PURE = ("facts", "feeds", "history", "hook", "join", "record", "report")
ALLOWED = frozenset({
    "__future__", "collections", "dataclasses", "datetime", "enum", "json", "math", "re", "typing",
    "webhook.core", "webhook.names", "webhook.observe",
})  # fmt: skip


def imported(module):
    """Return what a module imports, ours by its package."""
    tree = ast.parse((Path(webhook.observe.__file__).parent / f"{module}.py").read_text("utf-8"))
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    found |= {
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }  # fmt: skip
    return found


@pytest.mark.parametrize("module", PURE)
def test_what_judges_imports_nothing_that_acts(module):
    """No clock, no network, no client, no metrics library; of its own package only what is pure as well."""
    found = imported(module)
    depth = {name: 2 if name.startswith("webhook.") else 1 for name in found}
    assert {".".join(name.split(".")[: depth[name]]) for name in found} <= ALLOWED
    own = {name.split(".")[2] for name in found if name.startswith("webhook.observe.")}
    assert own <= set(PURE)
