"""Ratios of sums with limits: the bounds of cost per pass."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from highbar.statistics.bounded_ratio import BoundedRatio, bounded_ratio_bounds
from highbar.statistics.bounds import Sums, share_bounds, share_p_value


def ratio_of(costs, passed):
    """Sums of two columns between 0 and 1."""
    above, below = (Sums.of([(Fraction(one), 1) for one in column]) for column in (costs, passed))
    return BoundedRatio(above, below, sum(Fraction(c) * p for c, p in zip(costs, passed, strict=True)))


def test_its_ends_are_where_the_mean_of_what_is_left_is_rejected():
    random = np.random.default_rng(3)
    costs, passed = random.beta(1, 9, 60).tolist(), [1] * 50 + [0] * 10
    ratio = ratio_of(costs, passed)
    low, high = bounded_ratio_bounds(ratio, 0.05)
    assert low < sum(costs) / 50 < high
    assert share_p_value(ratio.at(high / (1 + high)), high / (1 + high)) == pytest.approx(0.05, abs=1e-9)
    by_definition = Sums.of(
        [((Fraction(c) - Fraction(high) * p + Fraction(high)) / (1 + Fraction(high)), 1)
         for c, p in zip(costs, passed, strict=True)]
    )  # fmt: skip
    found = share_bounds(by_definition, 0.05)
    assert found is not None
    assert found.high == pytest.approx(high / (1 + high), rel=1e-6)


def test_nothing_spent_has_no_lower_bound_above_0_and_few_passes_little_above():
    low, _ = bounded_ratio_bounds(ratio_of([0] * 20, [1] * 20), 0.05)
    assert low == 0
    _, high = bounded_ratio_bounds(ratio_of([0.5] * 20, [1] + [0] * 19), 0.05)
    assert high > 100


def test_more_scenarios_of_the_same_kind_never_widen():
    costs, passed = [0.02, 0.05, 0.04, 0.3], [1, 1, 1, 0]
    widths = []
    for copies in (5, 20, 100):
        low, high = bounded_ratio_bounds(ratio_of(costs * copies, passed * copies), 0.05)
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert math.isfinite(widths[0])


def bisected(ratio, alpha):
    """The bounds by their definition, in fractions and by bisection, as shares r / (1 + r)."""
    c, p, weight = ratio.above, ratio.below, Fraction(ratio.above.d)

    def rejects(share, *, low):
        s = Fraction(share)
        z = (1 - s) * c.z + s * (weight - p.z)
        zd = (1 - s) * c.zd + s * (p.dd - p.zd)
        zz = (1 - s) ** 2 * c.zz + s**2 * (p.dd - 2 * p.zd + p.zz) + 2 * s * (1 - s) * (c.zd - ratio.product)
        if low:
            z, zd, zz = weight - z, c.dd - zd, c.dd - 2 * zd + zz
        return share_p_value(Sums(c.clusters, weight, z, zz, zd, c.dd), 1 - share if low else share) < alpha

    for low in (True, False):
        inside, outside = float(c.z / Fraction(c.z + p.z)), 0.0 if low else 1.0
        for _ in range(60):
            middle = 0.5 * (inside + outside)
            inside, outside = (inside, middle) if rejects(middle, low=low) else (middle, outside)
        yield outside


@pytest.mark.parametrize("seed", range(12))
def test_they_are_those_of_a_bisection_to_twelve_digits_and_never_narrower(seed):
    random = np.random.default_rng(seed)
    count = int(random.choice([3, 8, 40, 300]))
    costs = [Fraction(round(one * 10**6), 10**6) for one in random.beta(1, random.choice([1, 9, 60]), count)]
    passed = [1, *(int(one) for one in random.random(count - 1) < random.choice([0.1, 0.8, 1.0]))]
    ratio, alpha = ratio_of(costs, passed), float(random.choice([0.001, 0.05, 0.1]))
    (low, high), (lowest, highest) = bounded_ratio_bounds(ratio, alpha), bisected(ratio, alpha)
    assert low / (1 + low) == pytest.approx(lowest, rel=5e-13)
    assert high / (1 + high) == pytest.approx(highest, rel=5e-13)
    # A last digit is lost in the way from a share to a ratio and back.
    assert low / (1 + low) <= lowest * (1 + 4e-16)
    assert high / (1 + high) >= highest * (1 - 4e-16)
