"""`drainhook render`: objects of other systems, made from profiles. What they are, `webhook.render` says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook.cli import options

if TYPE_CHECKING:
    from webhook.core.profile import Catalog, Json
    from webhook.render.backendruntime import Rendered, Start

_COMMENT_WIDTH = 112


@click.group(help="Objects of other systems, made from profiles: backendruntime.")
def render() -> None:
    """Group the commands."""


@render.command(epilog="Example: drainhook render backendruntime --backend vllm --image vllm/vllm-openai:v0.33.0")
@click.option("--backend", metavar="NAME", required=True, help="The profile; see drainhook profiles list.")
@click.option("--name", help="Name of the runtime, by which a Playground asks for it. [default: the backend's]")
@click.option("--image", metavar="IMAGE[:TAG]", help="The server's image. [default: the official one, latest]")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8080, show_default=True,
    help="Port that the server is told to listen on; llmaz's pods and Services know 8080.",
)  # fmt: skip
@click.option(
    "--grace-period-seconds", "grace", type=int, default=130, show_default=True,
    help="Grace period that llmaz gives its pods: 130 s, in earlier releases 30 s.",
)  # fmt: skip
@click.option("--kubernetes-version", metavar="V", help="Version of the cluster, like 1.30. [default: 1.28 is assumed]")
@options.folders
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def backendruntime(
    backend: str, name: str | None, image: str | None, directories: tuple[Path, ...], output: str, **flags: Json
) -> None:
    """Print llmaz's BackendRuntime for a backend, with the drain hook, probes, and why each number stands there."""
    from webhook import __version__  # noqa: PLC0415  # --help needs none of this
    from webhook.core.decision import Policy  # noqa: PLC0415
    from webhook.render.backendruntime import Wanted, render  # noqa: PLC0415

    catalog = options.load_catalog(directories)
    _check_backend(backend, catalog)
    version = options.kubernetes_version(flags["kubernetes_version"])
    repository, tag = _split(image)
    wanted = Wanted(name or backend, repository, tag, flags["port"], flags["grace"])
    try:
        made = render(catalog.profiles[backend], wanted, _start(backend), catalog, Policy(__version__, version))
    except ValueError as error:
        raise click.UsageError(f"--grace-period-seconds {error}") from None
    for text in [*made.warnings, *(f"{finding.message} ({finding.reason})" for finding in made.findings)]:
        click.echo(f"drainhook: warning: {text}", err=True)
    click.echo(_yaml(made) if output == "yaml" else _json(made), nl=False)


def _check_backend(backend: str, catalog: Catalog) -> None:
    """Refuse a name without a profile; `auto` is no backend here, since there is no image to look at."""
    if backend in catalog.profiles:
        return
    from webhook.core.overrides import nearest  # noqa: PLC0415

    close = nearest(backend, catalog.profiles) or f"; known: {', '.join(catalog.profiles)}"
    raise click.UsageError(f"--backend: no profile {backend}{close}")


def _split(image: str | None) -> tuple[str, str]:
    """Split an image into name and tag; a colon before a slash belongs to a registry's port."""
    if not image:
        return "", "latest"
    if "@" in image:
        raise click.UsageError(f"--image {image}: llmaz joins image and version by a colon, so no digest can be given")
    name, colon, tag = image.rpartition(":")
    return (name, tag) if colon and "/" not in tag else (image, "latest")


def _start(backend: str) -> Start:
    """Read how llmaz's own runtime starts the backend."""
    from importlib import resources  # noqa: PLC0415

    from webhook.profile_file import parse  # noqa: PLC0415
    from webhook.render.backendruntime import Start  # noqa: PLC0415

    known = parse(resources.files("webhook.render").joinpath("llmaz.yaml").read_text("utf-8"))
    return Start(**known.get(backend, {}))


def _yaml(made: Rendered) -> str:
    """Write the object in block style, each field of its spec below its note."""
    from textwrap import wrap  # noqa: PLC0415

    from webhook.cli.yamltext import Style, block, entry  # noqa: PLC0415

    style = Style()
    rest = {key: value for key, value in made.object.items() if key != "spec"}
    lines = [*block(rest, 0, style), "spec:"]
    for key, value in made.object["spec"].items():
        lines += [f"  # {line}" for line in wrap(made.notes.get(key, ""), _COMMENT_WIDTH)]
        lines += entry(f"{key}:", value, 2, style)
    return "\n".join(lines) + "\n"


def _json(made: Rendered) -> str:
    import json  # noqa: PLC0415

    return json.dumps(made.object, indent=2) + "\n"
