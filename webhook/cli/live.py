"""`drainhook validate --live`: the same findings for what runs in a cluster. Makes the report; prints only notes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from webhook.cli import connect, options
from webhook.cli.documents import Placed
from webhook.cli.report import Checked, Report
from webhook.cli.terminal import say

if TYPE_CHECKING:
    from webhook.core.profile import Json


def live_report(flags: dict[str, Json]) -> Report:
    """Look at a cluster. Raises click.ClickException where it cannot be looked at."""
    session = connect.open_session(flags)
    from webhook.cluster.client import ClusterError  # noqa: PLC0415 (after the session: it may not be installed)
    from webhook.cluster.live import Looked, Survey  # noqa: PLC0415
    from webhook.cluster.resources import absent, discover  # noqa: PLC0415

    report = Report(fail_on_warning=flags["fail_on"] == "warning", noun="objects")

    def add(looked: Looked) -> None:
        subject = f"{looked.kind} {looked.name}".strip()
        placed = tuple(Placed(finding, looked.place, 0, 0, subject) for finding in looked.findings)
        report.checked.append(Checked(looked.place, len(report.checked), subject, placed))

    try:
        settings = options.settings_of({**flags, "namespace": ""})
        policy = settings.policy
        policy = replace(policy, kubernetes=policy.kubernetes or session.version())
        namespace = None if flags["all_namespaces"] else flags["namespace"] or session.namespace
        resources = discover(session)
        for looked in Survey(session, settings.catalog, policy, namespace).look(resources):
            add(looked)
    except ClusterError as error:
        raise click.ClickException(str(error)) from None
    missing = absent(resources)
    if missing:
        say(f"not in this cluster: {', '.join(missing)}", err=True)
    return report
