"""Bounds of a ratio of two sums whose parts are bounded, such as the cost of the scenarios over the number that passed.

With c and p a scenario's parts, each from 0 to 1, the ratio Σc / Σp is r exactly if the mean of c - r p is 0. That is a
mean of bounded numbers, so the pseudo-cluster Beta bound applies: the interval has the ratios that it does not reject.
No distribution of the costs is assumed, only the limit that they were divided by.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from msgspec import Struct

from highbar.statistics.bounds import Sums, share_p_value
from highbar.statistics.interval import Interval, Real

_CLOSE = 1e-13
_MOST_STEPS = 200
"""The most steps of the search for a root, which converges much sooner."""


class BoundedRatio(Struct, frozen=True):
    """The sums of the numerator and of the denominator over the same clusters, and Σ numerator × denominator.

    Both parts of a cluster are between 0 and its weight d, which is the same in both sums.
    """

    above: Sums
    below: Sums
    product: Real

    def at(self, share: float) -> Sums:
        """The sums of (1 - s) c + s (d - p), whose mean is s = r / (1 + r) exactly if the ratio is r."""
        s, c, p = Fraction(share), self.above, self.below
        rest = 1 - s
        square = Fraction(p.dd) - 2 * Fraction(p.zd) + Fraction(p.zz)  # of d - p
        mixed = Fraction(c.zd) - Fraction(self.product)  # of c and d - p
        return Sums(
            clusters=c.clusters,
            d=c.d,
            z=rest * Fraction(c.z) + s * (Fraction(p.d) - Fraction(p.z)),
            zz=rest * rest * Fraction(c.zz) + s * s * square + 2 * s * rest * mixed,
            zd=rest * Fraction(c.zd) + s * (Fraction(p.dd) - Fraction(p.zd)),
            dd=c.dd,
        )


def bounded_ratio_bounds(ratio: BoundedRatio, alpha: float) -> Interval:
    """The bounds of Σ above / Σ below, for Σ below > 0; the upper one is infinite if no large ratio is excluded."""
    value = Fraction(ratio.above.z) / Fraction(ratio.below.z)
    middle = float(value / (1 + value))

    def too_high(share: float) -> float:
        return share_p_value(ratio.at(share), share) - alpha

    def too_low(share: float) -> float:
        return share_p_value(_complement(ratio.at(share)), 1 - share) - alpha

    low = _root_between(middle, 0.0, too_low) if ratio.above.z > 0 else 0.0
    high = _root_between(middle, 1.0, too_high)
    return Interval(min(_as_ratio(low), float(value)), max(_as_ratio(high), float(value)))


def _as_ratio(share: float) -> float:
    return share / (1 - share) if 1 - share > _CLOSE else math.inf


def _complement(sums: Sums) -> Sums:
    """The sums with each score z replaced by d - z."""
    d, z, zz, zd, dd = (Fraction(number) for number in (sums.d, sums.z, sums.zz, sums.zd, sums.dd))
    return Sums(sums.clusters, d, d - z, dd - 2 * zd + zz, dd - zd, dd)


def _root_between(inside: float, outside: float, excess: Callable[[float], float]) -> float:
    """The point at which `excess`, positive at `inside`, falls to 0 toward `outside` (regula falsi, Illinois)."""
    at_inside, at_outside = excess(inside), excess(outside)
    if at_inside <= 0:
        return inside
    if at_outside >= 0:
        return outside
    for _ in range(_MOST_STEPS):
        if abs(outside - inside) < _CLOSE * max(inside, outside, _CLOSE):
            break
        point = outside - at_outside * (outside - inside) / (at_outside - at_inside)
        if point in (inside, outside):
            break
        found = excess(point)
        if found > 0:
            inside, at_inside, at_outside = point, found, at_outside / 2
        else:
            outside, at_outside, at_inside = point, found, at_inside / 2
    # The outer end: a bound may be a last digit too wide, never too narrow.
    return outside
