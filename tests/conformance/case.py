"""A case: a folder that holds a manifest, what decides beside it, and what must come out. Nothing is decided here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import yaml

from webhook.catalog import load
from webhook.core.decision import Policy, Rule, Sidecar

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
ROOT = Path(__file__).parent / "cases"
VERSION = "0.0.0"
DOORS = ("core", "http", "cli")
OPTIONS = {"kubernetes", "rules", "profiles", "operation", "old", "deny_pods", "sidecar", "as_is", "doors", "why"}


@cache
def catalog(folder: Path | None = None):
    """Return the shipped catalog, or the one with a case's own profiles on top."""
    return load([folder] if folder else [])[0]


@dataclass(frozen=True)
class Case:
    """One behaviour. `options.yaml` may say: version, rules, sidecar, profiles, operation and old object, doors."""

    folder: Path

    @property
    def name(self):
        return self.folder.relative_to(ROOT).as_posix()

    @cached_property
    def options(self):
        file = self.folder / "options.yaml"
        return yaml.safe_load(file.read_text("utf-8")) if file.exists() else {}

    @property
    def doors(self):
        return tuple(self.options.get("doors", DOORS))

    @property
    def is_text(self):
        """Say whether the text of the manifest is the point: only the command line reads texts."""
        return self.doors == ("cli",)

    @cached_property
    def documents(self):
        text = (self.folder / "input.yaml").read_text("utf-8")
        return [value for value in yaml.load_all(text, Loader=LOADER) if value]

    @cached_property
    def old(self):
        """The object before an UPDATE, or None."""
        return yaml.safe_load((self.folder / "old.yaml").read_text("utf-8")) if "old" in self.options else None

    @cached_property
    def expected(self):
        return yaml.load((self.folder / "expected.yaml").read_text("utf-8"), Loader=LOADER)  # noqa: S506  # a safe one

    @property
    def catalog(self):
        return catalog(self.folder / self.options["profiles"] if "profiles" in self.options else None)

    @property
    def policy(self):
        version = self.options.get("kubernetes")
        return Policy(
            VERSION,
            tuple(int(part) for part in version.split(".")) if version else None,
            tuple(Rule(**_snake(rule)) for rule in self.options.get("rules", ())),
            deny_pods=self.options.get("deny_pods", False),
            sidecar=Sidecar(**_snake(self.options["sidecar"])) if "sidecar" in self.options else None,
        )

    def write(self, expected):
        text = yaml.safe_dump(expected, sort_keys=False, width=118, allow_unicode=True)
        (self.folder / "expected.yaml").write_text(text, "utf-8")


def _snake(rule):
    return {re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", key): value for key, value in rule.items()}


@cache
def all_cases():
    """Return every case; a folder without an input is found by test_complete."""
    return [Case(file.parent) for file in sorted(ROOT.glob("*/*/input.yaml"))]
