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

from highbar.statistics.bounds import Sums, complement, share_p_value
from highbar.statistics.interval import Interval, Real

_CLOSE = 1e-13
_MOST_STEPS = 200
"""The most steps of the search for a root, which takes about twelve."""
_LEAST = 1e-300
"""Stands for a p-value of 0, which has no logarithm."""


class BoundedRatio(Struct, frozen=True):
    """The sums of the numerator and of the denominator over the same clusters, and Σ numerator × denominator.

    Both parts of a cluster are between 0 and its weight d, which is the same in both sums.
    """

    above: Sums
    below: Sums
    product: Real

    def at(self, share: float) -> Sums:
        """The sums of (1 - s) c + s (d - p), whose mean is s = r / (1 + r) exactly if the ratio is r.

        In the unit of weight that makes the share a whole number, so that whole sums stay whole.
        """
        (s, unit), c, p = share.as_integer_ratio(), self.above, self.below
        rest = unit - s
        square = p.dd - 2 * p.zd + p.zz  # of d - p
        mixed = c.zd - self.product  # of c and d - p
        return Sums(
            clusters=c.clusters,
            d=unit * c.d,
            z=rest * c.z + s * (p.d - p.z),
            zz=rest * rest * c.zz + s * s * square + 2 * s * rest * mixed,
            zd=unit * (rest * c.zd + s * (p.dd - p.zd)),
            dd=unit * unit * c.dd,
        )


def bounded_ratio_bounds(ratio: BoundedRatio, alpha: float) -> Interval:
    """The bounds of Σ above / Σ below, for Σ below > 0; the upper one is infinite if no large ratio is excluded."""
    value = Fraction(ratio.above.z) / Fraction(ratio.below.z)
    middle = float(value / (1 + value))
    whole = _in_whole_numbers(ratio)

    # On a logarithmic scale a p-value falls evenly enough for a line through two points to be close to it.
    def too_high(share: float) -> float:
        return math.log(max(share_p_value(whole.at(share), share), _LEAST) / alpha)

    def too_low(share: float) -> float:
        return math.log(max(share_p_value(complement(whole.at(share)), 1 - share), _LEAST) / alpha)

    low = _root_between(middle, 0.0, too_low) if ratio.above.z > 0 else 0.0
    high = _root_between(middle, 1.0, too_high)
    return Interval(min(_as_ratio(low), float(value)), max(_as_ratio(high), float(value)))


def _in_whole_numbers(ratio: BoundedRatio) -> BoundedRatio:
    """The same sums in a unit of weight that makes them whole: the search adds and multiplies them many times."""
    every = [getattr(sums, name) for sums in (ratio.above, ratio.below) for name in ("d", "z", "zz", "zd", "dd")]
    unit = math.lcm(*(number.as_integer_ratio()[1] for number in (*every, ratio.product)))
    square = unit * unit
    above, below = (
        Sums(
            sums.clusters,
            d=_times(sums.d, unit),
            z=_times(sums.z, unit),
            zz=_times(sums.zz, square),
            zd=_times(sums.zd, square),
            dd=_times(sums.dd, square),
        )
        for sums in (ratio.above, ratio.below)
    )
    return BoundedRatio(above, below, _times(ratio.product, square))


def _times(number: Real, unit: int) -> int:
    """The number times a unit that makes it whole."""
    above, below = number.as_integer_ratio()
    return above * (unit // below)


def _as_ratio(share: float) -> float:
    return share / (1 - share) if 1 - share > _CLOSE else math.inf


def _root_between(inside: float, outside: float, excess: Callable[[float], float]) -> float:
    """The point at which `excess`, positive at `inside`, falls to 0 toward `outside` (Anderson–Björck)."""
    at_inside, at_outside = excess(inside), excess(outside)
    if at_inside <= 0:
        return inside
    if at_outside >= 0:
        return outside
    moved = None
    for _ in range(_MOST_STEPS):
        close, width = _CLOSE * max(inside, outside, _CLOSE), outside - inside
        if abs(width) < close:
            break
        # At least half of `close` away from both ends: otherwise only one of them would approach the root.
        nearest = 0.5 * close / abs(width)
        part = min(max(at_outside / (at_outside - at_inside), nearest), 1 - nearest)
        point = outside - part * width
        found = excess(point)
        # If the same end moves twice, the value at the other one is reduced, or that end would stay for long.
        if found > 0:
            if moved == "inside":
                at_outside *= 1 - found / at_inside if found < at_inside else 0.5
            inside, at_inside, moved = point, found, "inside"
        else:
            if moved == "outside":
                at_inside *= 1 - found / at_outside if found > at_outside else 0.5
            outside, at_outside, moved = point, found, "outside"
    # The outer end: a bound may be a last digit too wide, never too narrow.
    return outside
