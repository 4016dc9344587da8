"""How the same agent would be judged by a second run on the same scenarios.

Two runs of one suite differ by trial noise alone. Of the variance V of an estimate over new scenarios, trial noise is
the share f = (1 - r) / (1 + (m - 1) r), for m trials whose intraclass correlation is r. The second estimate has the
mean (1 - f) × the first one + f × the mean rate of such agents, and the variance 2fV: the first run has its own noise.

V comes from the interval that the gate uses: the number of passes and fails that would have the same bound
(`effective_size`). So the chance follows whatever method made the interval. `bench/second_run.py` compares what is
reported with what happens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from msgspec import Struct

from highbar.statistics.distributions import (
    at_most,
    beta_cdf,
    beta_quantile,
    beta_survival,
    normal_cdf,
    normal_quantile,
)
from highbar.statistics.trials import OWN_PAIRS, VarianceSplit

LEAST_ALIKE, MOST_ALIKE = 0.0, 0.9
"""The range of intraclass correlations that a chance is reported for if no scenario was repeated."""
_POINTS = 12
"""An unknown failure rate is averaged over this many of its quantiles."""
_STEPS = 60
_CLOSE = 1e-7
_LARGEST_LOG = 21.0  # of a number of scenarios: a billion


class Outlook(Struct, frozen=True):
    """The probabilities of each outcome of a rule, or of the whole verdict, in a run that is yet to come."""

    passes: float
    inconclusive: float
    fails: float

    def of(self, outcome: str) -> float:
        """The probability of one outcome; undefined counts as a fail."""
        return {"pass": self.passes, "inconclusive": self.inconclusive}.get(outcome, self.fails)


class Noise(Struct, frozen=True):
    """The share of an estimate's variance that is trial noise, at least and at most, with `trials` per scenario."""

    least: float = 1 - MOST_ALIKE
    most: float = 1.0
    trials: float = 1.0

    def for_difference(self) -> Noise:
        """The same for a paired difference: half of its noise is that of the baseline, which does not run again.

        What a scenario contributes to both versions cancels in the difference. So all of its variance may be noise,
        however alike trials are; it is less only as far as scenarios changed by different amounts.
        """
        return Noise(self.least / 2, 0.5, self.trials)

    def for_clusters(self, worth: float, scenarios: int) -> Noise:
        """The same for scenarios in clusters, worth `worth` independent ones: what a cluster shares is no noise."""

        def share(of: float) -> float:
            alike = (1 - of) / (1 + (self.trials - 1) * of)
            spread = (1 + (self.trials - 1) * alike) / self.trials
            return min(of, of * spread * worth / scenarios)

        return Noise(share(self.least), share(self.most), self.trials)


NOT_REPEATED = Noise()
"""One trial of each scenario: the share of trial noise is unknown."""


def trial_noise(
    split: VarianceSplit | None, freedom: int, trials: float, *, pooled: bool = False, enough: bool = True
) -> Noise:
    """The trial noise that repeated trials show; a range if nothing was repeated, not `enough`, or nothing varied.

    `freedom` is Σ(m - 1). One pair of uncorrelated trials is added, so that a few trials that agree do not count as
    certainty. `pooled`: the interval is that of pooled trials; if `enough` were repeated, of their noise alone. None
    (0) if no two trials of a scenario ever disagreed, although scenarios differ.
    """
    least, most = ((1 - r) / (1 if pooled else 1 + (trials - 1) * r) for r in (MOST_ALIKE, LEAST_ALIKE))
    if split is None or split.correlation is None:
        return Noise(least, most, trials)
    if enough and not split.within:
        return Noise(0.0, 0.0, trials)
    if enough and pooled:  # less than all of it, because the interval allows for more noise than was seen
        share = split.within / (split.within + OWN_PAIRS / 2 / freedom)
        return Noise(share, share, trials)
    between = max(split.between, 0.0)
    within = (split.within * freedom + between + split.within) / (freedom + 1)
    share = within / (between * (1 if pooled else trials) + within)
    return Noise(share, share, trials) if enough else Noise(min(share, least), max(share, most), trials)


# --- a share against a threshold --------------------------------------------------------------


