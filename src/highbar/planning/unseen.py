"""A verdict in, the loss that its suite would miss out: from the values of the run alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from msgspec.structs import replace

from highbar.language.digits import parse_threshold
from highbar.model import RuleResult, Value, Verdict
from highbar.planning.plans import UnseenLoss
from highbar.planning.repeated import lower_bound, spread
from highbar.statistics.losses import Chance, repeated_trials_chance, scenarios_for, single_trial_chance
from highbar.statistics.second_run import Share, effective_size

LOSSES = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
"""The largest of these that is not found often enough is named: nobody plans for losses of 3.7 points."""
POWER = 0.8
MAIN = "pass_rate"
SINGLE = (MAIN, "accuracy", "safety_rate")
"""Rates of scenarios that either pass or fail in one trial. How much scores differ between two runs is not known."""
_FEWEST = 10
"""Scenarios; with fewer, a rate says too little about what the next run does."""


def unseen_loss(verdict: Verdict) -> UnseenLoss | None:
    """The loss that a comparison with this run would often miss; None if nothing can be said.

    It speaks of the first blocking rule about a rate below 100 %, else of the pass rate.
    """
    if verdict.sequential is not None or verdict.counts.undecided:
        return None  # a part of the suite, or a part of the answers, says little about the whole
    metric = _metric(verdict)
    value, alpha = verdict.metrics.get(metric), float(1 - verdict.confidence)
    size = None if value is None else _independent(value, alpha)
    if value is None or size is None or value.scenarios < _FEWEST:
        return None
    # Two scenarios are added, one good and one bad: 20 of 20 is no certainty.
    rate = (float(value.value or 0) * value.scenarios + 1) / (value.scenarios + 2)
    found = verdict.repetition
    if found is None or found.correlation is None or found.fewest == 1:
        clustered = size < value.scenarios - 1
        return _named(
            metric,
            value.scenarios,
            rate,
            size,
            lambda loss: single_trial_chance(rate, loss, alpha, clustered=clustered),
        )
    trials = verdict.counts.trials / verdict.counts.scenarios
    # Clusters widen the interval: it is compared with that of as many scenarios that are not alike.
    between, noise = max(found.between, 0.0), found.within / trials
    alone = lower_bound(value.scenarios, value.value or Fraction(0), spread(trials, found.correlation), alpha)
    size *= value.scenarios / (_independent(replace(value, low=alone), alpha) or size)
    named = _named(
        metric, value.scenarios, rate, size, lambda loss: repeated_trials_chance(rate, loss, between, noise, alpha)
    )
    return named and replace(named, at_most=False)


def unseen_by_plan(metric: str, scenarios: int, rate: float, alpha: float) -> UnseenLoss | None:
    """The same for a suite that was not run yet and an agent of this rate, with one trial each."""
    return _named(metric, scenarios, rate, scenarios, lambda loss: single_trial_chance(rate, loss, alpha))


def _named(
    metric: str, scenarios: int, rate: float, size: float, chance_of: Callable[[float], Chance]
) -> UnseenLoss | None:
    """The largest loss that is not found often enough; the scenarios are worth `size` independent ones."""
    worth = min(1.0, size / scenarios)
    for loss in LOSSES:
        chance = chance_of(loss) if loss < rate else None
        shown = POWER if chance is None else chance(max(1, round(scenarios * worth)))
        if chance is not None and shown < POWER:
            needed = scenarios_for(chance, POWER)
            enough = None if needed is None else _rounded_up(needed / worth)
            return UnseenLoss(metric, scenarios, loss, 1 - shown, enough, at_most=True)
    return None


def _metric(verdict: Verdict) -> str:
    if verdict.repetition is not None:
        return MAIN  # the only one of which the noise of trials is known
    return next((rule.metric for rule in verdict.rules if rule.metric and _is_main(rule)), MAIN)


def _is_main(rule: RuleResult) -> bool:
    bar = parse_threshold(rule.threshold or "")
    whole = rule.level == "blocking" and not rule.slice and rule.raw is None
    return whole and rule.metric in SINGLE and bar is not None and bar[1] < 1


def _independent(value: Value, alpha: float) -> float | None:
    """How many independent passes and fails the interval is worth; None if it does not say."""
    if value.value is None or value.low is None or value.high is None or not 0 < value.value <= 1:
        return None
    return effective_size(Share(value.value, float(value.low), float(value.high), value.scenarios), alpha)


def _rounded_up(scenarios: float) -> int:
    """To two digits: more would be a precision that nobody has."""
    unit: int = 10 ** max(0, math.floor(math.log10(scenarios)) - 1)
    return math.ceil(scenarios / unit) * unit
