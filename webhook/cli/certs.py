"""`drainhook certs`: make the webhook's certificates, and say what a certificate holds.

How they are made stands in webhook.certificates; what is done in a cluster, in webhook.cli.ensure.
"""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

import click

from webhook import names
from webhook.cli.ensure import ensure
from webhook.files import write_whole
from webhook.pair import CA_CERT, CA_KEY, TLS_CERT, TLS_KEY, Pair

if TYPE_CHECKING:
    from webhook.core.profile import Json

SECRET_MODE = 0o600
PUBLIC_MODE = 0o644
FETCH_SECONDS = 5.0


@click.group()
def certs() -> None:
    """Certificates for the webhook: issue, inspect, ensure."""


certs.add_command(ensure)


@certs.command()
@click.option("-d", "--directory", default="certs", show_default=True, help="Where the four files go.")
@click.option("--service", default=names.SERVICE, show_default=True, help="Name of the webhook's Service.")
@click.option("--namespace", default=names.SYSTEM_NAMESPACE, show_default=True, help="Namespace of the Service.")
@click.option("--name", "extra", multiple=True, help="A further DNS name or IP address; repeatable.")
@click.option("--days", type=click.IntRange(1, 3650), help="Days until the server certificate ends. [default: 365]")
@click.option("--force", is_flag=True, help="Replace an existing server certificate (the CA is kept in any case).")
def issue(directory: str, service: str, namespace: str, extra: Sequence[str], **options: Json) -> None:
    """Write ca.crt, ca.key, tls.crt and tls.key for the webhook's Service.

    An existing CA is used again, so that the caBundle in the cluster stays right when the certificate is renewed.
    """
    from webhook import certificates  # noqa: PLC0415 (cryptography is not needed for --help)

    folder = Path(directory)
    if not options["force"] and any((folder / name).exists() for name in (TLS_CERT, TLS_KEY)):
        _fail(f"{folder} already holds a server certificate; replace it with --force.")
    wanted = (*certificates.service_names(service, namespace), *extra)
    now, days = datetime.now(UTC), options["days"] or certificates.LEAF_DAYS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ca = _existing_ca(folder)
        made = ca or certificates.issue_ca(now)
        leaf = certificates.issue_leaf(made, wanted, now, days=days)
        if ca is None:
            _write(folder, made, CA_CERT, CA_KEY)
        _write(folder, leaf, TLS_CERT, TLS_KEY)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}.")
    except ValueError as error:
        _fail(str(error))
    click.echo(
        f"{'Used' if ca else 'Wrote'} the CA {folder / CA_CERT}, wrote {folder / TLS_CERT} and {folder / TLS_KEY}."
    )


@certs.command()
@click.argument("place")
@click.option("--ca", metavar="FILE", help="CA that must have signed the certificate. [default: ca.crt of a directory]")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def inspect(place: str, ca: str | None, output: str) -> None:
    """Say what a certificate holds: PLACE is a PEM file, a directory made by `issue`, or an https:// URL.

    Ends with 1 when the certificate is not valid now, was not signed by the CA, or is not that of the key beside it.
    """
    from webhook import certificates  # noqa: PLC0415 (cryptography is not needed for --help)

    try:
        certificate, key, authority = _read(place, ca)
        found = certificates.describe(certificate, authority)
        fits = None if key is None else certificates.belongs(Pair(certificate, key))
    except OSError as error:
        _fail(f"{place}: {error.strerror or error}.")
    except ValueError as error:
        _fail(f"{place}: {error}")
    now = datetime.now(UTC)
    report: dict[str, Json] = {
        "subject": found.subject,
        "issuer": found.issuer,
        "names": list(found.names),
        "notBefore": found.not_before.isoformat(),
        "notAfter": found.not_after.isoformat(),
        "daysLeft": (found.not_after - now).days,
        "keyType": found.key_type,
        "isCA": found.is_ca,
        "validNow": found.not_before <= now < found.not_after,
        "signedByCA": found.trusted,
        "matchesKey": fits,
    }
    click.echo(json.dumps(report, indent=2) if output == "json" else _lines(report))
    if False in (report["validNow"], found.trusted, fits):
        raise SystemExit(1)


def _lines(report: dict[str, Json]) -> str:
    """Write one aligned line for each thing that is known."""
    texts = {True: "yes", False: "NO", None: "not known"}
    shown = {key: ", ".join(value) if isinstance(value, list) else value for key, value in report.items()}
    shown |= {key: texts[report[key]] for key in ("isCA", "validNow", "signedByCA", "matchesKey")}
    return "\n".join(f"{key:<12}{value}" for key, value in shown.items())


def _existing_ca(folder: Path) -> Pair | None:
    """Read the CA of the directory, if there is one."""
    if not (folder / CA_CERT).exists() and not (folder / CA_KEY).exists():
        return None
    return Pair((folder / CA_CERT).read_bytes(), (folder / CA_KEY).read_bytes())


def _write(folder: Path, pair: Pair, certificate: str, key: str) -> None:
    write_whole(folder / key, pair.key, SECRET_MODE)
    write_whole(folder / certificate, pair.certificate, PUBLIC_MODE)


def _read(place: str, ca: str | None) -> tuple[bytes, bytes | None, bytes | None]:
    """Fetch certificate, the key beside it and the CA; what is not there is None."""
    authority = None if ca is None else Path(ca).read_bytes()
    if place.startswith("https://"):
        return _fetch(place), None, authority
    path = Path(place)
    if not path.is_dir():
        return path.read_bytes(), None, authority
    key = None
    with suppress(FileNotFoundError):
        key = (path / TLS_KEY).read_bytes()
    with suppress(FileNotFoundError):
        authority = authority or (path / CA_CERT).read_bytes()
    return (path / TLS_CERT).read_bytes(), key, authority


def _fetch(url: str) -> bytes:
    """Take the certificate that a server presents, whoever signed it: it is looked at, not trusted."""
    from webhook.certificates import to_pem  # noqa: PLC0415

    parts = urlsplit(url)
    host = parts.hostname or ""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection((host, parts.port or 443), FETCH_SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=host) as connection,
    ):
        return to_pem(connection.getpeercert(binary_form=True) or b"")


def _fail(message: str) -> NoReturn:
    """End with 2, saying why."""
    click.echo(f"Error: {message}", err=True)
    raise SystemExit(2)
