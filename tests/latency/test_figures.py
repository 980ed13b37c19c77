"""The statistics on samples whose figures are known."""

from __future__ import annotations

import pytest

from tests.latency.figures import WITH, WITHOUT, figures, mark, order, percentile, table


def test_every_second_pair_is_turned_round():
    assert list(order(3)) == [WITH, WITHOUT, WITHOUT, WITH, WITH, WITHOUT]


@pytest.mark.parametrize(
    ("samples", "percent", "expected"),
    [
        ([7.0], 99, 7.0),
        ([3.0, 1.0, 2.0], 50, 2.0),
        ([float(number) for number in range(1, 101)], 99, 99.0),
        ([float(number) for number in range(1, 1001)], 99, 990.0),
        ([float(number) for number in range(1, 51)], 99, 50.0),
        ([5.0, 4.0], 0, 4.0),
    ],
)
def test_a_percentile_is_a_sample(samples, percent, expected):
    assert percentile(samples, percent) == expected


def test_the_median_of_differences_is_not_the_difference_of_medians():
    found = figures([1.0, 5.0, 6.0], [5.0, 1.0, 4.0])
    assert (found.pairs, found.median_with, found.median_without) == (3, 5.0, 4.0)
    assert (found.added_median, found.paired_median) == (1.0, 2.0)


def test_the_p99_is_that_of_each_row_and_of_the_differences():
    slow = [10.0] * 98 + [30.0, 50.0]
    found = figures(slow, [8.0] * 98 + [9.0, 50.0])
    assert (found.p99_with, found.p99_without, found.added_p99, found.paired_p99) == (30.0, 9.0, 21.0, 2.0)
    assert found.added_mean == pytest.approx((98 * 2 + 21) / 100)


def test_a_pair_without_its_other_half_is_an_error():
    with pytest.raises(ValueError, match="shorter"):
        figures([1.0, 2.0], [1.0])


def test_no_sample_is_an_error():
    with pytest.raises(ValueError, match="nothing was measured"):
        figures([], [])


@pytest.mark.parametrize(("value", "said"), [(4.9, "met"), (5.0, "met"), (5.01, "missed"), (-1.0, "met")])
def test_a_goal_is_met_or_missed(value, said):
    assert mark(value, 5.0) == said


def test_the_table_says_both_goals():
    lines = table(figures([10.0, 12.0], [4.0, 9.0])).splitlines()
    assert lines[1].split() == ["median", "11.00", "6.50", "4.50", "<=", "5", "met"]
    assert lines[2].split() == ["p99", "12.00", "9.00", "3.00", "<=", "25", "met"]
    assert "missed" in table(figures([40.0], [1.0]))
