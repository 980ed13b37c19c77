"""A figure is held against its goal in the right direction, and the table says so."""

import pytest

from tests.benchmarks.figures import BenchmarkError, figure
from tests.benchmarks.goals import Goal
from tests.benchmarks.report import markdown, table


@pytest.mark.parametrize(
    ("value", "mark"),
    [(0.5, "aim reached"), (0.6, "aim reached"), (0.7, "floor held"), (0.8, "floor held"), (0.9, "FLOOR MISSED")],
)
def test_less_is_better(value, mark):
    assert Goal(0.8, 0.6).mark(value) == mark


@pytest.mark.parametrize(("value", "mark"), [(7, "aim reached"), (3, "floor held"), (2.9, "FLOOR MISSED")])
def test_more_is_better(value, mark):
    assert Goal(3, 6, is_more_better=True).mark(value) == mark


def test_the_median_counts_and_the_range_is_shown():
    row = figure("start", "CPU", "s", [0.5, 0.9, 0.7], Goal(0.8, 0.6))
    assert (row.median, row.mark) == (0.7, "floor held")
    for text in (table([row]), markdown([row])):
        assert "0.500 - 0.900" in text
        assert "floor held" in text


def test_nothing_measured_is_no_figure():
    with pytest.raises(BenchmarkError, match="nothing was measured for CPU"):
        figure("start", "CPU", "s", [])
