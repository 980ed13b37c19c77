"""A folder (or one file) of users' profiles on top of those that are known already.

A file with a known name replaces that profile as a whole; with `extends` it is merged on top of a profile. Whether
the result is a profile, `webhook.profile_check` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from webhook.core.profile import Json
from webhook.profile_check import check
from webhook.profile_file import ProfileFault, ProfileText, read

_ENDINGS = (".yaml", ".yml")
_SCHEMA = ".schema.json"  # a copy of the published schema, for editors
_EXTENDS = "extends"


@dataclass(frozen=True, slots=True)
class Layer:
    """What one folder gives: whole profiles by name, their files, and what is wrong."""

    profiles: Mapping[str, Json]
    texts: Mapping[str, ProfileText]
    faults: tuple[ProfileFault, ...]


def read_layer(place: Path, known: Mapping[str, Json]) -> Layer:
    """Read a folder, or one file, of profiles; `known` are the profiles below it, by name."""
    files, faults = _files(place)
    texts: dict[str, ProfileText] = {}
    for path in files:
        text = read(path)
        if text.name in texts:
            faults.append(ProfileFault(text.path, 0, "", f"{texts[text.name].path} is the same profile"))
            continue
        texts[text.name] = text
        faults += text.faults
    layer = _Resolver(known, texts)
    for name in texts:
        layer.resolve(name)
    return Layer(layer.profiles, texts, tuple(faults + layer.faults))


def _files(place: Path) -> tuple[list[Path], list[ProfileFault]]:
    """List a folder. Names with a leading dot are a ConfigMap's own links and are passed over."""
    try:
        if not place.is_dir():
            place.stat()
            return [place], []
        entries = sorted(entry for entry in place.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        return [], [ProfileFault(str(place), 0, "", f"can't be read: {error.strerror}")]
    files = [entry for entry in entries if entry.suffix in _ENDINGS]
    strange = [entry for entry in entries if entry not in files and not entry.name.endswith(_SCHEMA)]
    wanted = "is no profile; here only <profile>.yaml, <profile>.yml and *.schema.json may stand"
    return files, [ProfileFault(str(entry), 0, "", wanted) for entry in strange]


class _Resolver:
    """Merges the files of one layer in the order that `extends` wants, each once."""

    def __init__(self, known: Mapping[str, Json], texts: Mapping[str, ProfileText]) -> None:
        self._known, self._texts = known, texts
        self._open: list[str] = []
        self._done: set[str] = set()
        self.profiles: dict[str, Json] = {}
        self.faults: list[ProfileFault] = []

    def resolve(self, name: str) -> Json:
        """Return the whole profile of a file, or None when it has a fault (then noted)."""
        if name not in self._done:
            self._done.add(name)
            self._open.append(name)
            data = self._merged(self._texts[name])
            self._open.pop()
            wrong = check(data, self._texts[name]) if data is not None else ()
            self.faults += wrong
            if data is not None and not wrong:
                self.profiles[name] = data
        return self.profiles.get(name)

    def _merged(self, text: ProfileText) -> Json:
        """Return the file's data on top of what it extends, or None with a fault noted."""
        if text.data is None:
            return None
        own = {"name": text.name, **text.data}
        if _EXTENDS not in own:
            return own
        below = self._below(text, own.pop(_EXTENDS))
        return None if below is None else merge({**below, "name": text.name}, own)

    def _below(self, text: ProfileText, wanted: Json) -> Json:
        """Return the profile to start from: of the same folder, else of those below it."""
        if isinstance(wanted, str) and wanted != text.name and wanted in self._texts:
            if wanted in self._open:
                self._note(text, f"goes in a circle: {' -> '.join([*self._open, wanted])}")
                return None
            found = self.resolve(wanted)
            if found is None:
                self._note(text, f"{wanted} has a fault of its own")
            return found
        if not isinstance(wanted, str) or wanted not in self._known:
            self._note(text, f"must be a profile that is known here: {', '.join(sorted(self._known))}")
            return None
        return self._known[wanted]

    def _note(self, text: ProfileText, message: str) -> None:
        self.faults.append(text.fault((_EXTENDS,), message))


def merge(below: Json, own: Json) -> Json:
    """Lay a file over a profile: mappings merge, everything else (lists too) is replaced.

    A fact that the file states anew is no longer marked as unverified by the profile below, unless the file says so.
    """
    merged = _merge(below, own)
    if "unverified" in below:
        said = own.get("unverified") or {}
        kept = {path: why for path, why in below["unverified"].items() if not _states(own, path)}
        merged["unverified"] = {**kept, **said} if isinstance(said, dict) else said
    return merged


def _merge(below: Json, own: Json) -> Json:
    if not isinstance(below, dict) or not isinstance(own, dict):
        return own
    return {**below, **{key: _merge(below.get(key), value) for key, value in own.items()}}


def _states(own: Json, path: str) -> bool:
    """Say whether the file itself has something at this path, or replaces what is around it."""
    here = own
    for part in path.split("."):
        if not isinstance(here, dict):
            return True
        if part not in here:
            return False
        here = here[part]
    return True
