"""`drainhook serve`: the TLS webhook. Turns flags into settings and starts the server; decides nothing.

Everything heavy is imported inside the command, so that `drainhook --help` stays quick.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from webhook import names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.core.profile import Catalog, Json
    from webhook.settings import Settings


@click.command()
@click.option(
    "--host", metavar="ADDRESS", help="Address to listen on. [default: local; all when certificates are given]"
)
@click.option("--port", metavar="PORT", help=f"Port of the webhook; 0 takes a free one. [default: {names.LOCAL_PORT}]")
@click.option(
    "--metrics-port", metavar="PORT", help=f"Port of {names.METRICS_PATH}; 0 is off. [default: {names.METRICS_PORT}]"
)
@click.option("--tls-cert", metavar="FILE", help="Certificate chain (PEM); reloaded when it changes.")
@click.option("--tls-key", metavar="FILE", help="Private key of the certificate (PEM).")
@click.option("--ca-out", metavar="FILE", help="Write the CA that is made in memory when no certificate is given.")
@click.option("--profiles", metavar="DIR", multiple=True, help="Directory with profiles of your own; repeatable.")
@click.option(
    "--skip-invalid-profiles", is_flag=True, default=None, help="Start with the valid profiles instead of refusing."
)
@click.option(
    "--kubernetes-version",
    metavar="V",
    help="Version of the cluster, like 1.30. [default: asked in a cluster, else 1.28]",
)
@click.option("--settings", "file", metavar="FILE", help="YAML file with settings; flags and environment beat it.")
@click.option(
    "--shutdown-delay",
    metavar="SECONDS",
    help="Serve on for so long after SIGTERM. [default: 10 inside a cluster, else 0]",
)
@click.option("--log-level", metavar="LEVEL", help="debug, info, warning or error. [default: info]")
def serve(file: str | None, **flags: Json) -> None:
    """Serve the admission webhook over TLS.

    Without flags it makes a CA in memory and listens on this machine only. Every flag is also a variable
    (DRAINHOOK_METRICS_PORT) and a key of the settings file (metricsPort).
    """
    settings = _with_version(_settings(flags, os.environ, file), os.environ)
    catalog = _catalog(settings)
    try:
        from webhook.server.listener import StartError  # noqa: PLC0415 (fastapi costs 0.2 s, and is an extra)
        from webhook.server.run import run  # noqa: PLC0415
    except ModuleNotFoundError as error:
        _fail(f"`drainhook serve` needs {error.name}; install it with: pip install 'drainhook[serve]'")
    try:
        run(settings, catalog, lambda line: click.echo(line, err=True))
    except StartError as error:
        _fail(str(error))


def _settings(flags: Mapping[str, Json], environ: Mapping[str, str], file: str | None) -> Settings:
    """Build the settings, or end with one line for each fault."""
    from webhook.settings import SETTINGS_VARIABLE, Settings  # noqa: PLC0415 (yaml is not needed for --help)

    path = file or environ.get(SETTINGS_VARIABLE)
    try:
        text = None if path is None else (path, Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        _fail(f"--settings {path}: {getattr(error, 'strerror', None) or 'is not UTF-8 text'}.")
    settings = Settings.build(flags, environ, text)
    if isinstance(settings, tuple):
        _fail(*map(str, settings))
    return settings


def _with_version(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """Ask the cluster around this pod for its version, unless it was given; without an answer it stays unknown."""
    if settings.kubernetes_version is not None or names.IN_CLUSTER not in environ:
        return settings
    from webhook.cluster.version import ask  # noqa: PLC0415 (HTTP client and TLS, for a pod only)

    return replace(settings, kubernetes_version=ask(environ))


def _catalog(settings: Settings) -> Catalog:
    """Load the profiles; invalid ones are always said, and end the command unless it was told to go on."""
    from webhook.catalog import InvalidProfiles, load  # noqa: PLC0415 (not needed for --help)

    try:
        catalog, faults = load(settings.profiles, skip_invalid=settings.skip_invalid_profiles)
    except InvalidProfiles as invalid:
        _fail(*map(str, invalid.faults), "Correct the profiles, or start without these by --skip-invalid-profiles.")
    for fault in faults:
        click.echo(f"Warning: {fault}", err=True)
    return catalog


def _fail(*lines: str) -> NoReturn:
    """End with 2, saying why."""
    for line in lines:
        click.echo(f"Error: {line}", err=True)
    raise SystemExit(2)
