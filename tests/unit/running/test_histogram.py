"""Percentiles in memory that does not grow."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from highbar.running.histogram import Histogram


def of(values: list[float]) -> Histogram:
    found = Histogram()
    for value in values:
        found.add(value)
    return found


@given(st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=60), st.sampled_from([0.01, 0.5, 0.95, 1.0]))
def test_a_percentile_is_that_of_the_sorted_numbers_within_one_percent(values: list[float], share: float) -> None:
    exact = sorted(values)[math.ceil(share * len(values) - 1e-9) - 1]
    found = of(values).percentile(share)
    assert found is not None
    assert abs(found / exact - 1) < 0.0101


def test_there_is_no_percentile_of_no_numbers() -> None:
    assert Histogram().percentile(0.95) is None


def test_nothing_and_less_than_nothing_count_as_a_millionth() -> None:
    found = of([0.0, -5.0, 0.0]).percentile(0.5)
    assert found is not None
    assert found < 1.1e-6


def test_many_numbers_need_few_classes() -> None:
    found = of([place / 7 for place in range(1, 20_000)])
    assert len(found._counts) < 700
