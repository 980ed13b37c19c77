"""names: every label, annotation, path, header and port is spelled once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import webhook
from webhook import names

ROOT = Path(webhook.__file__).parent
SOURCES = sorted(path for path in ROOT.rglob("*.py") if path.name != "names.py")
KEYS = {key: value for key, value in vars(names).items() if key.isupper() and isinstance(value, str) and "/" in value}
NAMES = re.escape(names.DOMAIN) + "|" + "|".join(
    re.escape(text)
    for text in (names.HOOK_HEADER, names.SYSTEM_NAMESPACE, names.MIRROR_POD, *names.OS_LABELS)
)  # fmt: skip
NUMBERS = {names.LOCAL_PORT, names.CONTAINER_PORT, names.METRICS_PORT, names.SIDECAR_PORT}
PATHS = {names.MUTATE_PATH, names.VALIDATE_PATH, names.HEALTHZ_PATH, names.READYZ_PATH, names.SIDECAR_PATH}
# The paths of the middleware are those of users' own servers; alike by custom, and it imports nothing of the webhook's.
OWN_PATHS = ROOT / "drainable"


def named(path):
    """Return a file's name below the package, for the test's id."""
    return str(path.relative_to(ROOT))


def constants(path):
    """Return every literal of a source file."""
    return [node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant)]


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_no_key_is_spelled_twice(path):
    """Another spelling would be another key; docstrings and comments count, since they age."""
    assert re.findall(rf".*(?:{NAMES}).*", path.read_text("utf-8")) == []


@pytest.mark.parametrize("path", [path for path in SOURCES if path.parent != OWN_PATHS], ids=named)
def test_no_port_or_path_is_spelled_twice(path):
    """The server, its manifests and its documents take them from one place."""
    assert [value for value in constants(path) if isinstance(value, int | str) and value in NUMBERS | PATHS] == []


def test_our_keys_stand_below_our_domain():
    """A key of ours is recognised by its domain alone."""
    ours = [value for key, value in KEYS.items() if not key.endswith("_PATH") and key != "MIRROR_POD"]
    assert [value for value in ours if not re.fullmatch(rf"{re.escape(names.DOMAIN)}/[a-z][a-z-]*[a-z]", value)] == []


def test_the_public_names_are_those_of_the_contract():
    """They are a promise: to change one breaks what users wrote."""
    assert {key: value for key, value in KEYS.items() if value.startswith(names.DOMAIN)} == {
        "BACKEND": "drainhook.dev/backend",
        "INJECT": "drainhook.dev/inject",
        "CONTAINER": "drainhook.dev/container",
        "PORT": "drainhook.dev/port",
        "SETTLE": "drainhook.dev/settle-seconds",
        "DRAIN": "drainhook.dev/drain-seconds",
        "RESERVE": "drainhook.dev/reserve-seconds",
        "GRACE": "drainhook.dev/grace-period-seconds",
        "HOOK": "drainhook.dev/hook",
        "EXISTING_HOOK": "drainhook.dev/existing-hook",
        "READINESS": "drainhook.dev/readiness",
        "NATIVE_DRAIN": "drainhook.dev/native-drain",
        "IMAGE_TOOLS": "drainhook.dev/image-tools",
        "ELASTIC_CONFIG": "drainhook.dev/elastic-config",
        "STATUS": "drainhook.dev/status",
    }
