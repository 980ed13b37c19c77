"""`drainhook label`: the backend label on the pod template of live workloads, with a preview of what it starts.

What a label means, `webhook.cluster.label` says; here it is shown, asked and done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from webhook import names
from webhook.cli import connect, options

if TYPE_CHECKING:
    from webhook.cluster.client import Session
    from webhook.cluster.label import Labelling
    from webhook.core.profile import Json


@click.command(epilog="Example: drainhook label deploy/chat --backend vllm -n llm --dry-run=server")
@click.argument("workloads", metavar="WORKLOAD...", nargs=-1, required=True)
@click.option("--backend", metavar="NAME", help="Profile of the server that the pods run, or auto.")
@click.option("--remove", is_flag=True, help="Take the label away instead.")
@click.option("-n", "--namespace", help="[default: that of the kubeconfig's context]")
@click.option(
    "--dry-run", type=click.Choice(["none", "client", "server"]), default="none", show_default=True,
    help="client: only the preview; server: let the API server try.",
)  # fmt: skip
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@options.folders
@connect.cluster
def label(workloads: Sequence[str], **flags: Json) -> None:
    """Label live workloads, with a preview of the rollout that it starts.

    WORKLOAD is kind/name, as for kubectl: deploy/chat, sts/llm, lws/big, rollout/chat. The label goes to the pod
    template, since one on the workload itself does nothing. Either all workloads are labelled or none.
    """
    if bool(flags["backend"]) is bool(flags["remove"]):
        raise click.UsageError("give either --backend NAME or --remove")
    session = connect.open_session(flags)
    from webhook.cluster.client import ClusterError  # noqa: PLC0415 (after the session: it may not be installed)
    from webhook.cluster.label import RefusedError  # noqa: PLC0415

    try:
        labellings = _prepared(session, workloads, flags)
        _preview(labellings)
        raise SystemExit(_carry_out(session, labellings, flags))
    except (ClusterError, RefusedError) as error:
        raise click.ClickException(str(error)) from None


def _prepared(session: Session, workloads: Sequence[str], flags: dict[str, Json]) -> list[Labelling]:
    """Read every workload and work out what the label does to it."""
    from webhook import __version__  # noqa: PLC0415 (with all that decides, only once a cluster answers)
    from webhook.cluster.label import fetch, prepare, prepare_removal  # noqa: PLC0415
    from webhook.cluster.resources import discover  # noqa: PLC0415
    from webhook.core.decision import Policy  # noqa: PLC0415

    catalog, backend = options.load_catalog(flags["directories"]), flags["backend"]
    if backend:
        options.check_backend(backend, catalog)
    policy = Policy(__version__, session.version())
    resources, namespace = discover(session), flags["namespace"] or session.namespace
    labellings = [fetch(session, resources, spelled, namespace) for spelled in dict.fromkeys(workloads)]
    for labelling in labellings:
        if flags["remove"]:
            prepare_removal(labelling)
        else:
            prepare(labelling, backend, catalog, policy)
    return labellings


def _preview(labellings: list[Labelling]) -> None:
    for labelling in labellings:
        for line in _lines(labelling):
            click.echo(line)


def _lines(labelling: Labelling) -> Iterator[str]:
    """Show one workload: each template, what the webhook will make of its pods, what happens to the present ones."""
    from webhook.cli.documents import Placed  # noqa: PLC0415
    from webhook.cli.explain import finding_line, outcome_lines  # noqa: PLC0415
    from webhook.cluster.label import loses_requests, rollout  # noqa: PLC0415

    yield click.style(f"{labelling.resource.kind} {labelling.namespace}/{labelling.name}", bold=True)
    for row in labelling.rows:
        change = f"{row.current or '(none)'} -> {row.wanted or '(none)'}" if row.is_changed else "stays as it is"
        yield f"  {row.path}: label {names.BACKEND}: {change}"
        for line in outcome_lines(row.outcome) if row.outcome else ():
            yield f"    {line}"
    for finding in labelling.findings:
        yield f"  {finding_line(Placed(finding, labelling.name, 0))}"
    if labelling.operations:
        yield f"  {rollout(labelling)}"
        if loses_requests(labelling):
            yield "  The pods that end in it do not have the hook yet: requests that they still serve can be lost."


def _carry_out(session: Session, labellings: list[Labelling], flags: dict[str, Json]) -> int:
    """Ask, change, and return the exit code."""
    if any(labelling.has_errors for labelling in labellings):
        click.echo("Nothing was labelled, because of the errors above.", err=True)
        return 1
    todo = [labelling for labelling in labellings if labelling.operations]
    if not todo:
        click.echo("Nothing to do.", err=True)
        return int(not flags["remove"] and not any(row.current for item in labellings for row in item.rows))
    if flags["dry_run"] == "client":
        return 0
    if flags["dry_run"] == "none" and not flags["yes"]:
        _ask(len(todo))
    _send(session, todo, is_trial=flags["dry_run"] == "server")
    return 0


def _ask(count: int) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("nobody can be asked here: look with --dry-run=server, then add --yes")
    click.confirm(f"Change {count} workload{'s' if count > 1 else ''}?", abort=True)


def _send(session: Session, todo: list[Labelling], *, is_trial: bool) -> None:
    """Let the API server try all of them before the first one is changed."""
    from webhook.cluster.label import send  # noqa: PLC0415

    _each(session, todo, lambda item: send(session, item, dry_run=True), "would be changed" if is_trial else "")
    if not is_trial:
        _each(session, todo, lambda item: send(session, item, dry_run=False), "changed")


def _each(session: Session, todo: list[Labelling], action: Callable[[Labelling], None], done: str) -> None:
    for labelling in todo:
        session.warnings.clear()
        action(labelling)
        if done:
            for warning in session.warnings:
                click.echo(f"Warning: {warning}", err=True)
            click.echo(f"{labelling.resource.kind} {labelling.namespace}/{labelling.name} {done}.")
