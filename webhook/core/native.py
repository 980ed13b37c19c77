"""The engine's own drain flag (vLLM `--shutdown-timeout`): when it may be added, and why not.

It completed 24 of 24 requests with one API server process and 0 of 36 with two (measured on vLLM 0.32.0), so it is
refused where several processes are implied. Nothing is changed here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from webhook.core.budget import NATIVE_RESERVE
from webhook.core.command import flag_value
from webhook.core.container import Server
from webhook.core.decision import Finding, Level, Reason
from webhook.core.patch import field_path
from webhook.core.profile import Profile

_VERSION = re.compile(r":v?([0-9]{1,6})\.([0-9]{1,6})(?:\.([0-9]{1,6}))?")


@dataclass(frozen=True, slots=True)
class NativeDrain:
    """Whether the flag is in force through us, the words that are still to be appended, and findings."""

    is_on: bool = False
    words: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def args_place(server: Server) -> str:
    """Return the field path of a container's args."""
    return field_path((*server.tokens, "args"))


def native_drain(profile: Profile, server: Server, path: str, *, is_ours: bool) -> NativeDrain:
    """Say whether the profile's drain flag is appended; `is_ours`: an earlier pass did it."""
    flag = profile.shutdown.flag
    if flag is None:
        return _refused(path, f"the profile {profile.name} has no drain flag of the engine")
    if flag_value(server.command, (flag,)) is not None:
        return NativeDrain(is_on=True) if is_ours else _refused(path, f"the template sets {flag} itself")
    if server.start.by_shell or not server.container.get("args") or not server.is_proven:
        return _refused(path, f"there is no args list that starts the engine: write {flag} {NATIVE_RESERVE} yourself")
    several = _several(profile, server)
    if several is not None:
        return _refused(path, f"with {several} above 1 the flag completed 0 of 36 requests (measured)")
    found = _VERSION.search(str(server.container.get("image") or ""))
    if found and profile.shutdown.since and _numbers(found.groups()) < _numbers(profile.shutdown.since.split(".")):
        return _refused(path, f"the image is older than {profile.shutdown.since}, which has the flag first")
    return NativeDrain(is_on=True, words=(flag, str(NATIVE_RESERVE)))


def _several(profile: Profile, server: Server) -> str | None:
    """Return the flag that makes several API servers; the first one listed, given as 1, overrules the others."""
    values = {flag: flag_value(server.command, (flag,)) for flag in profile.shutdown.single}
    if next(iter(values.values()), None) == "1":
        return None
    return next((flag for flag, value in values.items() if value not in {None, "1"}), None)


def _numbers(parts: tuple[str | None, ...] | list[str]) -> tuple[int, ...]:
    return tuple(int(part or 0) for part in parts)


def _refused(path: str, why: str) -> NativeDrain:
    return NativeDrain(findings=(Finding(Reason.NATIVE_DRAIN_REFUSED, Level.WARNING, path, why, "enabled"),))
