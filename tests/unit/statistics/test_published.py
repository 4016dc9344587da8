"""Numbers that others have printed, to the digits they printed."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from bench.by_scenario import count_bounds, pass_at, pass_hat

from highbar.statistics.bounds import Sums, share_bounds
from highbar.statistics.distributions import at_most
from highbar.statistics.interval import Interval
from highbar.statistics.paired import bonett_price, mcnemar_exact, mcnemar_mid_p, tango_interval
from highbar.statistics.planning import clusters_to_exclude, pairs_needed
from highbar.statistics.slices import benjamini_hochberg
from tests.unit.statistics import published

Method = Callable[[int, int, float], Interval]

AIME_II = {  # of 4 trials on each of 15 questions: github.com/sambowyer/no_clt_paper, data/matharena_aime_II.csv
    "o3-mini (high)": (4, 4, 4, 4, 3, 4, 4, 3, 4, 4, 4, 4, 2, 4, 4),
    "o3-mini (medium)": (4, 4, 4, 4, 3, 4, 2, 3, 1, 4, 3, 4, 1, 4, 3),
    "DeepSeek-R1": (4, 4, 2, 4, 3, 4, 2, 4, 4, 3, 2, 4, 0, 4, 1),
    "gpt-4o": (2, 4, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
}


def assert_prints(interval: tuple[float, ...], printed: tuple[float, ...], digits: int = 4) -> None:
    assert [round(end, digits) for end in interval] == pytest.approx(list(printed), abs=1e-12)


@pytest.mark.parametrize(
    ("method", "intervals"),
    [
        (published.wilson, [(0.2553, 0.3662), (0.0624, 0.1605), (0, 0.1611), (0.0061, 0.1718)]),
        (count_bounds, [(0.2527, 0.3676), (0.0578, 0.1617), (0, 0.1684), (0.0009, 0.1776)]),
        (published.mid_p, [(0.2544, 0.3658), (0.0601, 0.1581), (0, 0.1391), (0.0017, 0.1585)]),
        (published.wilson_corrected, [(0.2535, 0.3682), (0.0598, 0.1644), (0, 0.2005), (0.0018, 0.1963)]),
    ],
)
def test_newcombe_1998_table_1_of_single_rates(method: Method, intervals: list[tuple[float, float]]):
    for (passed, total), printed in zip([(81, 263), (15, 148), (0, 20), (1, 29)], intervals, strict=True):
        assert_prints(method(passed, total, 0.025), printed)


def test_jeffreys_interval_as_newcombe_prints_it():
    assert_prints(published.jeffreys(0, 20, 0.025), (0, 0.117), 3)
    assert_prints(published.jeffreys(1, 29, 0.025), (0.004, 0.150), 3)


@pytest.mark.parametrize(
    ("first", "second", "printed"),
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.0582, 0.8062)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
        ((0, 10), (0, 20), (-0.1611, 0.2775)),
        ((0, 10), (0, 10), (-0.2775, 0.2775)),
        ((10, 10), (0, 20), (0.6791, 1)),
        ((10, 10), (0, 10), (0.6075, 1)),
    ],
)
def test_newcombe_1998_table_2_of_independent_differences(first, second, printed):
    assert_prints(published.newcombe_difference(first, second, 0.025), printed)


def test_newcombe_1998_of_paired_differences():
    assert_prints(published.newcombe_paired((20, 12, 2, 16), 0.025, corrected=True), (0.0562, 0.3292))
    assert_prints(published.newcombe_paired((20, 12, 2, 16), 0.025, corrected=False), (0.0618, 0.3242))


def test_fagerland_2014_intervals_of_airway_hyperresponsiveness():
    assert_prints(tango_interval(1, 7, 21, 0.025), (-0.517, -0.026), 3)
    assert_prints(published.newcombe_paired((1, 1, 7, 12), 0.025, corrected=True), (-0.507, -0.026), 3)
    assert_prints(bonett_price(21, 1 - 7, 1 + 7, 0.025), (-0.508, -0.013), 3)
    assert_prints(published.wald_paired(1, 7, 21, 0.025), (-0.520, -0.052), 3)


def test_fagerland_2013_p_values_of_mcnemar():
    p_values = published.mcnemar_asymptotic(1, 7), mcnemar_exact(1, 7), mcnemar_mid_p(1, 7)
    assert_prints(p_values, (0.034, 0.070, 0.039), 3)


@pytest.mark.parametrize(
    ("cells", "alpha", "printed"),
    [
        ((4, 9, 3, 16), 0.025, (-0.027, 0.390)),
        ((43, 0, 1, 0), 0.05, (-0.096, 0.037)),
        ((53, 16, 8, 9), 0.025, (-0.020, 0.207)),  # Agresti & Min 2005
    ],
)
def test_tango_1998_score_intervals(cells, alpha, printed):
    _, better, worse, _ = cells
    assert_prints(tango_interval(better, worse, sum(cells), alpha), printed, 3)


@pytest.mark.parametrize(
    ("rate", "total", "printed"),
    [
        (0.106, 100, 0.952),
        (0.107, 100, 0.911),
        (0.2, 30, 0.946),
        (0.2, 98, 0.928),
        (0.5, 17, 0.951),
        (0.5, 40, 0.919),
        (0.005, 591, 0.945),
        (0.005, 592, 0.792),
        (0.005, 954, 0.852),
        (0.005, 1279, 0.875),
        (0.005, 1583, 0.889),
        (0.005, 1876, 0.898),
    ],
)
def test_brown_cai_dasgupta_2001_coverage_of_wald(rate, total, printed):
    inside = [k for k in range(total + 1) if (w := published.wald(k, total, 0.025)).low <= rate <= w.high]
    coverage = at_most(max(inside), total, rate) - at_most(min(inside) - 1, total, rate)
    assert round(coverage, 3) == printed


def test_wilks_sizes_for_95_of_95():
    assert [clusters_to_exclude(Fraction(5, 100), 0.05, exceeding) for exceeding in range(4)] == [59, 93, 124, 153]


def test_benjamini_hochberg_1995_thrombolysis():
    p_values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p_values += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    assert sum(benjamini_hochberg(p_values, 0.05)) == 4
    assert sum(published.bonferroni(p_values, 0.05)) == 3


def test_holm_1979_as_it_is_usually_shown():
    assert published.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_miller_2024_sample_size():
    assert pairs_needed(0.03, Fraction(1, 9), power=0.8, alpha=0.025) == 969


def test_pass_at_k_and_pass_hat_k():
    assert round(float(pass_at(5, 10, 3) or 0), 6) == 0.916667
    assert round(float(pass_hat(3, 8, 6) or 0), 6) == 0.357143


@pytest.mark.parametrize(
    ("passed", "printed"), [(20, (0.8609, 1)), (18, (0.7174, 0.9819)), (12, (0.3936, 0.7829)), (0, (0, 0.1391))]
)
def test_bounds_of_twenty_tool_use_scenarios(passed, printed):
    sums = Sums.of([(1, 1)] * passed + [(0, 1)] * (20 - passed))
    assert_prints(share_bounds(sums, 0.05) or (), printed)


@pytest.mark.parametrize(
    ("model", "printed"),
    [
        ("o3-mini (high)", (0.7546, 0.9818)),
        ("o3-mini (medium)", (0.6138, 0.9052)),
        ("DeepSeek-R1", (0.5526, 0.8795)),
        ("gpt-4o", (0.0383, 0.3368)),
    ],
)
def test_clustered_bounds_of_the_mathematics_olympiad(model, printed):
    by_trial = Sums.of((passed, 4) for passed in AIME_II[model])
    by_mean = Sums.of((Fraction(passed, 4), 1) for passed in AIME_II[model])
    assert_prints(share_bounds(by_trial, 0.05) or (), printed)
    assert share_bounds(by_mean, 0.05) == share_bounds(by_trial, 0.05)


def test_paired_bounds_of_the_mathematics_olympiad():
    high, medium = AIME_II["o3-mini (high)"], AIME_II["o3-mini (medium)"]
    differences = [Fraction(after - before, 4) for before, after in zip(medium, high, strict=True)]
    interval = bonett_price(15, sum(differences), sum(d * d for d in differences), 0.05)
    assert_prints(interval, (-0.0432, 0.2785))
    mean = math.fsum(differences) / 15
    assert round(mean, 3) == 0.133
