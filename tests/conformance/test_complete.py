"""The cases are complete: each profile, reason, kind, override and rung has one, and no folder is left half done."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.conformance.case import OPTIONS, ROOT, all_cases
from tests.conformance.doors import finding
from webhook import names
from webhook.catalog import load
from webhook.core.decision import Reason
from webhook.core.overrides import KNOWN_KEYS
from webhook.core.workload import KINDS, kind_of

FOLDERS = sorted(path for path in ROOT.glob("*/*") if path.is_dir())
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@cache
def documents():
    return [document for case in all_cases() if not case.is_text for document in case.expected["documents"]]


def statuses():
    return [item["status"] for document in documents() for item in document["templates"] if "status" in item]


def said_reasons():
    """Return every key that some expectation holds, as a reason of a template or as a finding."""
    for document in documents():
        for item in document["templates"]:
            yield from item["reasons"]
        for text in (*document.get("findings", ()), *document["validate"].get("also", ())):
            yield str(finding(text).reason)
    for case in all_cases():
        if case.is_text:
            yield from (text.split(" ", 2)[1] for text in case.expected["findings"])


@pytest.mark.parametrize("profile", sorted(load()[0].profiles))
def test_each_profile_has_a_topic_and_a_case(profile):
    assert (ROOT / profile).is_dir()
    assert profile in {status["profile"] for status in statuses()}


def test_each_reason_has_a_case():
    assert {str(reason) for reason in Reason} - set(said_reasons()) == set()


@pytest.mark.parametrize("rung", ["exec", "http", "sidecar", "sleep", "none", "kept"])
def test_each_rung_has_a_case(rung):
    assert rung in {status["hook"] for status in statuses()}


def test_each_kind_of_the_table_has_a_case():
    objects = [document for case in all_cases() if not case.is_text for document in case.documents]
    objects += [item for document in objects for item in document.get("items", ())]
    assert set(KINDS) - {kind_of(item) for item in objects} == set()


@pytest.mark.parametrize("key", [key for key in KNOWN_KEYS if key != names.ELASTIC_CONFIG])
def test_each_annotation_has_a_case(key):
    assert any(f"{key}:" in (case.folder / "input.yaml").read_text("utf-8") for case in all_cases())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(ROOT).as_posix())
def test_folder_holds_what_a_case_needs_and_nothing_else(folder):
    files = {path.name for path in folder.iterdir()}
    assert {"input.yaml", "expected.yaml"} <= files
    assert files <= {"input.yaml", "expected.yaml", "options.yaml", "old.yaml", "profiles"}
    (case,) = (case for case in all_cases() if case.folder == folder)
    assert set(case.options) <= OPTIONS
    assert ("old.yaml" in files) == ("old" in case.options)
    assert ("profiles" in files) == ("profiles" in case.options)
    assert ("why" in case.options) == ("doors" in case.options), "a door that is left out needs a reason"
    assert all(path.suffix == ".yaml" for path in folder.glob("profiles/*"))


def test_no_stray_files():
    assert all(path.is_dir() and any(path.iterdir()) for path in ROOT.iterdir())
    assert all(path.is_dir() for path in ROOT.glob("*/*"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(ROOT).as_posix())
def test_name_reads_as_a_claim(folder):
    assert NAME.fullmatch(folder.parent.name)
    assert NAME.fullmatch(folder.name)
    assert "-" in folder.name
