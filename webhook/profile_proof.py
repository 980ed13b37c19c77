"""What can be proven of a profile without its engine: a decision on a minimal pod, and patterns that are its own.

No file is read and nothing is printed here.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from webhook import names
from webhook.core.admission import decide, prove
from webhook.core.decision import Patch, Policy, Request
from webhook.core.profile import Catalog, Json, Match, Profile

OWN_IMAGE = "registry.example/own/server"


def image_of(profile: Profile) -> str:
    """Return an image that the profile's first glob matches, or one of nobody."""
    globs = profile.match.images
    return "".join("x" if sign in "*?[]" else sign for sign in globs[0]) if globs else OWN_IMAGE


def minimal_pod(profile: Profile) -> Json:
    """Return the smallest pod of this backend: the image's own entry point where an image is known."""
    container: Json = {"name": "server", "image": f"{image_of(profile)}:1"}
    if not profile.match.images and profile.match.commands:
        container["command"] = profile.match.commands[0].split()
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "proof", "labels": {names.BACKEND: profile.name}},
        "spec": {"containers": [container]},
    }


def dry_decision(profile: Profile, catalog: Catalog, policy: Policy) -> tuple[bool, str]:
    """Decide about the minimal pod; return whether a proven patch came out, and what it does or why there is none."""
    request = Request(object=minimal_pod(profile), kind="Pod")
    decision = decide(request, catalog, policy)
    reasons = ", ".join(reason for outcome in decision.outcomes for reason in outcome.reasons)
    if not isinstance(decision, Patch):
        return False, f"a minimal pod is left alone: {reasons or 'no reason'}"
    if not prove(request, decision, catalog, policy):
        return False, "the patch of a minimal pod does not apply, or a second decision is not empty"
    return True, f"a minimal pod gets a proven patch: {reasons}"


def collisions(profile: Profile, catalog: Catalog) -> list[str]:
    """Return what other profiles recognise too, so that the backend `auto` finds neither."""
    if not profile.match.auto:
        return []
    others = [other for other in catalog.profiles.values() if other.name != profile.name and other.match.auto]
    return [
        f"{text} is also that of profile {other.name}"
        for other in others
        for text in shared(profile.match, other.match)
    ]


def shared(one: Match, two: Match) -> list[str]:
    """Return the images and commands of one match that the other recognises, in either direction."""
    images = [glob for glob in one.images if any(_meet(glob, other) for other in two.images)]
    commands = [words for words in one.commands if any(_inside(words, other) for other in two.commands)]
    return [*images, *commands]


def _meet(one: str, two: str) -> bool:
    """Say whether a glob matches the plainest text of the other one."""
    return fnmatchcase(two.replace("*", ""), one) or fnmatchcase(one.replace("*", ""), two)


def _inside(one: str, two: str) -> bool:
    """Say whether all words of one stand next to each other in the other."""
    return f" {one} " in f" {two} " or f" {two} " in f" {one} "
