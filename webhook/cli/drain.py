"""`drainhook drain`: the drain script as a hook would run it, by hand against an engine, its lines on this terminal.

The script and its parameters are those of a hook; nothing about draining may be written here.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

import click

from webhook.cli import options

if TYPE_CHECKING:
    from webhook.core.hook import Target
    from webhook.core.profile import Json, Profile

_LOCAL = ("127.0.0.1", "localhost", "::1", "0.0.0.0")  # noqa: S104  (compared with, never bound)
_PORTS = {"http": 80, "https": 443}


@click.command(epilog="Example: drainhook drain --backend vllm --url http://127.0.0.1:8000 --settle 0")
@click.option("--backend", metavar="NAME", required=True, help="Profile of the engine.")
@click.option("--url", metavar="URL", required=True, help="Address of the engine, or of its metrics page.")
@click.option("--settle", metavar="SECONDS", type=click.IntRange(0, 300), help="Settle wait. [default: the profile's]")
@click.option("--drain", metavar="SECONDS", type=click.IntRange(1, 86400), help="Drain wait. [default: the profile's]")
@click.option("--idle", metavar="SECONDS", type=click.IntRange(0, 3600), help="Idle window. [default: the profile's]")
@options.folders
def drain(**flags: Json) -> None:
    """Run the drain loop by hand against an engine.

    It waits as the hook would and ends when the engine is idle or the time is over; the engine is not stopped.
    """
    from webhook.core.hook import exec_hook, parameters  # noqa: PLC0415

    catalog = options.load_catalog(flags["directories"])
    profile = catalog.profiles.get(flags["backend"])
    if profile is None:
        raise click.UsageError(f"no profile {flags['backend']}; known: {', '.join(catalog.profiles)}")
    given = {key: flags[key] for key in ("settle", "drain") if flags[key] is not None}
    budget = replace(profile.budget, **given)
    if flags["idle"] is not None and profile.metrics is not None:
        profile = replace(profile, metrics=replace(profile.metrics, idle_seconds=flags["idle"]))
    hook = exec_hook(catalog.script, parameters(profile, budget, target_of(profile, flags["url"])), None)
    sys.stdout.flush()
    try:
        done = subprocess.run(hook["exec"]["command"], check=False)
    except FileNotFoundError:
        raise click.ClickException("the drain script needs a POSIX shell: no sh is found") from None
    raise SystemExit(done.returncode)


def target_of(profile: Profile, url: str) -> Target:
    """Return what the script looks at. Connections can only be counted where the engine runs on this machine."""
    from webhook.core.hook import Target  # noqa: PLC0415

    parts = _split(url)
    port = parts.port or _PORTS[parts.scheme]
    base = f"{parts.scheme}://{parts.netloc}"
    ports = (port,) if parts.hostname in _LOCAL else ()
    page = profile.metrics
    if page is None:
        return Target(ports, (), base + parts.path.rstrip("/"), log="-", record="none")
    if parts.path.rstrip("/").endswith(page.path):
        urls: tuple[str, ...] = (base + parts.path,)
        base += parts.path.rstrip("/").removesuffix(page.path)
    else:
        own = page.port.default if page.port is not None else None
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        urls = (f"{parts.scheme}://{host}:{own}{page.path}" if own else base + parts.path.rstrip("/") + page.path,)
        base += parts.path.rstrip("/")
    return Target(ports, urls, base, log="-", record="none")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise click.UsageError(f"--url: {url!r} is no address like http://127.0.0.1:8000")
    return parts
