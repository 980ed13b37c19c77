"""`drainhook profiles`: shows the catalog, and proves profiles of one's own.

What a profile is, `webhook.profile_check` says; nothing is decided here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook.cli import options

if TYPE_CHECKING:
    from webhook.core.profile import Catalog, Json, Profile
    from webhook.profile_file import ProfileFault

_FOUND = 1  # exit code


@click.group(help="The profiles of the backends: list, show, check, schema.")
def profiles() -> None:
    """Group the commands."""


@profiles.command("list")
@options.folders
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
def list_profiles(directories: tuple[Path, ...], output: str) -> None:
    """List all backends with class, port, gauges, budget and tools."""
    rows = [_row(profile) for profile in _load(directories).profiles.values()]
    click.echo(_table(rows) if output == "table" else _dump(rows, output), nl=False)


@profiles.command()
@click.argument("name")
@options.folders
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def show(name: str, directories: tuple[Path, ...], output: str) -> None:
    """Show one profile with the values in force; facts that nobody has confirmed are marked."""
    from webhook.profile_text import marked, source_of  # noqa: PLC0415

    catalog = _load(directories)
    if name not in catalog.profiles:
        raise click.UsageError(f"no profile {name}; known: {', '.join(catalog.profiles)}")
    data, text = source_of(name, directories)
    click.echo(marked(data, text) if output == "yaml" else _dump(data, output), nl=False)


@profiles.command()
@click.argument("places", metavar="FILE|DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
def check(places: tuple[Path, ...]) -> None:
    """Prove profiles of your own: schema, patterns, and a decision on a minimal pod."""
    from webhook.catalog import load  # noqa: PLC0415
    from webhook.profile_folder import read_layer  # noqa: PLC0415

    catalog, faults = load(places, skip_invalid=True)
    known: dict[str, Json] = {}
    for place in places:
        known.update(read_layer(place, _below(known)).profiles)
    failed = _print_faults(faults)
    for name in sorted(known):
        failed = not _prove(catalog.profiles[name], catalog) or failed
    raise SystemExit(_FOUND if failed else 0)


@profiles.command()
def schema() -> None:
    """Print the JSON Schema of a profile, for editors and CI."""
    from importlib import resources  # noqa: PLC0415

    click.echo(resources.files("webhook").joinpath("profile.schema.json").read_text("utf-8"), nl=False)


def _load(directories: tuple[Path, ...]) -> Catalog:
    """Load the catalog, or print all faults and end with code 1."""
    from webhook.catalog import InvalidProfiles, load  # noqa: PLC0415

    try:
        return load(directories)[0]
    except InvalidProfiles as error:
        _print_faults(error.faults)
        raise SystemExit(_FOUND) from None


def _below(known: dict[str, Json]) -> dict[str, Json]:
    from webhook.catalog import shipped  # noqa: PLC0415

    return {**shipped(), **known}


def _print_faults(faults: tuple[ProfileFault, ...]) -> bool:
    for fault in faults:
        click.echo(str(fault), err=True)
    return bool(faults)


def _prove(profile: Profile, catalog: Catalog) -> bool:
    """Print what was proven of one profile; return whether all of it holds."""
    from webhook import __version__  # noqa: PLC0415
    from webhook.core.decision import Policy  # noqa: PLC0415
    from webhook.profile_proof import collisions, dry_decision  # noqa: PLC0415

    click.echo(f"{profile.name}: schema: fits, content {profile.digest}")
    shared = collisions(profile, catalog)
    for text in shared:
        click.echo(f"{profile.name}: patterns: warning: {text}; `auto` finds neither (say `auto: false` in match)")
    if not shared:
        click.echo(f"{profile.name}: patterns: its own")
    for path, why in (profile.unverified or {}).items():
        click.echo(f"{profile.name}: unverified: {path}: {why}")
    holds, text = dry_decision(profile, catalog, Policy(version=__version__))
    click.echo(f"{profile.name}: decision: {text}", err=not holds)
    return holds


def _row(profile: Profile) -> Json:
    """Return what the table shows of a profile."""
    page, port = profile.metrics, profile.http
    in_image = f"/{port.in_image}" if port.in_image else ""
    return {
        "name": profile.name,
        "class": profile.shutdown_class,
        "port": f"{port.default or '-'}{in_image}",
        "gauges": [*page.running, *page.waiting] if page else [],
        "budget": f"{profile.budget.settle}/{profile.budget.drain}/{profile.budget.reserve}",
        "tools": list(profile.tools),
        "unverified": len(profile.unverified or {}),
    }


def _table(rows: list[Json]) -> str:
    """Lay rows out in columns."""
    heads = [key.upper() for key in rows[0]]
    cells = [[",".join(cell) or "-" if isinstance(cell, list) else str(cell) for cell in row.values()] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [heads, *cells]]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _dump(value: Json, output: str) -> str:
    if output == "json":
        import json  # noqa: PLC0415

        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    import yaml  # noqa: PLC0415

    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120))
