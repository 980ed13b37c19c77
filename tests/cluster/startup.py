"""Bring a cluster up, step by step and timed; an earlier one that is whole is kept, half a one is ended first."""

from __future__ import annotations

import fcntl
import json
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final, TypeVar

from tests.cluster import build, certificates, checks, control_plane, namespaces, node, processes, recipes, teardown
from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError
from tests.cluster.pins import KUBERNETES
from tests.cluster.places import Places

_ACCOUNT_SECONDS: Final = 120
T = TypeVar("T")


@dataclass(slots=True)
class Steps:
    """What was done and how many seconds each step took; each is printed when it is done."""

    seconds: dict[str, float] = field(default_factory=dict)

    def __call__(self, name: str, action: Callable[..., T], *arguments: object) -> T:
        """Run one step."""
        begin = time.monotonic()
        result = action(*arguments)
        self.seconds[name] = time.monotonic() - begin
        print(f"{name:<24} {self.seconds[name]:6.1f} s", flush=True)
        return result


def up(places: Places, version: str = KUBERNETES) -> Cluster:
    """Give a complete cluster, a new one unless one of that version runs; images are brought up to date in both."""
    with alone(places):
        steps = Steps()
        cluster = _running(places, version)
        if cluster is None:
            steps("end of an earlier one", _end_earlier, places)
            steps("checks", checks.check, places, version)
            binaries = steps("binaries", build.build, places, version)
            images = steps("images", recipes.make, places)
            _start(places, binaries, images, steps)
            cluster = _complete(places, version, tuple(chain(*images.values())))
        else:
            images = steps("images", recipes.make, places)
            steps("import of images", node.load, places, images)
        print(f"{'in all':<24} {sum(steps.seconds.values()):6.1f} s")
        return cluster


def _start(places: Places, binaries: Path, images: Iterable[Path], steps: Steps) -> None:
    steps("namespaces", namespaces.hold, places)
    with namespaces.listen() as door:
        (places.state / "door").write_text(str(door.getsockname()[1]))
        steps("certificates", certificates.write, places, door.getsockname()[1])
        steps("control plane", control_plane.start, places, binaries)
        _open(places, door)
    steps("containerd", node.start_containerd, places)
    steps("import of images", node.load, places, images)
    steps("node", node.start, places, binaries)
    steps("service account", _wait_for_account, places, binaries)


def _open(places: Places, door: socket.socket) -> None:
    number = door.fileno()
    namespaces.start(places, "door", [*namespaces.PYTHON, "tests.cluster.door", str(number)], files=[number])


def _wait_for_account(places: Places, binaries: Path) -> None:
    ready = control_plane.has_service_account
    processes.wait_until("the default service account", lambda: ready(places, binaries), _ACCOUNT_SECONDS)


def _complete(places: Places, version: str, images: tuple[str, ...]) -> Cluster:
    """Write the record that makes a cluster complete."""
    cluster = Cluster(places, version, int((places.state / "door").read_text()), images)
    record = {"version": version, "door": cluster.door, "images": images}
    places.record.write_text(json.dumps(record))
    return cluster


def _running(places: Places, version: str) -> Cluster | None:
    """Give the cluster that is up if it is complete, answers, and is of that version."""
    try:
        cluster = Cluster.attach(places)
    except ClusterError:
        return None
    ready = control_plane.is_ready(places, places.binaries(cluster.version))
    return cluster if ready and cluster.version == version else None


def _end_earlier(places: Places) -> None:
    teardown.down(places)
    left = teardown.leftovers(places)
    if left:
        which = "An earlier cluster, or one with another XDG_CACHE_HOME, is in the way; end this first:"
        raise ClusterError("\n".join([which, *left]))


@contextmanager
def alone(places: Places) -> Iterator[None]:
    """Let one start or build at a time work on the cache; a second one fails at once."""
    places.cache.mkdir(parents=True, exist_ok=True)
    with (places.cache / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ClusterError("Another start or build of the cluster is under way; wait for it.") from None
        yield
