"""Repeated trials of a scenario: the bound of one that never failed, the variance, and the bounds of a whole suite.

If the scenarios are the whole population, scenarios of unequal rates vary less than as many of one rate (Hoeffding
1956): of the variance of one trial only the share 1 - r is noise, where r is the intraclass correlation of the same
scenarios. It is known if they were repeated, in this run or in earlier ones. Then n trials are worth n / (1 - r), and
the bounds are those of Clopper and Pearson for so many, from half a trial to the safe side, since the counts are still
those of n trials. `bench/suite_noise.py` has the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from highbar.statistics.bounds import suite_bounds
from highbar.statistics.distributions import beta_cdf, beta_quantile
from highbar.statistics.interval import Interval, Real
from highbar.statistics.search import bisect

OWN_PAIRS, EARLIER_PAIRS = 4, 1
"""So many pairs of trials that disagree are added to those that were seen: a few that agree are no certainty.

Four, if the noise is that of the run that is judged: its lucky runs also look steadier, and without a failure in it
the pairs alone must cover what the rule of three allows. Measured: with two, suites with few flaky scenarios err in up
to 8 %.
"""
_UNKNOWN = 0.25
"""The largest variance of one trial, for scenarios without two trials."""

Trials = tuple[int, int]
"""(passed, trials)"""


class VarianceSplit(Struct, frozen=True):
    """The variance of one trial's outcome: between scenarios, within a scenario, and the share of the former.

    `between` is an unbiased estimate and may come out below 0. `correlation`, the intraclass correlation, is then 0; it
    is None if nothing varies at all.
    """

    between: float
    within: float
    correlation: float | None


def never_failed_bound(trials: int, alpha: float) -> float:
    """The lower bound of the pass rate after m trials without a failure: alpha^(1/m)."""
    return float(alpha ** (1.0 / trials))


def variance_split_from_sums(
    *, scenarios: int, freedom: int, within: Real, rate: Real, rate_squares: Real, inverse_trials: Real
) -> VarianceSplit | None:
    """The split from sums over scenarios (analysis of variance); None with one scenario, or if none was repeated.

    `freedom` is Σ(m - 1), `within` Σ m p (1 - p), `rate` Σp, `rate_squares` Σp² and `inverse_trials` Σ1/m, for
    scenarios that passed the share p of their m trials.
    """
    if scenarios <= 1 or freedom == 0:
        return None
    inside = Fraction(within) / freedom
    of_rates = (Fraction(rate_squares) - Fraction(rate) ** 2 / scenarios) / (scenarios - 1)
    between = of_rates - inside * Fraction(inverse_trials) / scenarios
    total = max(between, Fraction(0)) + inside
    share = float(max(between, Fraction(0)) / total) if total > 0 else None
    return VarianceSplit(float(between), float(inside), share)


# --- the noise of a whole suite -------------------------------------------------------------------


class TrialNoise(Struct, frozen=True):
    """`within` is the mean over the scenarios of the variance of one trial, `share` its part of the whole variance."""

    within: float
    share: float

    def at(self, rate: float) -> float:
        """The part of rate × (1 - rate) that is noise, if this was the share of the suite; at most 1.

        The more of two readings: scenarios as alike as they were, or as noisy as they were.
        """
        spread = rate * (1 - rate)
        return min(1.0, max(self.share, self.within / spread)) if spread > 0 else 1.0

    def variance(self, rate: float) -> float:
        """The variance of one trial within its scenario, if this was the share of the suite."""
        return self.at(rate) * rate * (1 - rate)

    def at_least(self, within: float) -> TrialNoise:
        """The same, if more noise than this is seen elsewhere."""
        return TrialNoise(max(self.within, within), self.share)


def own_noise(value: Real, trials: float, weight: float, within: float, pair: float) -> TrialNoise:
    """The noise that the trials of a run show, for `trials` effective ones.

    `within` is Σ w²p(1-p)/(m-1) over scenarios of weight w that scored p in m trials (w²/4 for one trial), and `pair`
    the largest w²/(m(m-1)): twice what one pair that disagrees adds.
    """
    unit = trials / weight**2
    added = unit * OWN_PAIRS * pair / 2
    noise = unit * within + added
    rate = float(value)
    return TrialNoise(noise, min(1.0, noise / (rate * (1 - rate) + added)))


def earlier_noise(counts: Sequence[Trials]) -> TrialNoise | None:
    """The noise of the same scenarios in earlier runs; None if no scenario has two trials there."""
    freedom = sum(trials - 1 for _, trials in counts if trials > 1)
    if not freedom:
        return None
    added = EARLIER_PAIRS / 2 / (freedom + 1)
    known = [passed / trials for passed, trials in counts if trials]
    within = math.fsum(_variance(passed, trials) for passed, trials in counts) / len(counts) + added
    rate = math.fsum(known) / len(known)
    return TrialNoise(within, min(1.0, within / (rate * (1 - rate) + added)))


def _variance(passed: int, trials: int) -> float:
    """The variance of one trial of a scenario, from several; without bias."""
    return passed * (trials - passed) / (trials * (trials - 1)) if trials > 1 else _UNKNOWN


def disagreement(before: float, now: float) -> float:
    """Half the chance that a trial of a scenario now and an earlier one disagree, from the rates of both.

    If nothing changed, this is the variance of one trial. If an agent has become noisier, it is larger than the earlier
    variance: the mean over scenarios never falls below half of the new one.
    """
    return (before * (1 - now) + now * (1 - before)) / 2


def noisy_suite_bounds(value: Real, trials: Real, alpha: float, noise: TrialNoise | None) -> Interval:
    """The bounds of a share of a whole suite, if this much of its trials' variance is noise; None if that is unknown.

    They are never wider than without: for a given noise both are functions of the share alone, so the narrower one errs
    no more often than either.
    """
    plain = suite_bounds(value, trials, alpha)
    if noise is None:
        return plain
    share, number = float(value), float(trials)
    low, high = _low(share, number, alpha, noise), 1 - _low(1 - share, number, alpha, noise)
    return Interval(min(max(plain.low, low), share), max(min(plain.high, high), share))


def _low(value: float, trials: float, alpha: float, noise: TrialNoise) -> float:
    """The lower bound, from half a trial below the value."""
    safe = value - 0.5 / trials
    if safe <= 0:
        return 0.0
    low = _quantile(safe, trials / noise.share, alpha) if noise.share > 0 else safe
    if max(noise.at(low), noise.at(safe)) <= noise.share:  # the noise is the same share all along the way
        return low

    def excluded(rate: float) -> bool:
        size = trials / noise.at(rate)
        return beta_cdf(rate, safe * size, (1 - safe) * size + 1) <= alpha

    return bisect(_quantile(safe, trials, alpha), low, excluded)[0]


def _quantile(value: float, size: float, alpha: float) -> float:
    return beta_quantile(alpha, value * size, (1 - value) * size + 1)
