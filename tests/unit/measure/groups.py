"""Sums of scenarios that are given one by one: what the engine would hand over, taken directly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from highbar.measure import needs
from highbar.measure.intervals import FormulaBounds
from highbar.measure.parts import of_metric
from highbar.model import Linear, Percentile, Policy, Ratio, Term
from highbar.policy import read_dict
from highbar.statistics.bounds import Sums, effective_trials
from highbar.statistics.composite import CrossSums
from highbar.statistics.interval import Interval

Scenario = Mapping[Term, Any]
"""A scenario's part in each sum; what is not there is 0."""


@dataclass(frozen=True)
class Totals:
    """The sums of one ratio."""

    sums: Sums
    largest: float
    trials: float
    thirds: None = None
    noise: None = None


@dataclass(frozen=True)
class Rank:
    """A percentile's value and its bounds."""

    value: Fraction | None
    low: Fraction | None = None
    high: Fraction | None = None


@dataclass(frozen=True)
class Given:
    """The sums of some scenarios."""

    ratios: Mapping[Ratio, Totals]
    crosses: Mapping[tuple[Ratio, Ratio], CrossSums]
    ranks: Mapping[Percentile, Rank] = field(default_factory=dict)


def part(linear: Linear, scenario: Scenario) -> Fraction:
    """A scenario's part in a weighted sum of terms."""
    return sum((factor * Fraction(scenario.get(term, 0)) for term, factor in linear), Fraction(0))


def pairs(ratio: Ratio, scenarios: Sequence[Scenario]) -> list[tuple[Fraction, Fraction]]:
    """(z, d) of each scenario."""
    return [(part(ratio.z, one), part(ratio.d, one)) for one in scenarios]


def group_of(
    policy: Policy, scenarios: Sequence[Scenario], ranks: Mapping[Percentile, Rank] | None = None, trials: int = 1
) -> Given:
    """The sums that the policy's metrics need; every scenario has so many trials."""
    wanted = needs(policy)
    ratios = {}
    for ratio in wanted.ratios:
        listed = [(z, d) for z, d in pairs(ratio, scenarios) if z or d]
        weight = sum(d for _, d in listed)
        worth = effective_trials(weight, max(d for _, d in listed) / trials) if weight else Fraction(0)
        ratios[ratio] = Totals(Sums.of(listed), float(max((d for _, d in listed), default=0)), float(worth))
    crosses = {}
    for first, second in wanted.crosses:
        both = list(zip(pairs(first, scenarios), pairs(second, scenarios), strict=True))
        crosses[first, second] = CrossSums(
            *(sum(one[i] * two[j] for one, two in both) for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)))
        )
    return Given(ratios, crosses, ranks or {})


def policy_of(formula: str, **more: Any) -> Policy:
    """A policy whose metric `m` has this formula."""
    metric = {"name": "m", "formula": formula}
    return read_dict(
        {"metrics": [metric, *more.pop("metrics", [])], "thresholds": {"blocking": {"pass_rate": 50}}, **more}
    )


def bounds_of(
    formula: str,
    scenarios: Sequence[Scenario],
    *,
    alpha: float = 0.05,
    ranks: Mapping[Percentile, Rank] | None = None,
    trial_noise: bool = False,
    trials: int = 1,
    **more: Any,
) -> Interval:
    """The bounds of a formula over these scenarios."""
    policy = policy_of(formula, **more)
    taken = FormulaBounds(group_of(policy, scenarios, ranks, trials), alpha, trial_noise=trial_noise)
    return taken.of(of_metric(policy, policy.metrics["m"]))
