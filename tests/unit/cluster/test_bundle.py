"""The CA in the webhook configurations: every entry, only where it differs, nothing else."""

from __future__ import annotations

import base64
import copy

import pytest

from webhook.cluster.bundle import GROUP, KINDS, set_bundle
from webhook.cluster.client import ClusterError

CA = b"a certificate"
BUNDLE = base64.b64encode(CA).decode()
PATHS = [f"{GROUP}/{kind}/hook" for kind in KINDS]


def configuration(*bundles):
    """Return a configuration with one entry per bundle; None for an entry without one."""
    entries = [
        {"name": f"{index}.example.dev", "clientConfig": {"service": {"name": "s"}}, "tomorrow": 1}
        for index, _ in enumerate(bundles)
    ]
    for entry, bundle in zip(entries, bundles, strict=True):
        if bundle is not None:
            entry["clientConfig"]["caBundle"] = bundle
    return {"metadata": {"name": "hook"}, "webhooks": entries}


def store(api, mutating, validating):
    """Put both configurations into the cluster."""
    for path, obj in zip(PATHS, (mutating, validating), strict=True):
        api.add(path, obj)


def test_every_entry_gets_it(api):
    """Without one, with another one, and beside one that has it already."""
    store(api, configuration(None, "old", BUNDLE), configuration(None))
    before = copy.deepcopy([api.objects[path]["webhooks"] for path in PATHS])

    assert set_bundle(api.session(), "hook", CA) == list(KINDS)
    for entry in (entry for entries in before for entry in entries):
        entry["clientConfig"]["caBundle"] = BUNDLE
    assert [api.objects[path]["webhooks"] for path in PATHS] == before


def test_nothing_is_written_where_it_is_right(api):
    """Every write would wake everything that watches."""
    store(api, configuration(BUNDLE, BUNDLE), configuration("old"))

    assert set_bundle(api.session(), "hook", CA) == [KINDS[1]]
    assert api.writes() == [("PATCH", PATHS[1])]


def test_entries_that_moved_meanwhile_are_not_mixed_up(api):
    """The patch counts entries, so it tests their names."""
    store(api, configuration("old"), configuration(BUNDLE))
    moved = configuration("theirs", "old")
    moved["webhooks"][0]["name"] = "new.example.dev"
    api.before("PATCH", PATHS[0], lambda: api.add(PATHS[0], moved))
    with pytest.raises(ClusterError) as caught:
        set_bundle(api.session(), "hook", CA)

    assert caught.value.status == 422
    assert api.objects[PATHS[0]]["webhooks"] == moved["webhooks"]


def test_a_configuration_that_is_not_there_is_said(api):
    """It may come a moment later: the caller tries again."""
    with pytest.raises(ClusterError, match="not found"):
        set_bundle(api.session(), "hook", CA)
