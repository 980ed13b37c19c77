"""What each layer may import: the core is pure, and only `cluster/` knows the kubernetes client."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import webhook

ROOT = Path(webhook.__file__).parent
CORE = sorted((ROOT / "core").rglob("*.py"))
OTHERS = sorted(path for path in ROOT.rglob("*.py") if "cluster" not in path.relative_to(ROOT).parts)
PURE = frozenset({
    "__future__", "base64", "collections", "dataclasses", "difflib", "enum", "fnmatch", "functools", "itertools",
    "json", "re", "typing",
})  # fmt: skip
IMPURE_CALLS = frozenset({"print", "open", "input", "eval", "exec", "compile", "__import__", "breakpoint", "globals"})


def named(path):
    """Return a file's name below the package, for the test's id."""
    return str(path.relative_to(ROOT))


def imports(path):
    """Yield the full name of everything that a file imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", CORE, ids=named)
def test_the_core_imports_itself_names_and_pure_modules_alone(path):
    """No clock, environment, network, logging, chance, file or client: values in, values out."""
    allowed = ("webhook.core.", "webhook.names", *(f"{module}." for module in PURE))
    assert [name for name in imports(path) if not f"{name}.".startswith(allowed)] == []


@pytest.mark.parametrize("path", CORE, ids=named)
def test_the_core_calls_nothing_impure(path):
    """It neither prints nor reads."""
    calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    assert {call.id for call in calls if isinstance(call, ast.Name)} & IMPURE_CALLS == set()


def test_the_pure_modules_are_pythons_own():
    """The core needs nothing installed."""
    assert set(sys.stdlib_module_names) >= PURE


@pytest.mark.parametrize("path", OTHERS, ids=named)
def test_only_the_cluster_layer_imports_the_kubernetes_client(path):
    """It takes a second to import, and nothing offline may need it."""
    assert [name for name in imports(path) if name.split(".")[0] == "kubernetes"] == []


@pytest.mark.parametrize("path", [ROOT / "names.py", *CORE], ids=named)
def test_every_module_says_what_lives_in_it(path):
    """The first line is a docstring."""
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))
