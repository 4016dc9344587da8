"""Bounds of a formula over several metrics.

A sum of shares over the same scenarios is itself a share: each scenario adds to it, by the factors, what it scored of
what it could score. So it has the bounds of a share, whatever connects its terms. Scenarios that no term has seen fail
are allowed for as in any share: one that fails in every term at once.

Other formulas have bounds from those of their terms and their correlation: MOVER. The distance from each term's value
to the end of its own interval that hurts, times the formula's gradient, takes the place of a standard deviation (Zou &
Donner 2008). So the bounds of the terms, exact ones near 0 and 1 included, carry over to the whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from highbar.statistics.bounds import Sums, complement, monotone_bounds
from highbar.statistics.interval import Interval, Real


class BoundedTerm(Struct, frozen=True):
    """A term of a formula: its value and bounds (infinite if unbounded), and the formula's derivative by it.

    The correlation of a `worst_case` term (a percentile) with the others is unknown: its distance is added in full.
    """

    value: float
    low: float
    high: float
    gradient: float
    worst_case: bool = False


class CrossSums(Struct, frozen=True):
    """Sums over scenarios of products: a score or weight of the first share times one of the second."""

    zz: Real  # score × score
    zd: Real  # score of the first × weight of the second
    dz: Real  # weight of the first × score of the second
    dd: Real  # weight × weight


def combine(value: float, terms: Sequence[BoundedTerm], correlations: Sequence[Sequence[float]]) -> Interval:
    """The bounds of a formula whose value is `value`; `correlations[i][j]` is that of terms i and j."""
    low = _width([_distance(term, -1) for term in terms], terms, correlations)
    high = _width([_distance(term, 1) for term in terms], terms, correlations)
    return Interval(value - low, value + high)


class Addend(Struct, frozen=True):
    """A share in a sum of shares: its factor, its sums, and the largest weight of a cluster in them."""

    factor: Fraction
    sums: Sums
    largest: Real


def bounds_of_sum(addends: Sequence[Addend], crosses: Mapping[tuple[int, int], CrossSums], alpha: float) -> Interval:
    """The bounds of Σ factor · share, for shares with a weight; `crosses[i, j]` with i < j has the products of i and j.

    A term that is subtracted is the same as one of failures, less its factor.
    """
    each = [abs(one.factor) / Fraction(one.sums.d) for one in addends]
    sums = [one.sums if one.factor > 0 else complement(one.sums) for one in addends]
    zz = sum(unit * unit * Fraction(one.zz) for unit, one in zip(each, sums, strict=True))
    zd = sum(unit * unit * Fraction(one.zd) for unit, one in zip(each, sums, strict=True))
    dd = sum(unit * unit * Fraction(one.dd) for unit, one in zip(each, sums, strict=True))
    for (i, j), found in crosses.items():
        cross = _turned(found, first=addends[i].factor < 0, second=addends[j].factor < 0)
        zz += 2 * each[i] * each[j] * Fraction(cross.zz)
        zd += each[i] * each[j] * (Fraction(cross.zd) + Fraction(cross.dz))
        dd += 2 * each[i] * each[j] * Fraction(cross.dd)
    whole = sum((abs(one.factor) for one in addends), Fraction(0))
    scored = sum((unit * Fraction(one.z) for unit, one in zip(each, sums, strict=True)), Fraction(0))
    largest = sum((unit * Fraction(one.largest) for unit, one in zip(each, addends, strict=True)), Fraction(0))
    found_bounds = monotone_bounds(Sums(max(one.clusters for one in sums), whole, scored, zz, zd, dd), alpha, largest)
    subtracted = sum((one.factor for one in addends if one.factor < 0), Fraction(0))
    return Interval(*(float(whole) * end + float(subtracted) for end in found_bounds))


def _turned(cross: CrossSums, *, first: bool, second: bool) -> CrossSums:
    """The products if the first, the second or both shares are replaced by those of failures."""
    if first:
        cross = CrossSums(zz=cross.dz - cross.zz, zd=cross.dd - cross.zd, dz=cross.dz, dd=cross.dd)
    if second:
        cross = CrossSums(zz=cross.zd - cross.zz, zd=cross.zd, dz=cross.dd - cross.dz, dd=cross.dd)
    return cross


def correlation(first: Sums, second: Sums, cross: CrossSums) -> float:
    """The correlation of two shares over the same scenarios, from -1 to 1; 0 if one of them does not vary."""
    rate, other = first.value, second.value
    product = _covariation(cross, rate, other)
    squares = _covariation(CrossSums(first.zz, first.zd, first.zd, first.dd), rate, rate)
    other_squares = _covariation(CrossSums(second.zz, second.zd, second.zd, second.dd), other, other)
    if _is_noise(squares, first) or _is_noise(other_squares, second):
        return 0.0
    return max(-1.0, min(1.0, float(product) / math.sqrt(squares * other_squares)))


def _is_noise(squares: Fraction, sums: Sums) -> bool:
    """Whether a sum of squares is 0, apart from the rounding of the sums that it was computed from."""
    scale = Fraction(sums.zz) + sums.value**2 * Fraction(sums.dd)
    return squares <= scale / 10**12


def _covariation(cross: CrossSums, rate: Fraction, other: Fraction) -> Fraction:
    """Σ(Z - R D)(Z' - R' D') over the scenarios."""
    zz, zd, dz, dd = (Fraction(number) for number in (cross.zz, cross.zd, cross.dz, cross.dd))
    return zz - other * zd - rate * dz + rate * other * dd


def _distance(term: BoundedTerm, side: int) -> float:
    """The gradient times the distance to the end of the term that moves the formula to this side (-1 down, 1 up).

    It has the sign of the gradient, so that the correlation of two terms counts in the right direction.
    """
    if term.gradient == 0:
        return 0.0
    reach = term.high - term.value if side * term.gradient > 0 else term.value - term.low
    return term.gradient * reach


def _width(distances: Sequence[float], terms: Sequence[BoundedTerm], correlations: Sequence[Sequence[float]]) -> float:
    if any(math.isinf(distance) for distance in distances):
        return math.inf
    together = [index for index, term in enumerate(terms) if not term.worst_case]
    # The diagonal is 1 even for a term that did not vary, whose correlation is 0: its bounds still have a width.
    square = math.fsum(
        distances[i] * distances[j] * (1.0 if i == j else correlations[i][j]) for i in together for j in together
    )
    added = math.fsum(abs(distance) for distance, term in zip(distances, terms, strict=True) if term.worst_case)
    return math.sqrt(max(square, 0.0)) + added
