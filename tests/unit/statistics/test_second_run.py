from __future__ import annotations

import pytest
from scipy import stats

from highbar.statistics.bounds import count_bounds
from highbar.statistics.second_run import second_run_differs, second_run_differs_by_width


@pytest.mark.parametrize(("passed", "total"), [(17, 20), (16, 20), (43, 50), (10, 10), (0, 5), (930, 1000)])
def test_a_second_run_is_predicted_by_the_beta_binomial_law(passed, total):
    law = stats.betabinom(total, passed + 0.5, total - passed + 0.5)
    needed = -(-85 * total // 100)
    below = float(law.cdf(needed - 1))
    expected = below if passed >= needed else 1 - below
    assert second_run_differs(passed, total, 0.85) == pytest.approx(expected, rel=1e-9)


def test_ten_of_ten_is_no_certainty():
    assert 0.05 < second_run_differs(10, 10, 0.85) < 0.2


def test_at_the_threshold_it_is_nearly_a_coin_toss():
    assert second_run_differs(850, 1000, 0.85) == pytest.approx(0.5, abs=0.05)


def test_far_from_the_threshold_it_is_settled():
    assert second_run_differs(500, 1000, 0.85) < 1e-9
    assert second_run_differs(999, 1000, 0.85) < 1e-9


def test_a_huge_suite_is_predicted_as_a_large_one():
    assert second_run_differs(43_000, 50_000, 0.859) == pytest.approx(
        second_run_differs(4_300, 5_000, 0.8568), abs=0.01
    )


def test_the_prediction_from_the_interval_is_close_to_that_from_the_counts():
    for passed in (780, 830, 870, 900):
        low, high = count_bounds(passed, 1000, 0.05)
        by_width = second_run_differs_by_width(passed / 1000, low, high, 0.85, 0.05)
        assert by_width == pytest.approx(second_run_differs(passed, 1000, 0.85), abs=0.02)


def test_an_interval_that_says_nothing_predicts_a_coin_toss():
    assert second_run_differs_by_width(0.9, -float("inf"), 1.0, 0.85, 0.05) == 0.5
    assert second_run_differs_by_width(0.85, 0.8, 0.9, 0.85, 0.05) == 0.5
    assert second_run_differs_by_width(0.9, 0.9, 0.9, 0.85, 0.05) == 0
