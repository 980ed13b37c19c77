"""The third door: `drainhook patch` and `drainhook validate`, run in this process. No claim is made here.

Cases with the same options are done in one run, as a folder of manifests would be; each takes its share of the output.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from functools import cache
from pathlib import Path

from tests.conformance.case import ROOT, all_cases
from webhook.cli.main import run

Key = tuple[str, str, str, str]
FINDING = re.compile(r".*?:(?P<line>\d+):\d+: (?P<level>\w+): (?P<message>.*) \[(?P<reason>\w+)\]")


def key_of(case) -> Key:
    """Return what a run depends on: version, sidecar, profiles, and a case of its own where a Namespace stands."""
    options = case.options
    profiles = str(case.folder / options["profiles"]) if "profiles" in options else ""
    alone = "kind: Namespace" in (case.folder / "input.yaml").read_text("utf-8") or case.is_text
    image = options.get("sidecar", {}).get("image", "")
    return options.get("kubernetes", ""), image, profiles, case.name if alone else ""


@cache
def _together() -> dict[Key, list[Path]]:
    found: dict[Key, list[Path]] = {}
    for case in all_cases():
        if "cli" in case.doors:
            found.setdefault(key_of(case), []).append(case.folder / "input.yaml")
    return found


@cache
def _output(command: str, key: Key) -> tuple[str, str]:
    kubernetes, image, profiles, _ = key
    arguments = [command, "-o", "patch" if command == "patch" else "json"]
    arguments += ["--kubernetes-version", kubernetes] if kubernetes else []
    arguments += ["--sidecar-image", image] if image else []
    arguments += ["--profiles", profiles] if profiles else []
    for file in _together()[key]:
        arguments += ["-f", str(file)]
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    assert code in {0, 1}, err.getvalue()
    return out.buffer.getvalue().decode("utf-8"), err.getvalue()


def patches(case):
    """Return the patch of each document of a case, in order."""
    lines = [json.loads(line) for line in _output("patch", key_of(case))[0].splitlines()]
    return [line for line in lines if _is_of(line["file"], case)]


def findings(case):
    """Return what `validate` finds in a case, in order."""
    return [row for row in json.loads(_output("validate", key_of(case))[0])["findings"] if _is_of(row["file"], case)]


def _is_of(file, case):
    return Path(file).resolve().relative_to(ROOT).parent.as_posix() == case.name


def text_said(case):
    """Return what is said of a manifest whose text is the point: findings with their line, and who is patched."""
    found = [FINDING.fullmatch(line) for line in _output("patch", key_of(case))[1].splitlines()]
    said = [f"{item['level']} {item['reason']} line {item['line']}: {item['message']}" for item in found]
    return {"findings": said, "patched": [f"{line['kind']}/{line['name']}" for line in patches(case) if line["patch"]]}
