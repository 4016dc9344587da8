from __future__ import annotations

from fractions import Fraction

import pytest
from bench.by_scenario import count_bounds

from highbar.statistics.planning import MOST_TO_EXCLUDE, clusters_to_exclude

FIVE_PERCENT = Fraction(5, 100)


def test_no_failure_in_59_scenarios_excludes_5_percent():
    assert clusters_to_exclude(FIVE_PERCENT, 0.05) == 59
    assert clusters_to_exclude(Fraction(1, 100), 0.05) == 299


def test_a_rate_of_0_is_never_excluded():
    assert clusters_to_exclude(0, 0.05) == MOST_TO_EXCLUDE


def test_one_scenario_excludes_certain_failure():
    assert clusters_to_exclude(1, 0.05) == 1


@pytest.mark.parametrize(
    ("scenarios", "bound", "rule_of_three"),
    [
        (10, 0.741, 0.700),
        (20, 0.861, 0.850),
        (30, 0.905, 0.900),
        (59, 0.950, 0.949),
        (100, 0.970, 0.970),
        (299, 0.990, 0.990),
    ],
)
def test_the_bound_without_a_failure_beside_the_rule_of_three(scenarios, bound, rule_of_three):
    exact = 0.05 ** (1 / scenarios)
    assert round(exact, 3) == bound
    assert round(1 - 3 / scenarios, 3) == rule_of_three
    assert exact == pytest.approx(count_bounds(scenarios, scenarios, 0.05).low, rel=1e-12)


@pytest.mark.parametrize(
    ("rate", "sizes"),
    [
        (Fraction(10, 100), (29, 46, 61, 76)),
        (Fraction(5, 100), (59, 93, 124, 153)),
        (Fraction(2, 100), (149, 236, 313, 386)),
        (Fraction(1, 100), (299, 473, 628, 773)),
    ],
)
def test_scenarios_that_show_a_failure_rate_with_up_to_three_failures(rate, sizes):
    assert tuple(clusters_to_exclude(rate, 0.05, failures) for failures in range(4)) == sizes
    for failures, size in enumerate(sizes):
        assert count_bounds(size - failures, size, 0.05).low >= 1 - rate
        assert count_bounds(size - 1 - failures, size - 1, 0.05).low < 1 - rate
