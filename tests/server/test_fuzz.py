"""Whatever bytes come in: a 4xx, or a well-formed review with the uid. Never a 500, never a patch that fails."""

from __future__ import annotations

import copy
import json

import jsonpatch
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.reviews import JSON, V1, faulty_deployment, operations, pod, review, well_formed

QUICK, THOROUGH = 150, 5000
PATHS = st.sampled_from(["/mutate", "/validate"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("metadata", "spec", "containers", "lifecycle", "preStop", "annotations", "labels", "ports", "env", "name")
VERSIONS = (V1, "admission.k8s.io/v1beta1")


def places(node, at=()):
    """List the path of every value inside."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [at] * bool(at) + [place for key, value in inner for place in places(value, (*at, key))]


@st.composite
def reviews(draw):
    """Take a good review, and put something else in up to four of its places."""
    body = review(
        copy.deepcopy(draw(st.sampled_from([pod(), faulty_deployment()]))), version=draw(st.sampled_from(VERSIONS))
    )
    for _ in range(draw(st.integers(0, 4))):
        *parents, last = draw(st.sampled_from(places(body)))
        node = body
        for key in parents:
            node = node[key]
        if isinstance(node, dict) and draw(st.booleans()):
            last = draw(st.sampled_from(KEYS) | st.text(max_size=8))
        node[last] = draw(VALUES | st.just(pod()["spec"]))
    return body


def check(answer, body):
    """Check one answer against what was sent; `body` is None where it was no review."""
    assert answer.status_code == 200 or 400 <= answer.status_code < 500
    if answer.status_code != 200:
        assert answer.text
        return
    response = well_formed(answer.json(), body["request"]["uid"], body["apiVersion"])
    if "patch" in response:
        jsonpatch.apply_patch(body["request"]["object"], operations(response))


def quick_and_slow(test):
    """Run a law with few examples always, with many in the slow run."""
    options = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]}
    runs = [pytest.param(QUICK, id="quick"), pytest.param(THOROUGH, id="thorough", marks=pytest.mark.slow)]

    @pytest.mark.parametrize("examples", runs)
    def run(server, examples):
        with server.client() as client:
            settings(max_examples=examples, **options)(given(data=st.data())(lambda data: test(client, data)))()

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    return run


@quick_and_slow
def test_any_bytes_are_answered(client, data):
    """Raw bytes, and bytes that are JSON but no review."""
    body = data.draw(st.binary(max_size=200) | VALUES.map(lambda value: json.dumps(value).encode()))

    answer = client.post(data.draw(PATHS), content=body, headers=JSON)

    assert answer.status_code == 400


@quick_and_slow
def test_any_review_is_answered(client, data):
    """Good reviews with up to four places broken."""
    body = data.draw(reviews())

    check(client.post(data.draw(PATHS), content=json.dumps(body), headers=JSON), body)


@quick_and_slow
def test_any_cut_of_a_review_is_answered(client, data):
    """A review that ends too early, or has a byte changed."""
    body = bytearray(json.dumps(review(pod())).encode())
    place = data.draw(st.integers(0, len(body) - 1))
    body[place] = data.draw(st.integers(0, 255))
    cut = bytes(body[: data.draw(st.integers(place, len(body)))])

    answer = client.post(data.draw(PATHS), content=cut, headers=JSON)

    assert answer.status_code in {200, 400}
