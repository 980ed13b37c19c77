"""Write dashboard.json beside this file: `python manifests/monitoring/dashboard.py`. Panels are data, below.

Three rows: what shutdowns did (`drainhook observe`), the webhook, servers with the middleware.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import TooltipDisplayMode
from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableHide

PLACE: Final = Path(__file__).with_name("dashboard.json")
_SOURCE: Final = DataSourceRef(type_val="prometheus", uid="$datasource")
_WIDE, _HIGH = 8, 8  # of 24 columns


@dataclass(frozen=True, slots=True)
class Panel:
    """A picture of one question: queries by legend, the unit in Grafana's name, one number where `single`."""

    title: str
    description: str
    queries: dict[str, str]
    unit: str = "short"
    single: bool = False


_QUANTILE: Final = "histogram_quantile({q}, sum by ({by}, le) (rate({name}_bucket[$__rate_interval])))"


def _quantile(q: float, by: str, name: str) -> str:
    return _QUANTILE.format(q=q, by=by, name=name)


_DURATION: Final = "drainhook_pod_shutdown_duration_seconds"
ROWS: Final = {
    "Shutdowns": (
        Panel(
            "Shutdown duration",
            "From the request to end until the last server has ended. The grace period is its upper limit.",
            {
                "{{backend}} median": _quantile(0.5, "backend", _DURATION),
                "{{backend}} p95": _quantile(0.95, "backend", _DURATION),
            },
            "s",
        ),
        Panel(
            "Pods ended",
            "By the reason of their end.",
            {"{{reason}}": f"sum by (reason) (increase({_DURATION}_count[$__rate_interval]))"},
        ),
        Panel(
            "In flight at SIGTERM",
            "What the hook saw last. Above zero: its time was too short.",
            {"{{backend}} p95": _quantile(0.95, "backend", "drainhook_pod_inflight_at_sigterm")},
        ),
        Panel(
            "Ended by SIGKILL",
            "Containers that did not end within their grace period, in the time shown.",
            {"{{backend}}": "sum by (backend) (increase(drainhook_pod_killed_by_sigkill_total[$__range]))"},
            single=True,
        ),
        Panel(
            "Failed preStop hooks",
            "In the time shown.",
            {"{{backend}}": "sum by (backend) (increase(drainhook_prestop_failed_total[$__range]))"},
            single=True,
        ),
        Panel(
            "Unprotected pods",
            "Labelled pods without the hook, or with one of an old profile.",
            {"{{backend}}": "sum by (backend) (drainhook_pods_unprotected)"},
            single=True,
        ),
    ),
    "Webhook": (
        Panel(
            "Admission latency",
            "From the whole body to the answer.",
            {
                "{{path}} median": _quantile(0.5, "path", "drainhook_admission_duration_seconds"),
                "{{path}} p99": _quantile(0.99, "path", "drainhook_admission_duration_seconds"),
            },
            "s",
        ),
        Panel(
            "Decisions",
            "Answers to the API server.",
            {"{{decision}}": "sum by (decision) (rate(drainhook_admission_requests_total[$__rate_interval]))"},
            "reqps",
        ),
        Panel(
            "Reasons",
            "Why pods were changed or left alone.",
            {"{{reason}}": "topk(10, sum by (reason) (increase(drainhook_admission_reasons_total[$__range])))"},
        ),
        Panel(
            "Certificate ends in",
            "The webhook stops working at zero.",
            {"": "min(drainhook_certificate_expiry_timestamp_seconds) - time()"},
            "s",
            single=True,
        ),
        Panel(
            "Own failures",
            "Pods that were admitted unchanged because of an error, in the time shown.",
            {
                "errors": "sum(increase(drainhook_admission_errors_total[$__range]))",
                "unproven": "sum(increase(drainhook_patch_proof_failures_total[$__range]))",
            },
            single=True,
        ),
    ),
    "Servers with the middleware": (
        Panel("In flight", "Requests and websockets.", {"{{pod}}": "inflight_requests"}),
        Panel("Draining for", "Seconds since the shutdown began.", {"{{pod}}": "shutdown_duration_seconds > 0"}, "s"),
        Panel(
            "Refused while draining",
            "Answered with 503, safe to repeat.",
            {"{{pod}}": "rate(requests_rejected_draining_total[$__rate_interval])", "draining": "sum(draining)"},
            "reqps",
        ),
    ),
}


def build() -> str:
    """Give the dashboard as JSON."""
    made = (
        dashboard.Dashboard("drainhook")
        .uid("drainhook")
        .tags(["drainhook", "kubernetes"])
        .refresh("30s")
        .time("now-6h", "now")
        .with_variable(dashboard.DatasourceVariable("datasource").type("prometheus").hide(VariableHide.DONT_HIDE))
    )
    for title, panels in ROWS.items():
        made.with_row(dashboard.Row(title))
        for panel in panels:
            made.with_panel(_panel(panel))
    return JSONEncoder(sort_keys=True, indent=2).encode(made.build()) + "\n"


def _panel(panel: Panel) -> stat.Panel | timeseries.Panel:
    made = stat.Panel() if panel.single else timeseries.Panel()
    made.title(panel.title).description(panel.description).datasource(_SOURCE).unit(panel.unit)
    made.span(_WIDE).height(_HIGH)
    if isinstance(made, timeseries.Panel):
        made.min(0).tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI))
    for legend, expression in panel.queries.items():
        made.with_target(prometheus.Dataquery().expr(expression).legend_format(legend))
    return made


if __name__ == "__main__":
    PLACE.write_text(build())
