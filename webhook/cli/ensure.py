"""`drainhook certs ensure`: makes or fetches the certificates in a cluster, writes files, tells the API server.

The init container of manifests/overlays/self-signed runs it before the server starts, in every replica.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook import names
from webhook.cli import connect
from webhook.pair import CA_CERT, TLS_CERT, TLS_KEY

if TYPE_CHECKING:
    from webhook.cluster.client import Session
    from webhook.core.profile import Json


@click.command()
@click.option("-d", "--directory", default="certs", show_default=True, help="Where ca.crt, tls.crt and tls.key go.")
@click.option("-n", "--namespace", default=names.SYSTEM_NAMESPACE, show_default=True, help="Of Secret and Service.")
@click.option("--secret", default=names.TLS_SECRET, show_default=True, help="Secret that all replicas share.")
@click.option("--service", default=names.SERVICE, show_default=True, help="Service that the API server calls.")
@click.option("--webhook", default=names.CONFIGURATION, show_default=True, help="Name of both webhook configurations.")
@click.option("--wait", default=60.0, show_default=True, metavar="SECONDS", help="Try again for so long.")
@connect.cluster
def ensure(directory: str, **flags: Json) -> None:
    """Make or fetch the webhook's certificates in a cluster.

    CA and server certificate are kept in a Secret; whoever comes first makes them. The CA is written into the caBundle
    of both webhook configurations where it differs.
    """
    session = connect.open_session(flags)
    from webhook.cluster.client import ClusterError  # noqa: PLC0415 (after the session: it may not be installed)

    try:
        done = _ensure(session, Path(directory), flags)
    except ClusterError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}.") from None
    for line in done:
        click.echo(line)


def _ensure(session: Session, folder: Path, flags: dict[str, Json]) -> list[str]:
    from webhook.certificates import service_names  # noqa: PLC0415 (cryptography is not needed for --help)
    from webhook.cluster import secret  # noqa: PLC0415
    from webhook.cluster.bundle import set_bundle  # noqa: PLC0415
    from webhook.cluster.retry import persist  # noqa: PLC0415
    from webhook.files import write_whole  # noqa: PLC0415

    namespace, wait = flags["namespace"], flags["wait"]
    place = secret.Place(namespace, flags["secret"], service_names(flags["service"], namespace))
    identity, done = persist(lambda: secret.ensure(session, place, datetime.now(UTC)), wait)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / TLS_KEY, identity.leaf.key, 0o600)
    write_whole(folder / TLS_CERT, identity.leaf.certificate)
    write_whole(folder / CA_CERT, identity.ca.certificate)
    changed = persist(lambda: set_bundle(session, flags["webhook"], identity.ca.certificate), wait)
    told = ", ".join(changed) or "already the right one"
    return [
        f"Secret {namespace}/{place.name}: {done}; certificate and key written to {folder}.",
        f"caBundle of {flags['webhook']}: {told}.",
    ]
