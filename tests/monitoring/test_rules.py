"""The rules and the dashboard ask for metrics that exist, and each alert fires on what it is for."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from webhook.drainable import metrics as drainable
from webhook.drainable.board import Board
from webhook.observe.metrics import Metrics as Observed
from webhook.server.metrics import Metrics

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "manifests/monitoring"
UNIT_TESTS = Path(__file__).with_name("rules_test.yaml")
RULES = yaml.safe_load((MONITORING / "prometheusrule.yaml").read_text())["spec"]
ALL = [rule for group in RULES["groups"] for rule in group["rules"]]
TESTS = yaml.safe_load(UNIT_TESTS.read_text())["tests"]
ALERTS = [rule["alert"] for rule in ALL if "alert" in rule]
RECORDED = [rule["record"] for rule in ALL if "record" in rule]
_PARTS = ("bucket", "count", "sum")  # of a histogram, which has no samples before its first use
WORDS = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
# Of PromQL, of Grafana, and labels.
OTHERS = {"absent", "by", "topk", "sum", "min", "rate", "increase", "histogram_quantile", "time", "le", "path"}
OTHERS |= {"backend", "reason", "decision"}


@pytest.fixture
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is missing: apt-get install prometheus")
    return found


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """Give the folder with the rule file as Prometheus without the operator reads it, and its tests beside it."""
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(RULES))
    shutil.copy(UNIT_TESTS, tmp_path)
    return tmp_path


def run(*command: str, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def exported() -> set[str]:
    """Give every sample name that the product exports."""
    families = [*Metrics().registry.collect(), *Observed(["vllm"], ["pods"], ["gone"]).registry.collect()]
    named = {sample.name for family in families for sample in family.samples}
    named |= {f"{family.name}_{part}" for family in families for part in _PARTS if family.type == "histogram"}
    return named | set(drainable.values(Board(), 0.0))


def source() -> dict[str, Any]:
    """Give what stands in the dashboard's source."""
    pytest.importorskip("grafana_foundation_sdk", reason="the dashboard is made by grafana-foundation-sdk")
    return runpy.run_path(str(MONITORING / "dashboard.py"))


def queries() -> list[str]:
    return [expr for row in source()["ROWS"].values() for panel in row for expr in panel.queries.values()]


def test_the_rules_are_rules(promtool: str, rules: Path) -> None:
    run(promtool, "check", "rules", "--lint-fatal", "rules.yaml", cwd=rules)


def test_each_alert_fires_on_what_it_is_for(promtool: str, rules: Path) -> None:
    run(promtool, "test", "rules", UNIT_TESTS.name, cwd=rules)


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_has_a_test_in_which_it_fires_with_its_text(alert: str) -> None:
    wanted = [one for test in TESTS for one in test.get("alert_rule_test", []) if one["alertname"] == alert]
    fired = [labels for one in wanted for labels in one.get("exp_alerts", [])]
    assert fired
    assert all(one["exp_annotations"].keys() == {"summary", "description"} for one in fired)


def test_no_name_is_asked_for_that_nobody_exports() -> None:
    asked = [*(rule["expr"] for rule in ALL), *queries()]
    text = " ".join(re.sub(r'"[^"]*"|\$__\w+|\[[^]]*\]', " ", expression) for expression in asked)
    found = {word for word in WORDS.findall(text) if not word.isdigit()} - OTHERS
    assert found - exported() - set(RECORDED) == set()
    assert found >= {"drainhook_pod_shutdown_duration_seconds_bucket", "inflight_requests"}


def test_each_query_of_the_dashboard_is_promql(promtool: str, tmp_path: Path) -> None:
    plain = [re.sub(r"\$__(rate_interval|range)", "5m", expr) for expr in queries()]
    made = [{"record": f"panel:query:number{number}", "expr": expr} for number, expr in enumerate(plain)]
    (tmp_path / "panels.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": made}]}))
    run(promtool, "check", "rules", "panels.yaml", cwd=tmp_path)


def test_the_dashboard_is_the_one_that_its_source_makes() -> None:
    assert (MONITORING / "dashboard.json").read_text() == source()["build"]()
