"""container: which one is the server, and which one surely is not."""

from __future__ import annotations

import pytest

from tests.unit.core.engines import CATALOG, IMAGE, OTHER_IMAGE, OWN, catalog, container, pod, profile, server
from webhook.core.container import choose, detect, is_other, read
from webhook.core.decision import Reason

BY_COMMAND = {"image": OTHER_IMAGE, "command": ["own", "serve", "m"]}
BY_IMAGE = {"image": IMAGE, "args": ["--port", "1"]}
FOREIGN = {"image": IMAGE, "command": ["/start.sh"]}
UNKNOWN = {"image": OTHER_IMAGE}


def servers(*containers):
    """Read containers against the invented engine."""
    return read({"spec": {"containers": [{"name": f"c{at}", **item} for at, item in enumerate(containers)]}}, OWN)


@pytest.mark.parametrize(
    ("fields", "by_command", "by_image", "is_proven", "is_foreign"),
    [
        (BY_COMMAND, True, False, True, False),
        (BY_IMAGE, False, True, True, False),
        ({**BY_COMMAND, "image": IMAGE}, True, True, True, False),
        (FOREIGN, False, True, False, True),
        ({"image": IMAGE, "args": ["python3", "app.py"]}, False, True, False, True),
        (UNKNOWN, False, False, False, False),
        ({"image": OTHER_IMAGE, "command": ["x"]}, False, False, False, True),
        ({"image": None}, False, False, False, False),
    ],
)
def test_a_container_is_recognised_by_command_or_image(fields, by_command, by_image, is_proven, is_foreign):
    """An image proves the program only as long as its own entry point runs."""
    found = server(**fields)
    assert (found.by_command, found.by_image, found.is_proven, found.is_foreign) == (
        by_command,
        by_image,
        is_proven,
        is_foreign,
    )
    assert found.is_matched is (by_command or by_image)


def test_the_program_that_matches_is_the_servers_command():
    """Among several programs the profile's is the server, else the last one."""
    both = server(image=OTHER_IMAGE, command=["sh", "-c", "own serve --port 1; tail -f /log"])
    none = server(image=OTHER_IMAGE, command=["sh", "-c", "prepare; /start.sh"])
    assert (both.command.argv, none.command.argv) == (("own", "serve", "--port", "1"), ("/start.sh",))


@pytest.mark.parametrize("document", [{}, {"spec": None}, {"spec": {}}, {"spec": {"containers": None}}])
def test_a_pod_without_containers_has_no_servers(document):
    """Nothing is read where nothing stands."""
    assert read(document, OWN) == []


@pytest.mark.parametrize(
    ("fields", "other"),
    [
        (BY_COMMAND, False),
        (BY_IMAGE, False),
        (FOREIGN, False),
        (UNKNOWN, False),
        ({**BY_IMAGE, "args": ["--headless"]}, True),
        ({"image": IMAGE, "command": ["own", "bench"]}, True),
        ({"image": "x/mesh:1"}, True),
        ({"image": "x/proxy:1"}, True),
        ({"image": "x/web-ui:1"}, True),
        ({"image": "x/proxy:1", "command": ["own", "serve"]}, False),
        ({"image": "x/rival:1"}, True),
        ({"image": "x/rival:1", "command": ["own", "serve"]}, False),
        ({"image": OTHER_IMAGE, "command": ["rival"]}, True),
        ({"image": IMAGE, "command": ["rival"]}, True),
        ({"image": OTHER_IMAGE, "command": ["webserver"]}, True),
    ],
)
def test_evidence_of_another_program_is_recognised(fields, other):
    """Its own `others`, known programs and other engines speak against a container; its own command beats them."""
    assert is_other(server(**fields), OWN, CATALOG) is other


def test_an_image_of_two_engines_is_not_held_against_it():
    """Where the image is the profile's own, another profile's claim on it proves nothing."""
    shared = profile(name="shared", match={"images": ["*own/server"], "commands": []})
    assert is_other(server(**FOREIGN), OWN, catalog(shared)) is False


@pytest.mark.parametrize(
    ("containers", "port", "by_label", "chosen"),
    [
        ([BY_COMMAND, UNKNOWN], None, False, [0]),
        ([UNKNOWN, BY_IMAGE], None, False, [1]),
        ([BY_IMAGE, BY_COMMAND], None, False, [0, 1]),
        ([FOREIGN, BY_COMMAND], None, False, [1]),
        ([FOREIGN, UNKNOWN], None, False, [0]),
        ([FOREIGN, FOREIGN], None, False, [0, 1]),
        ([UNKNOWN], None, True, [0]),
        ([UNKNOWN, {**UNKNOWN, "ports": [{"containerPort": 8000}]}], None, True, [1]),
        ([UNKNOWN, {**UNKNOWN, "ports": [{"containerPort": 9000}]}], "9000", True, [1]),
        ([UNKNOWN, {**UNKNOWN, "ports": [{"containerPort": 1, "name": "api"}]}], "api", True, [1]),
    ],
)
def test_the_server_is_chosen(containers, port, by_label, chosen):
    """Proof first (both of two), then the image, then the only one, then the owner of the port."""
    found = choose(servers(*containers), port=port, default_port=8000, by_label=by_label)
    assert [item.index for item in found] == chosen


@pytest.mark.parametrize(
    ("containers", "port", "by_label", "reason"),
    [
        ([UNKNOWN], None, False, Reason.NO_ENGINE_FOUND),
        ([UNKNOWN, UNKNOWN], None, False, Reason.NO_ENGINE_FOUND),
        ([UNKNOWN, UNKNOWN], None, True, Reason.SERVER_AMBIGUOUS),
        ([UNKNOWN, {**UNKNOWN, "ports": [{"containerPort": 9000}]}], None, True, Reason.SERVER_AMBIGUOUS),
        ([{**UNKNOWN, "ports": [{"containerPort": 8000}]}] * 2, None, True, Reason.SERVER_AMBIGUOUS),
        ([{**UNKNOWN, "ports": [{"containerPort": 8000}]}, UNKNOWN], "9000", True, Reason.SERVER_AMBIGUOUS),
    ],
)
def test_no_server_is_guessed(containers, port, by_label, reason):
    """Without the pod's own label nothing unmatched is taken, and with it nothing that is not the only one."""
    assert choose(servers(*containers), port=port, default_port=8000, by_label=by_label) is reason


@pytest.mark.parametrize(
    ("containers", "name"),
    [
        ([BY_COMMAND], "own"),
        ([BY_IMAGE], "own"),
        ([UNKNOWN, BY_IMAGE], "own"),
        ([{"image": IMAGE, "command": ["rival"]}], "rival"),
        ([{"image": "x/rival:1"}, BY_COMMAND], "own"),
    ],
)
def test_auto_finds_the_only_engine(containers, name):
    """A command beats an image."""
    assert detect(pod(*[container(**item) for item in containers]), CATALOG).name == name


@pytest.mark.parametrize(
    "document",
    [
        pod(container(image="x/rival:1"), container(**BY_IMAGE)),
        pod(container(**BY_COMMAND), container(image=OTHER_IMAGE, command=["rival"])),
        pod(container(image=OTHER_IMAGE, command=["webserver"])),
        pod(container(**UNKNOWN)),
        {},
    ],
)
def test_auto_never_guesses(document):
    """Two engines are none, and a profile that says `auto: false` is never found."""
    assert detect(document, CATALOG) is None
