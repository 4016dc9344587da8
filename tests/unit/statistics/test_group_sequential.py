from __future__ import annotations

import math
import random

import numpy as np
import pytest
from bench.early_scores import by_looks, paired
from scipy import stats

from highbar.statistics.group_sequential import _beyond, _density, _nodes, critical_values, look_sizes


@pytest.mark.parametrize(
    ("spending", "published"),
    [("linear", [2.326, 2.219, 2.120, 2.033, 1.956]), ("late", [3.353, 2.753, 2.350, 2.019, 1.722])],
)
def test_the_critical_values_are_the_published_ones(spending, published):
    assert [round(z, 3) for z in critical_values(0.05, spending)] == published


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("spending", ["linear", "late"])
def test_the_looks_spend_what_is_allowed_by_the_multivariate_normal_law(alpha, spending):
    values = critical_values(alpha, spending)
    power = {"linear": 1, "late": 3}[spending]
    for looks in range(1, 6):
        scale = np.sqrt(np.arange(1, looks + 1))
        correlation = np.minimum.outer(scale, scale) / np.maximum.outer(scale, scale)
        law = stats.multivariate_normal(np.zeros(looks), correlation, allow_singular=False, seed=1)
        spent = 1 - law.cdf(np.array(values[:looks]))
        assert spent == pytest.approx(alpha * (looks / 5) ** power, abs=2e-5)


def test_the_constants_of_pocock_and_of_obrien_and_fleming_spend_alpha_by_the_same_steps():
    # Jennison and Turnbull (2000), two-sided 5 %, five looks: as a check of the integral, not of our designs.
    for values in ([2.413] * 5, [2.040 * math.sqrt(5 / look) for look in range(1, 6)]):
        points, spent = [(0.0, 1.0)], 0.0
        for look, value in enumerate(values, 1):
            top = value * math.sqrt(look)
            spent += 2 * _beyond(points, top)
            points = [(x, weight * _density(points, x)) for x, weight in _nodes(-top, top)]
        assert spent == pytest.approx(0.05, abs=2e-4)


def test_the_looks_are_equally_spaced_and_the_last_one_sees_everything():
    assert look_sizes(300) == (60, 120, 180, 240, 300)
    assert look_sizes(7) == (2, 3, 5, 6, 7)
    assert look_sizes(1) == (1, 1, 1, 1, 1)


def test_an_unchanged_agent_passes_a_margin_early_and_a_broken_one_fails_it_early():
    assert by_looks([0] * 300, "linear") == (True, 120)
    assert by_looks([-1] * 300, "linear") == (False, 60)


@pytest.mark.slow
def test_power_and_pairs_are_near_the_published_ones():
    # 300 pairs, a margin of 5 points, a tenth of the pairs differ: power .776 with 206 pairs.
    source = random.Random(3)
    unchanged = [paired(source, 300, 0.05, 0.05, "linear") for _ in range(400)]
    assert sum(passed is True for passed, _ in unchanged) / 400 == pytest.approx(0.776, abs=0.07)
    assert sum(units for _, units in unchanged) / 400 == pytest.approx(206, abs=12)
    worse = [paired(source, 300, 0.025, 0.075, "linear")[0] for _ in range(400)]
    assert max(worse.count(True), worse.count(False)) <= 400 * 0.083
