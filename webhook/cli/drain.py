"""`drainhook drain`: the drain script as a hook would run it: by hand against an engine, or behind a port as a sidecar.

The script and its parameters are those of a hook; nothing about draining may be written here. With `--listen` and
parameters no profile is read, since that runs in users' pods for their whole life.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import SplitResult, urlsplit

import click

from webhook import names
from webhook.cli import options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webhook.core.hook import Target
    from webhook.core.profile import Json, Profile

_LOCAL = ("127.0.0.1", "localhost", "::1", "0.0.0.0")  # noqa: S104  (compared with, never bound)
_PORTS = {"http": 80, "https": 443}


@click.command(epilog="Example: drainhook drain --backend vllm --url http://127.0.0.1:8000 --settle 0")
@click.option("--backend", metavar="NAME", help="Profile of the engine.")
@click.option("--url", metavar="URL", help="Address of the engine, or of its metrics page.")
@click.option("--settle", metavar="SECONDS", type=click.IntRange(0, 300), help="Settle wait. [default: the profile's]")
@click.option("--drain", metavar="SECONDS", type=click.IntRange(1, 86400), help="Drain wait. [default: the profile's]")
@click.option("--idle", metavar="SECONDS", type=click.IntRange(0, 3600), help="Idle window. [default: the profile's]")
@click.option(
    "--listen",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    help=f"Drain at each GET {names.SIDECAR_PATH} of this port, as the sidecar does; 0 takes a free one.",
)
@click.option("--host", metavar="ADDRESS", help="Address to listen on. [default: all]")
@options.folders
@click.argument("words", metavar="[-- PARAMETER...]", nargs=-1, type=click.UNPROCESSED)
def drain(words: tuple[str, ...], listen: int | None, host: str | None, **flags: Json) -> None:
    """Run the drain loop by hand against an engine.

    It waits as the hook would and ends when the engine is idle or the time is over; the engine is not stopped. With
    --listen, the script's parameters may be given instead of --backend and --url.
    """
    if words and (listen is None or any(value not in (None, ()) for value in flags.values())):
        raise click.UsageError("parameters of the script go with --listen, and with no other option but --host")
    if host is not None and listen is None:
        raise click.UsageError("--host goes with --listen")
    words = words or tuple(_words(flags))
    if shutil.which("sh") is None:
        raise click.ClickException("the drain script needs a POSIX shell: no sh is found")
    if listen is not None:
        _listen(words, host, listen)
    from webhook.sidecar import command  # noqa: PLC0415

    sys.stdout.flush()
    raise SystemExit(subprocess.run(command(words), check=False).returncode)


def _listen(words: Sequence[str], host: str | None, port: int) -> NoReturn:
    """Serve the drain on a port until SIGTERM."""
    from webhook.sidecar import serve  # noqa: PLC0415
    from webhook.sockets import bind  # noqa: PLC0415

    try:
        bound = bind(host, port)
    except OSError as error:
        place = f"{host or 'all addresses'}, port {port}"
        raise click.ClickException(f"--listen: cannot listen on {place}: {error.strerror}") from None
    serve(words, bound, click.echo)


def _words(flags: Mapping[str, Json]) -> list[str]:
    """Return the script's parameters for an engine that is named by profile and address."""
    from webhook.core.hook import parameters  # noqa: PLC0415

    if flags["backend"] is None or flags["url"] is None:
        raise click.UsageError("say what to drain: --backend and --url")
    catalog = options.load_catalog(flags["directories"])
    profile = catalog.profiles.get(flags["backend"])
    if profile is None:
        raise click.UsageError(f"no profile {flags['backend']}; known: {', '.join(catalog.profiles)}")
    given = {key: flags[key] for key in ("settle", "drain") if flags[key] is not None}
    budget = replace(profile.budget, **given)
    if flags["idle"] is not None and profile.metrics is not None:
        profile = replace(profile, metrics=replace(profile.metrics, idle_seconds=flags["idle"]))
    return parameters(profile, budget, target_of(profile, flags["url"]))


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
