"""Predicts the outcome of a rule in a second run on the same scenarios.

Two things are unknown: how much of the variation is trial noise (if no scenario was repeated), and whether several
rules pass or fail together. So there are four cases: little or much noise, each with rules that change independently
or together. Reports show the range from the smallest to the largest chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from msgspec import Struct

from highbar.model import (
    Call,
    Constant,
    Demand,
    DriftRule,
    JudgeRule,
    Metric,
    Outcome,
    Outlook,
    QuarantineRule,
    RuleResult,
    Threshold,
    Value,
)
from highbar.statistics.bounds import Sums, nearest_rank
from highbar.statistics.second_run import (
    NOT_REPEATED,
    Noise,
    Share,
    all_of,
    effective_size,
    few_failures_again,
    number_again,
    share_again,
)

_ROUNDING = 0.01
"""Tolerance for a number of scenarios that is computed from a bound: it may fall just short of a whole number."""
TOGETHER = (False, True, False, True)
"""For each of the four cases, whether rules change together. Two have the least noise, the other two the most."""

Outlooks = tuple[Outlook, ...]
"""One for each of the four cases; empty if unknown."""


class Range(NamedTuple):
    """The smallest and the largest chance."""

    low: float
    high: float


class ValueSupport(Struct, frozen=True):
    """The numbers behind a value: its sums if it is a share, how many of their units are not perfect, and trial noise.

    `percentile` is the rank of a percentile as a share: 0.95 for p95.
    """

    sums: Sums | None = None
    failing: int | None = None
    noise: Noise = NOT_REPEATED
    percentile: Fraction | None = None


NO_SUPPORT = ValueSupport()


def percentile_of(metric: Metric | None) -> Fraction | None:
    """The rank, as a share, of a metric that is a percentile and better when lower; else None."""
    expression = None if metric is None else metric.expression
    if metric is None or metric.better != "lower" or not isinstance(expression, Call):
        return None
    share = expression.arguments[1] if expression.function == "percentile" else None
    return share.value if isinstance(share, Constant) else None


def outlooks_by_noise(take: Callable[[float], Outlook | None], noise: Noise) -> Outlooks:
    """The four cases of one rule, which differ only in the noise; empty if `take` returns None, or without any noise.

    Trials of a scenario that always came to the same say nothing about the next run: what all of them share may differ.
    """
    if noise.most == 0:
        return ()
    least = take(noise.least)
    most = least if noise.least == noise.most else take(noise.most)
    return () if least is None or most is None else (least, least, most, most)


def combine_outlooks(parts: Sequence[Outlooks], combine: Callable[..., Outlook]) -> Outlooks:
    """The four cases of several parts, combined case by case; empty if those of a part are unknown."""
    if not all(parts):
        return ()
    return tuple(combine([part[case] for part in parts], together=TOGETHER[case]) for case in range(len(TOGETHER)))


def chance(outlooks: Outlooks, outcome: Outcome) -> Range | None:
    """The chance that a second run has another outcome; None if unknown."""
    if not outlooks:
        return None
    differs = [min(1.0, max(0.0, 1.0 - outlook.of(outcome))) for outlook in outlooks]
    return Range(min(differs), max(differs))


def second_run(results: Iterable[RuleResult]) -> Range | None:
    """The chance that a second run has another verdict; None if it is unknown for a blocking rule, or there is none."""
    blocking = [result for result in results if result.level == "blocking"]
    whole = combine_outlooks([result.outlooks for result in blocking], all_of) if blocking else ()
    outcomes = {result.outcome for result in blocking}
    # An outlook counts an undefined outcome as a fail, as the verdict does.
    failed = outcomes & {"fail", "undefined"}
    return chance(whole, "fail" if failed else "inconclusive" if "inconclusive" in outcomes else "pass")


def certain_outlooks(outcome: Outcome) -> Outlooks:
    """The outlooks of a rule that trial noise does not affect: the same outcome for sure."""
    passes, open_ = outcome == "pass", outcome == "inconclusive"
    return (Outlook(float(passes), float(open_), float(not passes and not open_)),) * len(TOGETHER)


def certain_result(rule: DriftRule | JudgeRule | QuarantineRule, outcome: Outcome, reason: str) -> RuleResult:
    """The result of a rule that trial noise does not affect."""
    return RuleResult(
        rule.name,
        rule.level,
        outcome,
        reason,
        description=rule.description,
        place=rule.place,
        outlooks=certain_outlooks(outcome),
    )


def without_passes(outlooks: Outlooks) -> Outlooks:
    """The outlooks of a rule that cannot pass yet, however good its value: passes become inconclusive."""
    return tuple(Outlook(0.0, each.passes + each.inconclusive, each.fails) for each in outlooks)


# --- a value against a threshold --------------------------------------------------------------


def outlooks_of_value(
    value: Value, bar: Threshold, demand: Demand, alpha: float, support: ValueSupport, *, at_end: bool
) -> Outlooks:
    """The outlooks of a threshold, empty if unknown; `at_end` if only perfection reaches it.

    They are unknown for perfection, which hangs on how often rare failures come back, and for a percentile that is
    judged by its bounds: measured, what was stated there was wrong by up to half.
    """
    number, confident = value.value, demand.is_confident
    if number is None or at_end or bar.operator in ("=", "!=") or (confident and support.percentile is not None):
        return ()
    if value.unit == "ratio" and value.low is not None and value.high is not None:
        share = Share(number, value.low, value.high, _parts(value, support))
        share = share if value.better == "higher" else share.complement()
        noise = _noise(share, value, alpha, support)
        aim, strict = bar.value if value.better == "higher" else 1 - bar.value, bar.operator in ("<", ">")
        return outlooks_by_noise(lambda f: share_again(share, aim, f, alpha, confident=confident, strict=strict), noise)
    if value.high is None and support.percentile is not None and bar.met_by(number):
        return _percentile_outlooks(value, support, support.percentile)
    sign = 1 if value.better == "higher" else -1
    low = -math.inf if value.low is None else value.low
    high = math.inf if value.high is None else value.high
    ends = (low, high) if sign > 0 else (-high, -low)
    aim_at, at = sign * float(bar.value), sign * float(number)
    return outlooks_by_noise(lambda f: number_again(at, *ends, aim_at, f, alpha, confident=confident), support.noise)


def _parts(value: Value, support: ValueSupport) -> int | None:
    """The number of equal parts in which a share is counted: its trials, if the share is a whole number of them."""
    trials = round(value.scenarios * support.noise.trials)
    plain = support.sums is not None and support.sums.clusters == value.scenarios and support.sums.dd == support.sums.d
    return trials if plain and trials and value.value is not None and (value.value * trials).denominator == 1 else None


def _noise(share: Share, value: Value, alpha: float, support: ValueSupport) -> Noise:
    """The share of trial noise; smaller if scenarios come in clusters, which vary for other reasons as well."""
    clusters = value.scenarios if support.sums is None else support.sums.clusters
    size = effective_size(share, alpha) or effective_size(share.complement(), alpha)
    if not 0 < clusters < value.scenarios or size is None:
        return support.noise
    return support.noise.for_clusters(size, value.scenarios)


def _percentile_outlooks(value: Value, support: ValueSupport, percentile: Fraction) -> Outlooks:
    """The outlooks of a percentile that meets its limit and has no upper bound.

    The number of trials beyond the limit is between 0 and the number of trials above the percentile's rank. These two
    ends give the range of the chance.
    """
    trials = max(1, round(value.scenarios * support.noise.trials))
    above = trials - nearest_rank(trials, percentile)
    ends = ((0, support.noise.least), (above, support.noise.most))
    found = []
    for beyond, noise in ends:
        passes = few_failures_again(beyond, trials, value.scenarios, above, noise)
        found += [Outlook(passes, 0.0, 1.0 - passes)] * 2
    return tuple(found)


# --- a difference -----------------------------------------------------------------------------


def outlooks_of_difference(
    value: Fraction, low: Fraction | float, high: Fraction | float, demand: Demand, alpha: float, noise: Noise
) -> Outlooks:
    """The outlooks of a margin, from what is left of it. By the estimate it passes at 0, and fails by the interval."""
    ends = float(low), float(high)

    def take(of: float) -> Outlook | None:
        by_interval = number_again(float(value), *ends, 0.0, of, alpha, confident=True)
        by_estimate = number_again(float(value), *ends, 0.0, of, alpha, confident=False)
        if demand.is_confident or by_interval is None or by_estimate is None:
            return by_interval
        return Outlook(
            by_estimate.passes,
            max(0.0, by_estimate.fails - by_interval.fails),
            min(by_interval.fails, by_estimate.fails),
        )

    return outlooks_by_noise(
        take, noise.for_difference()
    )  # half of the noise is that of the baseline, which does not run again
