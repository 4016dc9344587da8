"""Early stopping for means (scores, repeated trials, weights and ratios), by bets against the threshold.

A unit (a scenario with all its trials) has a numerator z and a denominator d, 0 ≤ z ≤ d ≤ 1: its score and 1 for a
mean; both times its weight over the largest weight for a weighted mean; its true positives and its predicted positives,
over the most that a unit can have, for precision. The share meets the threshold tau if the mean of y = z - tau·d
is at least 0; y is from -tau to 1 - tau.

Two gamblers start with 1 each. One bets that the mean is above 0: a stake of l multiplies its money by 1 + l·y, a game
that is fair at best if the mean is 0 or below. So it *ever* has 1/alpha with a probability of at most alpha (Ville's
inequality), whatever the distribution of the scores. The other one bets on the opposite. Each divides its money over 25
stakes between 0 and the largest that cannot ruin it (dKelly).

This holds for any number of looks, so it needs no horizon. It requires only that the units come in a random order, and
that the largest weight is known before the first look.

>>> bets = Bets(Fraction(8, 10), 0.05)
>>> next(found for _ in range(30) if (found := bets.add((1, 1), (1, 1))))
Crossing(units=21, passed=True)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from highbar.statistics.interval import Real
from highbar.statistics.spending import Boundaries, Boundary, Crossing

STAKES = 25
"""A gambler divides its money over this many evenly spaced stakes."""

_SHARES = tuple(place / (STAKES + 1) for place in range(1, STAKES + 1))
_ROUNDING = 1e-9
"""A decision needs this much log wealth beyond 1/alpha: far more than summing a million logarithms can lose."""

UnitShare = tuple[Real, Real]
"""The numerator and the denominator of a unit."""


class Gambler:
    """A gambler who bets that the mean of gains, each at least -loss, is above 0; with `units`, that their sum is.

    If the `units` are the whole population, they are drawn without replacement: under the hypothesis that all of them
    sum to 0, the ones seen determine the mean of the rest, and the bet is against that mean. `won_at_zero`: a sum of
    0 wins too.
    """

    def __init__(self, loss: Fraction, units: int | None = None, *, won_at_zero: bool = False) -> None:
        """Start with a wealth of 1."""
        self.loss, self.won_at_zero = loss, won_at_zero
        self._left = units
        self._sum = Fraction(0)
        self._logs = [0.0] * STAKES

    def add(self, gain: Real) -> None:
        """Bet on one more unit, which turns out to gain `gain`."""
        expected = Fraction(0)
        if self._left is not None:
            expected = -self._sum / self._left
            self._sum += Fraction(gain)
            self._left -= 1
        if self.loss + expected > 0:
            # Below -1 only by rounding: no gain is below -loss.
            odds = max(float((gain - expected) / (self.loss + expected)), -1.0)
            self._logs = [log + math.log1p(share * odds) for log, share in zip(self._logs, _SHARES, strict=True)]
        elif gain > expected:  # the hypothesis leaves no gain above -loss: this one refutes it
            self._logs = [math.inf] * STAKES

    @property
    def log_wealth(self) -> float:
        """The logarithm of its money; infinite if the units to come can no longer make it lose."""
        if self._left is not None:
            least = self._sum - self._left * self.loss
            if least > 0 or (least == 0 and self.won_at_zero):
                return math.inf
        return _log_mean(self._logs)


class Bets:
    """Both bets on `share ≥ threshold` (`strict`: `>`), and the first that was won.

    `units`: how many there are, if the rule is about the share of exactly these (`population: suite`); by default they
    are a sample.
    """

    def __init__(self, threshold: Fraction, alpha: float, units: int | None = None, *, strict: bool = False) -> None:
        """Start before the first unit."""
        self.threshold = threshold
        self.needed = math.log(1 / alpha) + _ROUNDING
        self.crossing: Crossing | None = None
        self._looked = 0
        self._for_pass = Gambler(threshold, units, won_at_zero=not strict)
        self._for_fail = Gambler(1 - threshold, units, won_at_zero=strict)

    def add(self, worst: UnitShare, best: UnitShare) -> Crossing | None:
        """Add a unit, read at worst and at best (equal if nothing is undecided); return the crossing, if there is one.

        The bet on a pass uses the worst reading, the bet on a fail the best. Units after the crossing change nothing.
        """
        if self.crossing is None:
            self._looked += 1
            self._for_pass.add(self._excess(worst))
            self._for_fail.add(-self._excess(best))
            to_pass, to_fail = self.log_wealth
            # Fail closed: a unit that decides both bets is a fail.
            if max(to_pass, to_fail) >= self.needed:
                self.crossing = Crossing(self._looked, passed=to_fail < self.needed)
        return self.crossing

    @property
    def log_wealth(self) -> tuple[float, float]:
        """The log wealth of the gambler on a pass, and of the one on a fail; the first to have `needed` decides."""
        return self._for_pass.log_wealth, self._for_fail.log_wealth

    def _excess(self, share: UnitShare) -> Real:
        numerator, denominator = share
        if not 0 <= numerator <= denominator <= 1:
            raise ValueError(f"a share of {numerator} in {denominator}")
        return numerator - self.threshold * denominator


def bet_boundaries(threshold: Fraction, units: int, alpha: float) -> Boundaries:
    """The boundaries of the bets for units that pass or fail, whose order does not matter.

    Scores between 0 and 1 vary less: for them, these boundaries are the worst case.
    """
    needed = math.log(1 / alpha) + _ROUNDING
    passes, failures = _fewest_won(threshold, units, needed), _fewest_won(1 - threshold, units, needed)
    looks = (
        Boundary(won, None if lost is None else looked - lost)
        for looked, (won, lost) in enumerate(zip(passes, failures, strict=True), 1)
    )
    return Boundaries(units, looks)


def _fewest_won(loss: Fraction, units: int, needed: float) -> Iterator[int | None]:
    """For each look, the fewest gains of 1 - loss (all others are -loss) that give `needed`; None if no number does."""
    fewest = 0
    for looked in range(1, units + 1):
        # A loss lowers the wealth and a gain raises it, so from look to look the number stays or rises by 1.
        while fewest <= looked and _log_wealth(fewest, looked - fewest, loss) < needed:
            fewest += 1
        yield fewest if fewest <= looked else None


def _log_wealth(gains: int, losses: int, loss: Fraction) -> float:
    if loss == 0:
        return math.inf if gains else 0.0
    odds = float((1 - loss) / loss)
    return _log_mean([gains * math.log1p(share * odds) + losses * math.log1p(-share) for share in _SHARES])


def _log_mean(logs: list[float]) -> float:
    top = max(logs)
    return top + math.log(math.fsum(math.exp(log - top) for log in logs) / len(logs)) if top < math.inf else top
