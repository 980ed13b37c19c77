"""The catalog: the shipped profiles, the users' on top of them, the drain script and the known programs, read once.

The only reader of `profiles/`, `programs.yaml` and `drain_scripts/`. No fact about an engine stands here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from webhook.core.profile import Catalog, Json, Programs, profile_from
from webhook.profile_file import ProfileFault, digest, parse

__all__ = ["InvalidProfiles", "ProfileFault", "load", "load_programs", "load_script", "shipped", "shipped_text"]


class InvalidProfiles(Exception):  # noqa: N818  # it is a list of findings that the caller prints
    """Users' profiles hold faults: `faults` lists all of them, each with file and line."""

    def __init__(self, faults: tuple[ProfileFault, ...]) -> None:
        """Keep the faults; the text is one line for each."""
        super().__init__("\n".join(map(str, faults)))
        self.faults = faults


def load(directories: Sequence[Path] = (), *, skip_invalid: bool = False) -> tuple[Catalog, tuple[ProfileFault, ...]]:
    """Return the catalog: shipped profiles first, then each folder of the user's, where the later one wins.

    A faulty file raises `InvalidProfiles`; with `skip_invalid` it is left out (a profile of that name below it stays
    in force) and its faults are returned.
    """
    known: dict[str, Json] = shipped()
    faults: list[ProfileFault] = []
    for directory in directories:
        from webhook.profile_folder import read_layer  # noqa: PLC0415  # brings jsonschema, 70 ms

        layer = read_layer(directory, known)
        known.update(layer.profiles)
        faults += layer.faults
    if faults and not skip_invalid:
        raise InvalidProfiles(tuple(faults))
    profiles = {name: profile_from(known[name], digest(known[name])) for name in sorted(known)}
    return Catalog(profiles, load_script(), load_programs()), tuple(faults)


def shipped() -> dict[str, Json]:
    """Return the data of the shipped profiles by name. A test checks them, so that no start has to."""
    return {name: {"name": name, **parse(text)} for name, text in _texts()}


def shipped_text(name: str) -> str | None:
    """Return a shipped profile as it is written, with its comments, or None."""
    return dict(_texts()).get(name)


def _texts() -> Iterator[tuple[str, str]]:
    folder = resources.files("webhook").joinpath("profiles")
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".yaml"):
            yield entry.name.removesuffix(".yaml"), entry.read_text("utf-8")


def load_programs() -> Programs:
    """Return the image globs of programs that are no engine."""
    data: Mapping[str, list[str]] = parse(_file("webhook", "programs.yaml").read_text("utf-8"))
    return Programs(**{kind: tuple(globs) for kind, globs in data.items()})


def load_script() -> str:
    """Return the drain script as it is embedded in a hook: without blank lines and lines that are only comments."""
    rows = _file("drain_scripts", "drain.sh").read_text("utf-8").splitlines()
    return "\n".join(row for row in rows if row.strip() and not row.lstrip().startswith("#")) + "\n"


def _file(package: str, name: str) -> Traversable:
    return resources.files(package).joinpath(name)
