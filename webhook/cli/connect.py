"""The options of commands that talk to a cluster, and the session that they open. Nothing is asked of it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from webhook.cluster.client import Session
    from webhook.core.profile import Json

Command = Callable[..., Any]

_OPTIONS = (
    click.option("--kubeconfig", metavar="FILE", help="[default: as kubectl, else the pod's own account]"),
    click.option("--context", metavar="NAME", help="Context of the kubeconfig. [default: the current one]"),
)


def cluster(command: Command) -> Command:
    """Add the options that name a cluster."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def open_session(flags: Mapping[str, Json]) -> Session:
    """Open the session that the flags name. Raises click.ClickException with one plain sentence."""
    try:
        from webhook.cluster.client import ClusterError, connect  # noqa: PLC0415 (only when a cluster is wanted)

        return connect(flags["kubeconfig"], flags["context"])
    except ModuleNotFoundError as error:
        message = f"this needs {error.name}; install it with: pip install 'drainhook[cluster]'"
        raise click.ClickException(message) from None
    except ClusterError as error:
        raise click.ClickException(str(error)) from None
