"""Both pods against the selectors of the manifests that we ship: one is for both webhooks, one for neither."""

from __future__ import annotations

import pytest
import yaml

from tests.cluster.pins import ROOT
from tests.latency.figures import WITH, WITHOUT
from tests.latency.pods import pods
from webhook import names


@pytest.mark.parametrize("file", ["mutating", "validating"])
def test_one_pod_is_selected_and_the_other_is_not(file):
    (webhook,) = yaml.safe_load((ROOT / f"manifests/base/{file}.yaml").read_text())["webhooks"]
    selected = {
        kind: all(_holds(one, pod["metadata"]["labels"]) for one in webhook["objectSelector"]["matchExpressions"])
        for kind, pod in pods().items()
    }
    assert selected == {WITH: True, WITHOUT: False}


def test_they_differ_in_one_label_and_never_start():
    one, other = pods()[WITH], pods()[WITHOUT]
    assert one["spec"] == other["spec"]
    assert one["spec"]["schedulingGates"]
    assert one["metadata"]["labels"].keys() == other["metadata"]["labels"].keys()
    assert names.BACKEND in one["metadata"]["labels"]


def _holds(expression, labels):
    match expression["operator"]:
        case "Exists":
            return expression["key"] in labels
        case "NotIn":
            return labels.get(expression["key"]) not in expression["values"]
    raise AssertionError(expression)
