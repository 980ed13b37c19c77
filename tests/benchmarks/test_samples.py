"""What the benchmark sends is what it says: sizes, replicas of one template, pods of different ones."""

import json

import pytest

from tests.benchmarks import samples
from webhook.core.review import parse
from webhook.server.recall import digest


def sent(body, number):
    """Return the request of a review as the load clients write it."""
    return parse(json.loads(body.replace(samples.MARKER.encode(), f"{number:08}".encode()))).request


@pytest.mark.parametrize(("name", "size"), samples.SIZES.items())
def test_reviews_have_the_size_they_are_named_after(name, size):
    assert size <= len(samples.review(size)) < size * 1.15, name


def test_replicas_differ_but_are_decided_alike():
    one, other = (sent(samples.review(8000), number) for number in (1, 2))
    assert one.object != other.object
    assert one.uid != other.uid
    assert digest(one) == digest(other)


def test_no_two_alike_are_decided_apart():
    one, other = (sent(samples.review(8000, samples.MARKER), number) for number in (1, 2))
    assert digest(one) != digest(other)


def test_a_folder_of_manifests_holds_a_deployment_in_each_file(tmp_path):
    files = sorted(samples.write_manifests(tmp_path, 4).iterdir())
    texts = [file.read_text() for file in files]
    assert len(set(texts)) == 4
    assert all("kind: Deployment" in text and "$" not in text for text in texts)
