"""Passes of scenarios in earlier runs, and now → which scenarios newly fail, and whether too many fail at once.

A scenario whose earlier trials all passed may still be flaky. The other scenarios tell how likely that is: the failure
rates of all of them are a mixture, fitted to their histories (the nonparametric maximum likelihood of Kiefer and
Wolfowitz, on a grid that begins at 0). A scenario's own history tells where in the mixture it is. The p-value is the
chance of so few passes from there: if k scenarios failed once in n trials, about k / n of those that never failed are
expected to fail in the next run (Good–Turing). The Benjamini–Hochberg procedure over all scenarios bounds the share of
false alarms.

Only failures that were seen can excuse a failure. A scenario that never failed before newly fails without any test if
no scenario has both passed and failed, or if it has too few earlier trials to tell (`is_too_short`).

In a flaky suite no single failure of one trial can be told from chance, but their number can (`chance_of_as_many`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from highbar.statistics.distributions import log_ways
from highbar.statistics.slices import benjamini_hochberg

SHARE = 0.10
"""The largest share of false alarms among all alarms; if nothing changed, the largest chance of any alarm."""
LEVEL = 0.03
"""The chance that the test of the number fails an unchanged agent.

Lower than 5 %, because the rule has two tests: `bench/memory.py` measures both together.
"""
_POINTS = 30
_STEPS = 100
_LARGEST = 0.98
_NEVER = 1e-12
"""The failure rate of a scenario that never fails: not 0, whose logarithm does not exist."""
_FINEST = 50
_WORK = 10_000
"""Weights are whole numbers up to `_FINEST`, or fewer in a large suite: the time grows with scenarios times weights."""
_NOTHING = 1e-13
"""A chance that is too small to matter, even once for each scenario of a large suite."""

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
            share * likelihood for share, likelihood in zip(self.shares, _likelihoods(self.rates, before), strict=True)
        ]
        tails = (_at_most(passed, trials, rate) for rate in self.rates)
        total = math.fsum(posterior)
        return min(math.fsum(p * tail for p, tail in zip(posterior, tails, strict=True)) / total, 1.0) if total else 1.0


def fit(histories: Sequence[Counts]) -> Mixture:
    """The mixture that makes the histories of the scenarios most likely; by expectation and maximization."""
    known = Counter(one for one in histories if one[1])
    # Ten times rarer than one failure in the longest history: a smaller rate could not be distinguished from 0.
    least = 1 / (2 + 10 * max((trials for _, trials in known), default=0))
    rates = (_NEVER, *(least * (_LARGEST / least) ** (place / (_POINTS - 1)) for place in range(_POINTS)))
    rows = [(_likelihoods(rates, one), times / known.total()) for one, times in known.items()]
    shares = [0.5, *[0.5 / _POINTS] * _POINTS]
    for _ in range(_STEPS if rows else 0):
        weights = [times / math.fsum(map(float.__mul__, shares, row)) for row, times in rows]
        shares = [
            share * math.fsum(weight * row[place] for weight, (row, _) in zip(weights, rows, strict=True))
            for place, share in enumerate(shares)
        ]
    return Mixture(rates, tuple(shares))


def newly_failing(
    histories: Sequence[Counts], now: Sequence[Counts | None], others: Sequence[Counts] = ()
) -> tuple[tuple[bool, float], ...]:
    """Whether each scenario newly fails, and its p-value; 1 if it was not tested.

    A None in `now` is a scenario that did not fail, which cannot be an alarm. `others` are histories of more scenarios:
    they only help to tell how flaky the suite is.
    """
    mixture = fit([*histories, *others])
    is_flakiness_known = any(0 < passed < trials for passed, trials in (*histories, *others))
    untested = [
        counts is not None and passed == trials and (not is_flakiness_known or is_too_short(trials, counts[1]))
        for (passed, trials), counts in zip(histories, now, strict=True)
    ]
    p_values = [
        1.0 if counts is None or without_test else mixture.p_value(before, counts)
        for before, counts, without_test in zip(histories, now, untested, strict=True)
    ]
    found = benjamini_hochberg(p_values, SHARE)
    return tuple((fails or sure, p) for fails, sure, p in zip(found, untested, p_values, strict=True))


def is_too_short(before: int, now: int) -> bool:
    """Whether `before` earlier trials, all passed, are too few to say anything about `now` trials that fail.

    They are if at some failure rate f the chance that all earlier trials pass and all trials now fail is above 10 %:
    (1 - f)^before f^now, which is largest at f = now / (before + now).
    """
    largest = _times_log(before) + _times_log(now) - _times_log(before + now)
    return largest > math.log(SHARE)


# --- the number of failures -------------------------------------------------------------------


class BeforeAndNow(Struct, frozen=True):
    """(passed, trials) of one scenario in earlier runs and now.

    `passed_before` is how often it must have passed before to be asked about at all.
    """

    before: Counts
    now: Counts
    passed_before: int = 0

    @property
    def trials(self) -> int:
        """All of them."""
        return self.before[1] + self.now[1]

    @property
    def failures(self) -> int:
        """All of them."""
        return self.trials - self.before[0] - self.now[0]

    @property
    def failing(self) -> int:
        """The failures now."""
        return self.now[1] - self.now[0]

    @property
    def weight(self) -> float:
        """How much a failure now counts: the odds against it.

        More than one trial now weighs the same however often it failed. Otherwise a second failure of a scenario would
        make its first one count less, and so a worse run might look better.
        """
        times = max(self.failures, 1) if self.now[1] == 1 else self.now[1]
        return self.trials / times - 1

    def chances(self) -> list[tuple[int, float]]:
        """How many failures there are now, and with which chance, if nothing changed.

        The failures of a scenario are then spread over its trials at random, whatever its rate is.
        """
        earlier, now = self.before[1], self.now[1]
        least = max(0, self.failures - earlier + self.passed_before)
        numbers = range(min(least, self.failing), min(self.failures, now) + 1)
        logs = [log_ways(now, number) + log_ways(earlier, self.failures - number) for number in numbers]
        top = max(logs)
        shares = [math.exp(one - top) for one in logs]
        total = math.fsum(shares)
        return [(number, share / total) for number, share in zip(numbers, shares, strict=True)]


def chance_of_as_many(scenarios: Sequence[BeforeAndNow]) -> float:
    """The chance of as many failures as now, if nothing changed; those of scenarios that seldom fail count more.

    Exact, given how often each scenario failed before and now together. One more failure never raises it, as long as
    every scenario has the same number of trials.
    """
    tested = [one for one in scenarios if one.now[1]]
    most = max((one.trials / one.now[1] - 1 for one in tested), default=0.0)
    if most <= 0:
        return 1.0
    scale = max(1, min(_FINEST, _WORK // len(tested))) / most
    weights = [round(one.weight * scale) for one in tested]
    seen = sum(weight * one.failing for weight, one in zip(weights, tested, strict=True))
    start, masses = 0, [1.0]
    for (weight, one), times in Counter(zip(weights, tested, strict=True)).items():
        steps = [(weight * number, share) for number, share in one.chances()] if weight and one.failures else []
        for _ in range(times if len(steps) > 1 else 0):
            start, masses = _add(start, masses, steps)
        start += times * steps[0][0] if len(steps) == 1 else 0
    return min(math.fsum(masses[max(seen - start, 0) :]), 1.0)


def _add(start: int, masses: list[float], steps: Sequence[tuple[int, float]]) -> tuple[int, list[float]]:
    """The distribution of a sum, whose first value is `start`, with one more part; negligible ends are cut off."""
    first, last = steps[0][0], steps[-1][0]
    found = [0.0] * (len(masses) + last - first)
    for step, share in steps:
        place = step - first
        found[place : place + len(masses)] = [
            old + share * mass for old, mass in zip(found[place : place + len(masses)], masses, strict=True)
        ]
    below = next(place for place, mass in enumerate(found) if mass > _NOTHING)
    above = next(place for place, mass in enumerate(reversed(found)) if mass > _NOTHING)
    return start + first + below, found[below : len(found) - above]


# --- sums -------------------------------------------------------------------------------------


def _times_log(number: int) -> float:
    return number * math.log(number) if number else 0.0


def _likelihoods(rates: Sequence[float], counts: Counts) -> list[float]:
    """The likelihood of the counts at each failure rate, up to a common factor."""
    passed, trials = counts
    logs = [passed * math.log1p(-rate) + (trials - passed) * math.log(rate) for rate in rates]
    top = max(logs)
    return [math.exp(one - top) for one in logs]


def _at_most(passed: int, trials: int, rate: float) -> float:
    """P(at most `passed` passes), as a plain sum: one run has few trials of a scenario."""
    return math.fsum(
        math.comb(trials, k) * (1 - rate) ** k * rate ** (trials - k) for k in range(min(passed, trials) + 1)
    )