class Share(Struct, frozen=True):
    """A share of which higher is better, its bounds, and the number of equal parts that it counts, if that is known."""

    value: Fraction
    low: float
    high: float
    parts: int | None = None

    def complement(self) -> Share:
        """1 minus the share."""
        return Share(1 - self.value, 1 - self.high, 1 - self.low, self.parts)


def share_again(
    share: Share, threshold: Fraction, noise: float, alpha: float, *, confident: bool, strict: bool = False
) -> Outlook:
    """How a second run would be judged by `≥ threshold` (`>` if strict): by its estimate, or by its interval."""
    below, above = effective_size(share, alpha), effective_size(share.complement(), alpha)
    # The bound toward the threshold tells how much the estimate varies; if that one is no help, the other one does.
    second = _SecondEstimate.of(share, (below if threshold <= share.value else above) or below or above, noise)
    if not confident:
        passes = second.at_least(*_first_to_pass(threshold, share.parts, strict=strict))
        return Outlook(passes, 0.0, 1.0 - passes)
    passes = second.chance_to_reach(passing_share(float(threshold), below or above, alpha))
    failures = _SecondEstimate.of(share.complement(), above or below, noise)
    fails = min(failures.chance_to_reach(passing_share(float(1 - threshold), above or below, alpha)), 1.0 - passes)
    return Outlook(passes, 1.0 - passes - fails, fails)


def effective_size(share: Share, alpha: float) -> float | None:
    """The number of independent passes and fails of this share that have its lower bound; None if the bound is no help.

    That is if the share is 0, or if its bound is the share itself.
    """
    value, low = float(share.value), share.low
    if value <= 0.0 or low >= value:
        return None
    if low <= 0.0:
        return 1.0
    if value >= 1.0:
        return math.log(alpha) / math.log(low)

    def excess(power: float) -> float:
        size = math.exp(power)
        return beta_cdf(low, value * size, (1 - value) * size + 1) - alpha

    return math.exp(_root(excess, 0.0, _LARGEST_LOG))


def passing_share(threshold: float, size: float | None, alpha: float) -> float | None:
    """The smallest share of `size` passes and fails whose lower bound reaches the threshold; None if no share does."""
    if size is None or threshold > alpha ** (1 / size):
        return None
    if threshold <= 0.0:
        return 0.0
    return _root(lambda share: beta_cdf(threshold, share * size, (1 - share) * size + 1) - alpha, threshold, 1.0)


def _first_to_pass(threshold: Fraction, parts: int | None, *, strict: bool) -> tuple[float, int | None]:
    """The threshold as a share, and as the first count of parts that reaches it."""
    if parts is None:
        return float(threshold), None
    count = math.floor(threshold * parts) + 1 if strict else math.ceil(threshold * parts)
    return float(threshold), count


class _SecondEstimate(Struct, frozen=True):
    """The Beta distribution of a second estimate; without a `size` the second estimate is always the mean."""

    mean: float
    size: float | None
    parts: int | None

    @classmethod
    def of(cls, share: Share, size: float | None, noise: float) -> _SecondEstimate:
        """The distribution after an estimate worth `size` passes and fails; `noise` is its share of trial noise."""
        value = float(share.value)
        if size is None or noise <= 0.0:
            return cls(value, None, share.parts)
        usual = (value * size + 0.5) / (size + 1)  # Jeffreys' prior: ten of ten is no certainty
        mean = (1 - noise) * value + noise * usual
        variance = 2 * noise * usual * (1 - usual) / size
        return cls(mean, max(mean * (1 - mean) / variance - 1, 1e-3), share.parts)

    def chance_to_reach(self, share: float | None) -> float:
        """How likely it reaches a share; 0 for None, which no share reaches."""
        if share is None:
            return 0.0
        return self.at_least(share, math.ceil(share * self.parts - 1e-9) if self.parts else None)

    def at_least(self, share: float, count: int | None) -> float:
        """How likely it is at least this share; with a `count`, from half a part below it (continuity correction)."""
        if count is not None and self.parts:
            share = (count - 0.5) / self.parts
        if self.size is None:
            return float(self.mean >= share)
        return beta_survival(min(max(share, 0.0), 1.0), self.mean * self.size, (1 - self.mean) * self.size)


