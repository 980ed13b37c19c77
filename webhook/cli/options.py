"""The options that `patch` and `validate` share, and the settings that they make. Nothing is read or decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from webhook import names

if TYPE_CHECKING:
    from webhook.cli.offline import Settings
    from webhook.core.profile import Catalog, Json

Command = Callable[..., Any]

folders = click.option(
    "--profiles", "directories", metavar="DIR", multiple=True, type=click.Path(path_type=Path),
    help="Folder of profiles of your own; repeatable, the later one wins.",
)  # fmt: skip

_OPTIONS = (
    click.argument("names", metavar="[FILE]...", nargs=-1),
    click.option(
        "-f", "--filename", "files", metavar="FILE|DIR|GLOB|-", multiple=True,
        help="Manifests: files, folders (all below), globs, - for standard input; repeatable.",
    ),
    click.option(
        "-n", "--namespace", default="default", show_default=True, help="Namespace of objects that name none."
    ),
    click.option(
        "--kubernetes-version", metavar="V", help="Version of the cluster, like 1.30. [default: 1.28 is assumed]"
    ),
    click.option(
        "--sidecar-image", metavar="IMAGE", help="Image of the native sidecar, drainhook's. [default: none is added]"
    ),
    folders,
    click.option("--skip-invalid-profiles", is_flag=True, help="Go on with the valid profiles instead of stopping."),
)  # fmt: skip


def inputs(command: Command) -> Command:
    """Add the options that name the input and the settings."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def load_catalog(directories: Iterable[Path], *, skip_invalid: bool = False) -> Catalog:
    """Return the catalog; faults in the user's profiles are printed, and stop the run unless they may be skipped."""
    from webhook.catalog import InvalidProfiles, load  # noqa: PLC0415  # only commands that decide need profiles

    try:
        catalog, faults = load(tuple(directories), skip_invalid=skip_invalid)
    except InvalidProfiles as error:
        for fault in error.faults:
            click.echo(fault.line_of("error"), err=True)
        raise SystemExit(2) from None
    for fault in faults:
        click.echo(fault.line_of("warning"), err=True)
    return catalog


def check_backend(name: str, catalog: Catalog) -> None:
    """Refuse a backend that has no profile. Raises click.UsageError."""
    if name != names.AUTO and name not in catalog.profiles:
        raise click.UsageError(f"--backend: no profile {name}; known: {', '.join(catalog.profiles)}, {names.AUTO}")


def settings_of(flags: Mapping[str, Json]) -> Settings:
    """Make the settings of a run from its flags. Raises click.UsageError."""
    from webhook import __version__  # noqa: PLC0415
    from webhook.cli.offline import Settings  # noqa: PLC0415
    from webhook.core.decision import Policy, Sidecar  # noqa: PLC0415

    version, image = flags["kubernetes_version"], flags["sidecar_image"]
    sidecar = Sidecar(image) if image else None
    policy = Policy(__version__, kubernetes_version(version), deny_pods=True, sidecar=sidecar)
    catalog = load_catalog(flags["directories"], skip_invalid=flags["skip_invalid_profiles"])
    return Settings(catalog, policy, flags["namespace"])


def kubernetes_version(text: str | None) -> tuple[int, int] | None:
    """Read the flag --kubernetes-version, None where it was not given. Raises click.UsageError."""
    from webhook.settings import parse_kubernetes_version  # noqa: PLC0415

    try:
        return parse_kubernetes_version(text) if text else None
    except ValueError as error:
        raise click.UsageError(f"--kubernetes-version: {error}") from None
