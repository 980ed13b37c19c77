"""What is proven of a profile without its engine."""

from dataclasses import replace

import pytest

from webhook.catalog import load
from webhook.core.command import is_image
from webhook.core.decision import Policy
from webhook.core.profile import Match
from webhook.profile_proof import OWN_IMAGE, collisions, dry_decision, image_of, minimal_pod, shared

CATALOG, _ = load()
POLICY = Policy(version="0")


@pytest.mark.parametrize("name", CATALOG.profiles)
def test_a_minimal_pod_of_every_shipped_profile_gets_a_proven_patch(name):
    holds, text = dry_decision(CATALOG.profiles[name], CATALOG, POLICY)

    assert holds, text
    assert text.startswith("a minimal pod gets a proven patch: ")
    assert "grace_raised" in text


def test_a_pod_that_is_left_alone_proves_nothing():
    vllm = CATALOG.profiles["vllm"]
    stranger = replace(vllm, name="unheard-of")

    assert dry_decision(stranger, CATALOG, POLICY) == (False, "a minimal pod is left alone: unknown_backend")


@pytest.mark.parametrize("name", CATALOG.profiles)
def test_the_image_of_the_minimal_pod_is_the_profile_s(name):
    profile = CATALOG.profiles[name]
    image = image_of(profile)

    assert is_image(f"{image}:1", profile.match.images) or image == OWN_IMAGE


def test_a_profile_without_images_is_proven_by_its_command():
    container = minimal_pod(CATALOG.profiles["fastapi"])["spec"]["containers"][0]

    assert container == {"name": "server", "image": f"{OWN_IMAGE}:1", "command": ["uvicorn"]}


@pytest.mark.parametrize("name", CATALOG.profiles)
def test_no_two_shipped_profiles_recognise_the_same(name):
    assert collisions(CATALOG.profiles[name], CATALOG) == []


def test_a_copy_under_another_name_collides_unless_auto_leaves_it_out():
    vllm = CATALOG.profiles["vllm"]
    copy = replace(vllm, name="vllm-long")
    quiet = replace(copy, match=replace(copy.match, auto=False))

    assert collisions(copy, CATALOG) == [
        f"{text} is also that of profile vllm" for text in shared(vllm.match, vllm.match)
    ]
    assert collisions(quiet, CATALOG) == []


@pytest.mark.parametrize(
    ("one", "two", "found"),
    [
        (Match(("*vllm*",), ()), Match(("*vllm/vllm-openai*",), ()), ["*vllm*"]),
        (Match(("*vllm/vllm-openai*",), ()), Match(("*vllm*",), ()), ["*vllm/vllm-openai*"]),
        (Match(("*a/b",), ()), Match(("*a/c",), ()), []),
        (Match((), ("serve",)), Match((), ("vllm serve",)), ["serve"]),
        (Match((), ("vllm serve",)), Match((), ("serve",)), ["vllm serve"]),
        (Match((), ("llm serve",)), Match((), ("vllm serve",)), []),
    ],
)
def test_shared_patterns_are_found_in_both_directions(one, two, found):
    assert shared(one, two) == found
