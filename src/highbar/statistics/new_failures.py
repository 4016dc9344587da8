"""Passes of scenarios in earlier runs, and now → which scenarios newly fail, and how sure that is.

A scenario with few earlier trials that all passed may still be flaky. How likely that is, the other scenarios say: the
failure rates of all of them are a mixture, fitted to their histories (the nonparametric maximum likelihood of Kiefer
and Wolfowitz, on a grid). Its own history says where in the mixture a scenario is. The p-value is the chance of so few
passes from there. Benjamini and Hochberg's procedure over all scenarios bounds the share of false alarms.

No failure rate is taken to be below one in all trials that were seen: a history without a failure does not say that
there can be none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from highbar.statistics.slices import benjamini_hochberg

SHARE = 0.10
"""The share of false alarms among all alarms, at most; if nothing changed, the chance of any."""
_POINTS = 40
_STEPS = 100
_LARGEST = 0.98

Counts = tuple[int, int]
"""(passed, trials)"""


class Mixture(Struct, frozen=True):
    """How often scenarios of a suite fail: failure rates, and the share of scenarios at each."""

    rates: tuple[float, ...]
    shares: tuple[float, ...]

    def p_value(self, before: Counts, now: Counts) -> float:
        """The chance of as few passes as now, for a scenario with this history, if nothing changed."""
        passed, trials = now
        posterior = [
            share * likelihood for share, likelihood in zip(self.shares, _all(self.rates, before), strict=True)
        ]
        tails = (_at_most(passed, trials, rate) for rate in self.rates)
        total = math.fsum(posterior)
        return min(math.fsum(p * tail for p, tail in zip(posterior, tails, strict=True)) / total, 1.0) if total else 1.0


def fit(histories: Sequence[Counts]) -> Mixture:
    """The mixture that makes the histories of the scenarios most likely; by expectation and maximization."""
    known = Counter(one for one in histories if one[1])
    least = 1 / (2 + sum(trials * times for (_, trials), times in known.items()))
    rates = tuple(least * (_LARGEST / least) ** (place / (_POINTS - 1)) for place in range(_POINTS))
    rows = [(_all(rates, one), times / known.total()) for one, times in known.items()]
    shares = [1 / _POINTS] * _POINTS
    for _ in range(_STEPS if rows else 0):
        weights = [times / math.fsum(map(float.__mul__, shares, row)) for row, times in rows]
        shares = [
            share * math.fsum(weight * row[place] for weight, (row, _) in zip(weights, rows, strict=True))
            for place, share in enumerate(shares)
        ]
    return Mixture(rates, tuple(shares))


def newly_failing(histories: Sequence[Counts], now: Sequence[Counts | None]) -> tuple[tuple[bool, float], ...]:
    """Whether each scenario newly fails, and its p-value. None: it did not fail, which cannot be an alarm."""
    mixture = fit(histories)
    p_values = [
        1.0 if counts is None else mixture.p_value(before, counts)
        for before, counts in zip(histories, now, strict=True)
    ]
    return tuple(zip(benjamini_hochberg(p_values, SHARE), p_values, strict=True))


def _all(rates: Sequence[float], counts: Counts) -> list[float]:
    """How likely each failure rate makes the counts, up to a factor that all of them have in common."""
    passed, trials = counts
    logs = [passed * math.log1p(-rate) + (trials - passed) * math.log(rate) for rate in rates]
    top = max(logs)
    return [math.exp(one - top) for one in logs]


def _at_most(passed: int, trials: int, rate: float) -> float:
    """P(at most so many passes); a short sum for the few trials of one run."""
    return math.fsum(
        math.comb(trials, k) * (1 - rate) ** k * rate ** (trials - k) for k in range(min(passed, trials) + 1)
    )
