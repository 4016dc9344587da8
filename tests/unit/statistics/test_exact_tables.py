"""Tables of error rates, enumerated exactly: why the bounds are Clopper–Pearson and not one of the usual others.

They are over true rates from 0.5 to 0.999 (steps of 0.005, from 0.9 on of 0.0005).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from bench.by_scenario import count_bounds, point_gate_chance
from scipy import special, stats

from highbar.statistics.bounds import Sums, share_bounds
from highbar.statistics.distributions import normal_quantile
from highbar.statistics.interval import Interval
from highbar.statistics.paired import bonett_price, tango_z
from highbar.statistics.planning import gate_chances, gate_limits
from highbar.statistics.ratio import student_quantile
from tests.unit.statistics import published

Method = Callable[[int, int, float], Interval]

RATES = np.concatenate([np.arange(0.5, 0.9 - 1e-9, 0.005), np.arange(0.9, 0.999 + 1e-9, 0.0005)])


def intervals(method: Method, total: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    ends = np.array([method(passed, total, alpha) for passed in range(total + 1)])
    return ends[:, 0][None, :], ends[:, 1][None, :]


def chances(total: int) -> np.ndarray:
    return stats.binom.pmf(np.arange(total + 1)[None, :], total, RATES[:, None])


ONE_SIDED = {
    published.wald: {10: (0.990, 0.114), 30: (0.970, 0.074), 100: (0.905, 0.055), 1000: (0.368, 0.053)},
    published.student: {10: (0.990, 0.067), 30: (0.970, 0.067), 100: (0.905, 0.055), 1000: (0.368, 0.052)},
    published.wilson: {10: (0.089, 0.204), 30: (0.074, 0.190), 100: (0.068, 0.181), 1000: (0.061, 0.086)},
    published.jeffreys: {10: (0.146, 0.162), 30: (0.147, 0.152), 100: (0.147, 0.139), 1000: (0.135, 0.080)},
    published.mid_p: {10: (0.095, 0.096), 30: (0.100, 0.086), 100: (0.098, 0.095), 1000: (0.082, 0.080)},
    published.uniform_prior: {10: (0.075, 1.00), 30: (0.062, 1.00), 100: (0.057, 0.296), 1000: (0.053, 0.109)},
    count_bounds: {10: (0.049, 0.050), 30: (0.050, 0.050), 100: (0.050, 0.050), 1000: (0.050, 0.050)},
}


@pytest.mark.slow
@pytest.mark.parametrize("method", ONE_SIDED, ids=lambda method: method.__name__)
def test_largest_false_pass_and_false_fail_of_one_sided_bounds(method):
    for total, printed in ONE_SIDED[method].items():
        low, high = intervals(method, total, 0.05)
        false_pass = (chances(total) * (low > RATES[:, None])).sum(axis=1).max()
        false_fail = (chances(total) * (high < RATES[:, None])).sum(axis=1).max()
        assert (round(false_pass, 3), round(false_fail, 3)) == printed


TWO_SIDED = {
    published.wald: {10: (0.518, 0.010), 30: (0.756, 0.030), 100: (0.875, 0.095), 1000: (0.941, 0.632)},
    published.wilson: {10: (0.949, 0.838), 30: (0.954, 0.848), 100: (0.952, 0.861), 1000: (0.951, 0.920)},
    published.agresti_coull: {10: (0.968, 0.927), 30: (0.970, 0.934), 100: (0.964, 0.939), 1000: (0.953, 0.944)},
    published.jeffreys: {10: (0.963, 0.869), 30: (0.957, 0.889), 100: (0.951, 0.881), 1000: (0.950, 0.917)},
    published.mid_p: {10: (0.977, 0.927), 30: (0.970, 0.925), 100: (0.958, 0.921), 1000: (0.951, 0.917)},
    count_bounds: {10: (0.988, 0.961), 30: (0.982, 0.954), 100: (0.972, 0.951), 1000: (0.958, 0.951)},
}


@pytest.mark.parametrize("method", TWO_SIDED, ids=lambda method: method.__name__)
def test_mean_and_least_coverage_of_two_sided_intervals(method):
    for total, printed in TWO_SIDED[method].items():
        low, high = intervals(method, total, 0.025)
        covered = (low <= RATES[:, None]) & (RATES[:, None] <= high)
        coverage = (chances(total) * covered).sum(axis=1)
        assert (round(coverage.mean(), 3), round(coverage.min(), 3)) == printed


@pytest.mark.parametrize(
    ("method", "widths"),
    [
        (published.wilson, {10: 0.366, 30: 0.207, 100: 0.110, 1000: 0.034}),
        (count_bounds, {10: 0.420, 30: 0.225, 100: 0.116, 1000: 0.035}),
    ],
)
def test_mean_width_of_two_sided_intervals(method, widths):
    for total, printed in widths.items():
        low, high = intervals(method, total, 0.025)
        assert round((chances(total) * (high - low)).sum(axis=1).mean(), 3) == printed


NAIVE = {
    20: (0.107, 0.225, 0.411, 0.599, 0.648, 0.867, 0.984),
    50: (0.007, 0.045, 0.190, 0.441, 0.519, 0.878, 0.997),
    100: (0.000, 0.011, 0.129, 0.458, 0.568, 0.960, 1.000),
    200: (0.000, 0.000, 0.043, 0.394, 0.549, 0.990, 1.000),
}


@pytest.mark.parametrize("total", NAIVE)
def test_how_often_a_point_gate_passes(total):
    rates = (0.70, 0.75, 0.80, 0.84, 0.85, 0.90, 0.95)
    assert tuple(round(point_gate_chance(total, 0.85, rate), 3) for rate in rates) == NAIVE[total]


def test_how_often_a_point_gate_disagrees_with_itself():
    printed = {(20, 0.80): 48, (20, 0.90): 23, (100, 0.80): 22, (100, 0.90): 8}
    for (total, rate), percent in printed.items():
        chance = point_gate_chance(total, 0.85, rate)
        assert round(100 * 2 * chance * (1 - chance)) == percent
    for total in (20, 50, 100, 200):
        chance = point_gate_chance(total, 0.85, 0.85)
        assert 2 * chance * (1 - chance) > 0.45


def test_how_often_retrying_until_green_succeeds():
    for total, percent in {20: 80, 50: 47, 100: 34}.items():
        assert round(100 * (1 - (1 - point_gate_chance(total, 0.85, 0.80)) ** 3)) == percent


THREE_WAY = {
    50: ((47, 37), ((0, 78, 22), (1, 19, 81), (5, 3, 92), (25, 0, 75), (76, 0, 24), (100, 0, 0))),
    100: ((92, 78), ((0, 97, 3), (0, 35, 65), (3, 4, 93), (32, 0, 68), (94, 0, 6), (100, 0, 0))),
    200: ((179, 161), ((0, 100, 0), (0, 60, 40), (4, 5, 91), (65, 0, 35), (100, 0, 0), (100, 0, 0))),
    500: ((439, 411), ((0, 100, 0), (0, 90, 10), (4, 5, 91), (95, 0, 5), (100, 0, 0), (100, 0, 0))),
}


@pytest.mark.parametrize("total", THREE_WAY)
def test_how_often_a_confident_gate_passes_fails_and_cannot_tell(total):
    limits, rows = THREE_WAY[total]
    assert gate_limits(total, 0.85) == limits
    for rate, printed in zip((0.70, 0.80, 0.85, 0.90, 0.95, 0.99), rows, strict=True):
        chance = gate_chances(total, 0.85, rate)
        percent = (chance.passes, chance.fails, chance.inconclusive)
        assert tuple(round(100 * share) for share in percent) == pytest.approx(printed, abs=1)


def test_a_confident_gate_hardly_ever_contradicts_itself():
    for total in (20, 50, 100, 200, 500):
        for rate in np.arange(0.5, 1.0, 0.01):
            chance = gate_chances(total, 0.85, float(rate))
            assert 2 * chance.passes * chance.fails <= 0.00415


def trinomial(total: int, difference: float, discordance: float) -> np.ndarray:
    better, worse = np.meshgrid(np.arange(total + 1), np.arange(total + 1), indexing="ij")
    same = np.maximum(total - better - worse, 0)
    ways = special.gammaln(total + 1) - sum(special.gammaln(cell + 1) for cell in (better, worse, same))
    rates = ((discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance)
    logs = sum(special.xlogy(cell, rate) for cell, rate in zip((better, worse, same), rates, strict=True))
    return np.where(better + worse <= total, np.exp(ways + logs), 0.0)


def decisions(total: int, passes: Callable[[int, int], bool]) -> np.ndarray:
    table = np.zeros((total + 1, total + 1))
    for better in range(total + 1):
        for worse in range(total + 1 - better):
            table[better, worse] = passes(better, worse)
    return table


def by_student(total: int, margin: float) -> Callable[[int, int], bool]:
    quantile = student_quantile(0.95, total - 1)

    def passes(better: int, worse: int) -> bool:
        mean = (better - worse) / total
        variance = ((better + worse) / total - mean * mean) / (total - 1)
        return mean - quantile * math.sqrt(max(variance, 0.0)) >= -margin

    return passes


def by_bonett_price(total: int, margin: float) -> Callable[[int, int], bool]:
    return lambda better, worse: bonett_price(total, better - worse, better + worse, 0.05).low >= -margin


def by_tango(total: int, margin: float) -> Callable[[int, int], bool]:
    return lambda better, worse: tango_z(better, worse, total, -margin) >= normal_quantile(0.95)


def by_share(total: int, margin: float) -> Callable[[int, int], bool]:
    def passes(better: int, worse: int) -> bool:
        scores = [(2, 2)] * better + [(0, 2)] * worse + [(1, 2)] * (total - better - worse)
        bounds = share_bounds(Sums.of(scores), 0.05)
        return bounds is not None and 2 * bounds.low - 1 >= -margin

    return passes


@pytest.mark.parametrize(
    ("method", "total", "largest", "power"),
    [
        (by_student, 10, 0.598, 0.41),
        (by_student, 30, 0.214, 0.28),
        (by_student, 100, 0.118, 0.48),
        (by_student, 200, 0.123, 0.72),
        (by_bonett_price, 10, 0.043, 0.01),
        (by_bonett_price, 30, 0.048, 0.12),
        (by_bonett_price, 100, 0.050, 0.44),
        (by_bonett_price, 200, 0.065, 0.71),
        (by_tango, 10, 0.043, 0.01),
        (by_tango, 30, 0.053, 0.12),
        (by_tango, 100, 0.050, 0.44),
        (by_tango, 200, 0.051, 0.69),
        (by_share, 10, 0.020, None),
        (by_share, 30, 0.029, None),
    ],
)
def test_largest_error_and_power_of_non_inferiority_by_pairs(method, total, largest, power):
    table = decisions(total, method(total, 0.05))
    discordances = [0.0501, *np.arange(0.06, 0.501, 0.02)]
    errors = [(trinomial(total, -0.05, share) * table).sum() for share in discordances]
    assert max(errors) == pytest.approx(largest, abs=0.0015)
    if power is not None:
        assert round((trinomial(total, 0.0, 0.10) * table).sum(), 2) == power