def _root(function: Callable[[float], float], start: float, stop: float) -> float:
    """The point at which a function changes its sign (Illinois method); if it does not, the end nearer to one."""
    first, last = function(start), function(stop)
    if (first > 0) == (last > 0):
        return start if abs(first) < abs(last) else stop
    for _ in range(_STEPS):
        middle = (start * last - stop * first) / (last - first)
        found = function(middle)
        if (found > 0) == (last > 0):
            first /= 2
            step, stop, last = abs(stop - middle), middle, found
        else:
            step, start, stop, first, last = abs(start - middle), stop, middle, last, found
        if step <= _CLOSE or found == 0.0:
            break
    return stop


# --- a few failures ------------------------------------------------------------------------------


def few_failures_again(failures: float, trials: float, size: float, accepted: int, noise: float) -> float:
    """How likely a second run of `trials` trials has at most `accepted` failures, if the first had `failures`.

    The failure rate of such agents is not known: it has Jeffreys' posterior after the first run, worth `size` passes
    and fails. A trial that passed fails with probability noise × rate, and one that failed passes with probability
    noise × (1 - rate).
    """
    # In units of independent trials: correlated ones say less about the failure rate.
    seen = failures * size / trials
    rates = [
        beta_quantile((point + 0.5) / _POINTS, seen + 0.5, max(size - seen, 0.0) + 0.5) for point in range(_POINTS)
    ]
    failed, passed = round(failures), max(round(trials - failures), 0)
    return min(1.0, math.fsum(_chance_of_few(accepted, failed, passed, rate, noise) for rate in rates) / _POINTS)


def _chance_of_few(accepted: int, failed: int, passed: int, rate: float, noise: float) -> float:
    """How likely at most `accepted` trials fail, of `failed` that failed before and `passed` that passed."""
    stays, breaks = 1 - noise * (1 - rate), noise * rate

    def broken_at_most(count: int) -> float:
        return at_most(count, passed, breaks) if passed else 1.0

    return math.fsum(
        (at_most(still, failed, stays) - at_most(still - 1, failed, stays)) * broken_at_most(accepted - still)
        for still in range(min(accepted, failed) + 1)
    )


# --- any other number -------------------------------------------------------------------------


def number_again(
    value: float, low: float, high: float, threshold: float, noise: float, alpha: float, *, confident: bool
) -> Outlook | None:
    """The outlook of any number of which higher is better, by a normal distribution as wide as its interval.

    None if the estimate is compared and the end of the interval toward the threshold is unbounded.
    """
    below, above = value - low, high - value
    if not confident:
        passes = _reach(value - threshold, below if value >= threshold else above, noise, alpha)
        return None if passes is None else Outlook(passes, 0.0, 1.0 - passes)
    passes = 0.0 if math.isinf(below) else _reach(value - below - threshold, below, noise, alpha) or 0.0
    fails = 0.0 if math.isinf(above) else _reach(threshold - value - above, above, noise, alpha) or 0.0
    fails = min(fails, 1.0 - passes)
    return Outlook(passes, 1.0 - passes - fails, fails)


def _reach(gap: float, width: float, noise: float, alpha: float) -> float | None:
    """How likely a second estimate is no more than `gap` lower than the first, whose bound is `width` away."""
    if math.isinf(width):
        return None
    deviation = math.sqrt(2 * noise) * width / normal_quantile(1 - alpha)
    return normal_cdf(gap / deviation) if deviation > 0 else float(gap >= 0)


# --- several at once --------------------------------------------------------------------------


def all_of(parts: Iterable[Outlook], *, together: bool) -> Outlook:
    """The outlook of a condition that holds only if every part does; parts move `together`, or independently."""
    known = tuple(parts)
    # Rules that move together fail together, so the least likely one decides; independent ones multiply.
    combine = min if together else math.prod
    passes = combine([part.passes for part in known])
    unfailing = max(combine([1.0 - part.fails for part in known]), passes)
    return Outlook(passes, unfailing - passes, 1.0 - unfailing)


def any_of(parts: Iterable[Outlook], *, together: bool) -> Outlook:
    """The outlook of a condition that holds if any part does."""
    turned = all_of((Outlook(part.fails, part.inconclusive, part.passes) for part in parts), together=together)
    return Outlook(turned.fails, turned.inconclusive, turned.passes)
