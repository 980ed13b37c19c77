"""native: the engine's own drain flag, and why it is refused."""

from __future__ import annotations

import pytest

from tests.unit.core.engines import IMAGE, OTHER_IMAGE, OWN, profile, server
from webhook.core.decision import Finding, Level, Reason
from webhook.core.native import NativeDrain, args_place, native_drain

ADDED = NativeDrain(is_on=True, words=("--cap", "15"))


def drain(own=OWN, *, is_ours=False, **fields):
    """Ask for the flag on one container."""
    return native_drain(own, server(own, **{"image": IMAGE, **fields}), "at", is_ours=is_ours)


@pytest.mark.parametrize(
    "fields",
    [
        {"args": ["--model", "m"]},
        {"image": OTHER_IMAGE, "command": ["own"], "args": ["serve", "m"]},
        {"args": ["--api", "1"]},
        {"args": ["--api", "1", "--parallel", "2"]},
        {"args": ["--parallel", "1"]},
        {"image": "own/server", "args": ["m"]},
        {"image": "own/server:latest", "args": ["m"]},
        {"image": "own/server:v1.2", "args": ["m"]},
        {"image": "own/server:1.10.0-cuda", "args": ["m"]},
        {"image": "r.io:5000/own/server:2.0.1", "args": ["m"]},
    ],
)
def test_the_flag_is_appended_to_args_that_start_the_engine(fields):
    """One process, and a version that has the flag or is not known."""
    assert drain(**fields) == ADDED


def test_a_profile_may_know_no_first_version():
    """Then any version has the flag."""
    assert drain(profile(shutdown={"flag": "--cap"}), image="own/server:0.1.0", args=["m"]) == ADDED


def test_a_second_pass_keeps_the_flag():
    """What an earlier pass appended is in force, and nothing is appended again."""
    assert drain(args=["m", "--cap", "15"], is_ours=True) == NativeDrain(is_on=True)


NO_ARGS = "there is no args list that starts the engine: write --cap 15 yourself"
SEVERAL = "with {} above 1 the flag completed 0 of 36 requests (measured)"
OLD = "the image is older than 1.2.0, which has the flag first"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"args": ["m", "--cap", "60"]}, "the template sets --cap itself"),
        ({"args": ["m", "--cap=60"]}, "the template sets --cap itself"),
        ({}, NO_ARGS),
        ({"args": []}, NO_ARGS),
        ({"command": ["own", "serve"]}, NO_ARGS),
        ({"command": ["sh", "-c"], "args": ["own serve m"]}, NO_ARGS),
        ({"command": ["/start.sh"], "args": ["m"]}, NO_ARGS),
        ({"image": OTHER_IMAGE, "args": ["m"]}, NO_ARGS),
        ({"args": ["--api", "2"]}, SEVERAL.format("--api")),
        ({"args": ["--api=0"]}, SEVERAL.format("--api")),
        ({"args": ["--parallel", "2"]}, SEVERAL.format("--parallel")),
        ({"args": ["--parallel", "$(N)"]}, SEVERAL.format("--parallel")),
        ({"args": ["--api", "2", "--parallel", "1"]}, SEVERAL.format("--api")),
        ({"image": "own/server:v1.1.9", "args": ["m"]}, OLD),
        ({"image": "own/server:0.9", "args": ["m"]}, OLD),
    ],
)
def test_the_flag_is_refused_with_its_reason(fields, why):
    """Several processes, another start, an older image or a cap of the user's own: nothing is added."""
    finding = Finding(Reason.NATIVE_DRAIN_REFUSED, Level.WARNING, "at", why, "enabled")
    assert drain(**fields) == NativeDrain(findings=(finding,))


def test_without_a_flag_in_the_profile_it_is_refused():
    """The engine has no drain of its own."""
    found = drain(profile(shutdown={}), args=["m"])
    assert [item.message for item in found.findings] == ["the profile own has no drain flag of the engine"]


def test_a_later_single_flag_does_not_overrule_the_first():
    """Only the first flag listed, given as 1, makes one process of several."""
    own = profile(shutdown={"flag": "--cap", "single": ["--api", "--parallel", "--more"]})
    assert drain(own, args=["--parallel", "1", "--more", "2"]).is_on is False


def test_a_version_of_any_length_is_no_error():
    """A tag of five thousand digits is no version."""
    assert drain(image=f"own/server:{'9' * 5000}.1", args=["m"]) == ADDED


def test_the_place_of_args():
    """It is the field path that the status keeps."""
    assert args_place(server(image=IMAGE)) == "spec.containers[0].args"
