"""Thresholds and supposed true rates → how many scenarios it takes, and what a given number can show.

A threshold is `≥ bar` of a share. One of 100 % is judged as the gate does: it fails at the first failure, and passes
where none was seen in enough scenarios to exclude the tolerated rate.
"""

from __future__ import annotations

import math
from fractions import Fraction

from highbar.model import Outcome
from highbar.planning.plans import Assumptions, Chance, Difference, Reach, Supposed
from highbar.statistics.planning import (
    design_effect,
    gate_chances,
    gate_limits,
    pairs_needed,
    rate_to_fail,
    rate_to_pass,
    scenarios_to_fail,
    scenarios_to_pass,
    scenarios_with_trials,
    smallest_difference,
)
from highbar.statistics.tolerance import LARGEST, clusters_to_exclude


def fewest_to_pass(bar: Fraction, assumptions: Assumptions) -> int | None:
    """How many scenarios pass if every one of them does, however many trials each has; None where no number would."""
    excluded = assumptions.tolerate if bar == 1 else 1 - bar
    found = clusters_to_exclude(excluded, assumptions.alpha)
    return found if found < LARGEST else None


def suppose(bar: Fraction, rate: Fraction, assumptions: Assumptions) -> Supposed:
    """The scenarios that pass, or fail, an agent of this true rate with the assumed power; the rate is not the bar."""
    outcome: Outcome = "pass" if rate > bar or rate == bar == 1 else "fail"
    scenarios = _perfect(rate, assumptions) if bar == 1 else _decided(bar, rate, assumptions)
    return Supposed(bar, rate, outcome, scenarios, None if scenarios is None else scenarios * assumptions.trials)


def _perfect(rate: Fraction, assumptions: Assumptions) -> int | None:
    """For a threshold of 100 %: no failure in enough scenarios, or one with the assumed power."""
    if rate == 1:
        return fewest_to_pass(Fraction(1), assumptions)
    found = clusters_to_exclude(1 - rate, float(1 - assumptions.power))
    return found if found < LARGEST else None


def _decided(bar: Fraction, rate: Fraction, assumptions: Assumptions) -> int | None:
    decide = scenarios_to_pass if rate > bar else scenarios_to_fail
    single = decide(bar, rate, float(assumptions.power), assumptions.alpha)
    if single is None:
        return None
    # Trials are no substitute for scenarios: below this number even the best or worst result leaves the rule open.
    least = clusters_to_exclude(1 - bar if rate > bar else bar, assumptions.alpha)
    return max(least, scenarios_with_trials(single, assumptions.trials, float(assumptions.correlation)))


def reach(scenarios: int, bar: Fraction, assumptions: Assumptions) -> Reach:
    """What so many scenarios, each with the assumed trials, can show of `≥ bar`."""
    fewest = fewest_to_pass(bar, assumptions)
    can_pass = fewest is not None and scenarios >= fewest
    if bar == 1:
        power = float(assumptions.power)
        passing = power ** (1 / scenarios) if can_pass else None
        limits = (scenarios if can_pass else None, scenarios - 1)
        return Reach(bar, scenarios, *_counted(limits, assumptions), passing, (1 - power) ** (1 / scenarios))
    worth, power, alpha = _worth(scenarios, assumptions), float(assumptions.power), assumptions.alpha
    can_fail = scenarios >= clusters_to_exclude(bar, alpha)
    return Reach(
        bar,
        scenarios,
        *_counted(gate_limits(worth, bar, alpha), assumptions),
        rate_to_pass(worth, bar, power, alpha) if can_pass else None,
        rate_to_fail(worth, bar, power, alpha) if can_fail else None,
    )


def chance(scenarios: int, bar: Fraction, rate: Fraction, assumptions: Assumptions) -> Chance:
    """How so many scenarios, each with the assumed trials, would judge an agent of this true rate by `≥ bar`."""
    if bar == 1:
        fewest = fewest_to_pass(bar, assumptions)
        unfailing = float(rate) ** scenarios
        passes = unfailing if fewest is not None and scenarios >= fewest else 0.0
        return Chance(bar, rate, scenarios, passes, 1.0 - unfailing, unfailing - passes)
    found = gate_chances(_worth(scenarios, assumptions), bar, rate, assumptions.alpha)
    return Chance(bar, rate, scenarios, found.passes, found.fails, found.inconclusive)


def smallest(scenarios: int, differing: Fraction, assumptions: Assumptions) -> Difference:
    """The smallest difference between two versions that so many common scenarios show with the assumed power."""
    found = smallest_difference(scenarios, differing, float(assumptions.power), assumptions.alpha)
    return Difference(scenarios, differing, found if found <= differing else None)


def show(difference: Fraction, differing: Fraction, assumptions: Assumptions) -> Difference:
    """The common scenarios that show a difference of this size with the assumed power."""
    needed = pairs_needed(difference, differing, float(assumptions.power), assumptions.alpha)
    return Difference(needed, differing, float(difference))


def _worth(scenarios: int, assumptions: Assumptions) -> int:
    """How many scenarios of one trial these are worth."""
    effect = design_effect(assumptions.trials, float(assumptions.correlation))
    return max(scenarios, math.floor(scenarios * assumptions.trials / effect))


def _counted(limits: tuple[int | None, int | None], assumptions: Assumptions) -> tuple[int | None, int | None]:
    """Counts of passes mean something where each scenario passes or fails; several trials make shares of it."""
    return limits if assumptions.trials == 1 else (None, None)
