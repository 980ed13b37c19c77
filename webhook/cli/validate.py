"""`drainhook validate`: mistakes in manifests, with file, line and field, for people and for CI.

What is a mistake, `webhook.core.admission.validate` says, the same function that the server calls.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from webhook.cli import connect, options

if TYPE_CHECKING:
    from webhook.cli.report import Report
    from webhook.core.profile import Json

FORMATS = ("text", "json", "junit", "sarif")


@click.command(epilog="Example: drainhook validate -f k8s/ --fail-on warning -o sarif > drainhook.sarif")
@options.inputs
@click.option("-o", "--output", type=click.Choice(FORMATS), default="text", show_default=True, help="What is printed.")
@click.option(
    "--fail-on", type=click.Choice(["error", "warning"]), default="error", show_default=True,
    help="Which findings make the exit code 1.",
)  # fmt: skip
@click.option("--live", is_flag=True, help="Look at the workloads and pods of a cluster instead of files.")
@click.option("-A", "--all-namespaces", is_flag=True, help="With --live: look at all namespaces.")
@connect.cluster
def validate(**flags: Json) -> None:
    """Find mistakes in manifests before they ship, or in what runs in a cluster.

    Looks at annotations, budgets, labels on the wrong object, and at whatever keeps a server from draining. Exit code
    1 means a finding of level error (or warning, with --fail-on warning).
    """
    from webhook.cli.reporttext import render  # noqa: PLC0415  # --help needs none of this
    from webhook.cli.terminal import say  # noqa: PLC0415

    report = _live_report(flags) if flags["live"] else _report(flags)
    text = render(report, flags["output"])
    if text:
        say(text)
    raise SystemExit(int(report.has_failed))


def _live_report(flags: dict[str, Json]) -> Report:
    from webhook.cli.live import live_report  # noqa: PLC0415

    if flags["files"] or flags["names"]:
        raise click.UsageError("--live looks at a cluster: give no files")
    is_given = click.get_current_context().get_parameter_source("namespace") is not ParameterSource.DEFAULT
    return live_report({**flags, "namespace": flags["namespace"] if is_given else None})


def _report(flags: dict[str, Json]) -> Report:
    from webhook.cli.inputs import Input  # noqa: PLC0415
    from webhook.cli.offline import validate_document  # noqa: PLC0415
    from webhook.cli.report import Checked, Report  # noqa: PLC0415
    from webhook.cli.terminal import Progress  # noqa: PLC0415

    found = Input.of([*flags["files"], *flags["names"]])
    settings = replace(options.settings_of(flags), namespaces=found.namespaces())
    report, progress = Report(fail_on_warning=flags["fail_on"] == "warning"), Progress()
    for source, documents in found.files():
        for document in documents:
            placed = [document.place(finding) for finding in validate_document(document.value, settings)]
            if document.value is not None or document.findings:
                findings = (*document.findings, *placed)
                report.checked.append(Checked(source.name, document.index, document.subject, findings))
            document.forget()
            progress.step(1, source.name)
    progress.end()
    return report
