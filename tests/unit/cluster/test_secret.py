"""The Secret: one CA for all replicas, a server certificate that is valid, and nothing of others overwritten."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from webhook.certificates import describe, issue_ca, issue_leaf, service_names
from webhook.cluster.client import ClusterError
from webhook.cluster.secret import Identity, Place, ensure, leaf_fault
from webhook.pair import Pair

NOW = datetime(2030, 1, 1, tzinfo=UTC)
PLACE = Place("ns", "drainhook-tls", service_names("hook", "ns"))
CA = issue_ca(NOW)


def data(ca, leaf):
    """Return the data of a Secret."""
    parts = {"ca.crt": ca.certificate, "ca.key": ca.key, "tls.crt": leaf.certificate, "tls.key": leaf.key}
    return {key: base64.b64encode(value).decode() for key, value in parts.items()}


def leaf(**options):
    """Issue a server certificate for the Service."""
    return issue_leaf(options.pop("ca", CA), options.pop("names", PLACE.names), options.pop("now", NOW), **options)


def store(api, parts):
    """Put a Secret with extra content into the cluster."""
    api.add(PLACE.path, {"metadata": {"name": PLACE.name, "labels": {"kept": "yes"}}, "data": parts, "type": "Opaque"})


def test_the_first_one_makes_ca_and_certificate(api):
    """The Secret holds what was returned, of the type that other tools know."""
    identity, done = ensure(api.session(), PLACE, NOW)
    stored = api.objects[PLACE.path]

    assert (done, stored["type"], stored["data"]) == ("made", "kubernetes.io/tls", data(identity.ca, identity.leaf))
    assert describe(identity.leaf.certificate, identity.ca.certificate).trusted is True
    assert describe(identity.leaf.certificate).names == PLACE.names


def test_the_second_one_uses_it(api):
    """Nothing is written again."""
    first, _ = ensure(api.session(), PLACE, NOW)
    second, done = ensure(api.session(), PLACE, NOW + timedelta(days=100))

    assert (second, done) == (first, "used")
    assert api.writes() == [("POST", PLACE.collection)]


def test_replicas_that_start_at_once_agree(api):
    """Each CA of its own would make the API server trust one replica only (T5)."""
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: ensure(api.session(), PLACE, NOW)[0], range(6)))
    assert found == [found[0]] * 6


def test_a_lost_race_takes_the_winners(api):
    """The other replica writes between our look and our creation."""
    api.before("POST", PLACE.collection, lambda: store(api, data(CA, leaf())))
    identity, done = ensure(api.session(), PLACE, NOW)

    assert (identity.ca, done) == (CA, "used")


def test_a_lost_race_for_the_renewal_takes_the_winners(api):
    """The resourceVersion makes the API server refuse the later one."""
    store(api, data(CA, leaf(now=NOW - timedelta(days=300))))
    winner = leaf()
    api.before("PUT", PLACE.path, lambda: store(api, data(CA, winner)))

    assert ensure(api.session(), PLACE, NOW) == (Identity(CA, winner), "used")


@pytest.mark.parametrize(
    ("old", "why"),
    [
        (lambda: leaf(now=NOW - timedelta(days=366)), "two thirds of its life are over"),
        (lambda: leaf(now=NOW - timedelta(days=244)), "two thirds of its life are over"),
        (lambda: leaf(names=["hook"]), "it lacks a name of the Service"),
        (lambda: leaf(ca=issue_ca(NOW)), "certificate, key and CA do not belong together"),
        (lambda: Pair(leaf().certificate, leaf().key), "certificate, key and CA do not belong together"),
        (lambda: Pair(b"no PEM", leaf().key), "The text holds no PEM certificate that can be read."),
    ],
)
def test_a_certificate_that_cannot_be_served_long_is_replaced(api, old, why):
    """By one of the same CA, so that the caBundle stays right; what else is in the Secret stays."""
    store(api, {**data(CA, old()), "other": "eA=="})
    identity, done = ensure(api.session(), PLACE, NOW)

    assert (done, identity.ca, leaf_fault(identity, PLACE.names, NOW)) == (f"replaced ({why})", CA, "")
    stored = api.objects[PLACE.path]
    assert stored["data"] == {**data(CA, identity.leaf), "other": "eA=="}
    assert (stored["metadata"]["labels"], stored["type"]) == ({"kept": "yes"}, "Opaque")


@pytest.mark.parametrize("days", [0, 243])
def test_a_certificate_in_its_first_two_thirds_is_used(days):
    """365 days and the hour that it is dated back."""
    identity = Identity(CA, leaf(now=NOW - timedelta(days=days)))
    assert leaf_fault(identity, PLACE.names, NOW) == ""


def test_a_ca_that_has_ended_is_replaced(api):
    """Nothing that it signs would be trusted."""
    old = issue_ca(NOW - timedelta(days=4000))
    store(api, data(old, leaf(ca=old, now=NOW - timedelta(days=3999))))
    identity, done = ensure(api.session(), PLACE, NOW)

    assert done == "replaced (its CA has ended)"
    assert leaf_fault(identity, PLACE.names, NOW) == ""


def test_a_damaged_ca_key_is_replaced_with_its_ca(api):
    """A Secret edited by hand must not stop the webhook for good."""
    store(api, {**data(CA, leaf(names=["hook"])), "ca.key": "AAAA"})
    identity, _ = ensure(api.session(), PLACE, NOW)
    assert identity.ca != CA


def test_an_empty_secret_made_beforehand_is_filled(api):
    """Who may not grant `create` makes it so."""
    api.add(PLACE.path, {"metadata": {"name": PLACE.name}})
    identity, done = ensure(api.session(), PLACE, NOW)
    assert (done, api.objects[PLACE.path]["data"]) == ("made", data(identity.ca, identity.leaf))


def test_a_certificate_of_somebody_else_is_used_and_never_replaced(api):
    """Without the CA's key the Secret is another tool's."""
    foreign = {key: value for key, value in data(CA, leaf()).items() if key != "ca.key"}
    store(api, foreign)
    assert ensure(api.session(), PLACE, NOW)[1] == "used"
    with pytest.raises(ClusterError, match="renew it where it came from"):
        ensure(api.session(), PLACE, NOW + timedelta(days=300))
    assert api.writes() == []


def test_a_secret_that_changes_all_the_time_is_said(api):
    """No replica may try for ever."""
    store(api, data(CA, leaf(names=["hook"])))
    api.refuse("PUT", PLACE.path, *[(409, "stale")] * 100)
    with pytest.raises(ClusterError, match="who else writes it"):
        ensure(api.session(), PLACE, NOW)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_forbidden_is_said(api, method):
    """In the API server's words."""
    api.refuse(method, PLACE.path if method == "GET" else PLACE.collection, (403, "secrets is forbidden"))
    with pytest.raises(ClusterError, match="secrets is forbidden"):
        ensure(api.session(), PLACE, NOW)
