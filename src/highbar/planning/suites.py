"""Thresholds and supposed true rates → how many scenarios it takes, and what a given number can show.

A threshold is `≥ bar` of a share. One of 100 % is judged as the gate does: it fails at the first failure, and passes
if enough scenarios without a failure exclude the tolerated rate. Repeated trials do not count there.
"""

from __future__ import annotations

from fractions import Fraction

from highbar.model import Outcome
from highbar.planning import repeated
from highbar.planning.plans import Assumptions, Chance, PlannedDifference, Reach, SizeNeeded
from highbar.statistics.distributions import at_most, beta_upper_quantile
from highbar.statistics.planning import (
    MOST_TO_EXCLUDE,
    clusters_to_exclude,
    enough_to_fail,
    enough_to_pass,
    gate_chances,
    gate_limits,
    pairs_needed,
    rate_to_fail,
    rate_to_pass,
    scenarios_to_fail,
    scenarios_to_pass,
    smallest_difference,
)


def fewest_to_pass(bar: Fraction, assumptions: Assumptions, failures: int = 0) -> int | None:
    """The fewest scenarios that pass if all but `failures` of them are good; None if no number would.

    The number of trials of each does not matter.
    """
    excluded = assumptions.tolerate if bar == 1 else 1 - bar
    found = clusters_to_exclude(excluded, assumptions.alpha, failures)
    return found if found < MOST_TO_EXCLUDE else None


def size_needed(bar: Fraction, rate: Fraction, assumptions: Assumptions) -> SizeNeeded:
    """How many scenarios pass, or fail, an agent of this true rate with the assumed power.

    The rate is not the bar, unless both are 1.
    """
    outcome: Outcome = "pass" if rate > bar or rate == bar == 1 else "fail"
    if bar == 1:
        fewest = scenarios = _size_for_perfection(rate, assumptions)
    else:
        fewest, scenarios = _sizes_to_decide(bar, rate, assumptions)
    return SizeNeeded(
        bar, rate, outcome, scenarios, None if scenarios is None else scenarios * assumptions.trials, fewest
    )


def _size_for_perfection(rate: Fraction, assumptions: Assumptions) -> int | None:
    """For a threshold of 100 %: enough scenarios to pass a perfect agent, or to show one failure of another."""
    if rate == 1:
        return fewest_to_pass(Fraction(1), assumptions)
    found = clusters_to_exclude(1 - rate, float(1 - assumptions.power))
    return found if found < MOST_TO_EXCLUDE else None


def _sizes_to_decide(bar: Fraction, rate: Fraction, assumptions: Assumptions) -> tuple[int | None, int | None]:
    """The smallest number of scenarios that suffices, and the one from which on all larger ones do."""
    if not assumptions.repeats:
        decide = (scenarios_to_pass, enough_to_pass) if rate > bar else (scenarios_to_fail, enough_to_fail)
        first, enough = (each(bar, rate, float(assumptions.power), assumptions.alpha) for each in decide)
        return first, enough
    if rate > bar:
        found = repeated.scenarios_to_pass(bar, rate, assumptions)
    else:
        found = repeated.scenarios_to_pass(1 - bar, 1 - rate, assumptions)
    return found, found


def reach(scenarios: int, bar: Fraction, assumptions: Assumptions, failures: int = 0) -> Reach:
    """What a suite of `scenarios`, each with the assumed trials, can show about `≥ bar`.

    A threshold of 100 % accepts so many `failures`.
    """
    power, alpha = float(assumptions.power), assumptions.alpha
    if bar == 1:
        passing = _passing_failures(scenarios, assumptions, failures)
        return Reach(
            bar,
            scenarios,
            None if passing is None else scenarios - passing,
            scenarios - failures - 1 if failures < scenarios else None,
            None if passing is None else _rate_with(passing, scenarios, power),
            _rate_with(failures, scenarios, 1 - power) if failures < scenarios else None,
        )
    if assumptions.repeats:
        failing = repeated.rate_to_pass(scenarios, 1 - bar, assumptions)
        passing_rate = repeated.rate_to_pass(scenarios, bar, assumptions)
        return Reach(bar, scenarios, None, None, passing_rate, None if failing is None else 1 - failing)
    return Reach(
        bar,
        scenarios,
        *gate_limits(scenarios, bar, alpha),
        rate_to_pass(scenarios, bar, power, alpha),
        rate_to_fail(scenarios, bar, power, alpha),
        _best_near(scenarios, bar, alpha),
    )


def _best_near(scenarios: int, bar: Fraction, alpha: float) -> int | None:
    """The size nearest to this one at which a failure more is allowed; None if no number of scenarios passes."""
    passes, _ = gate_limits(scenarios, bar, alpha)
    first = 0 if passes is None else scenarios - passes
    sizes = [clusters_to_exclude(1 - bar, alpha, failures) for failures in (first, first + 1)]
    best = min(sizes, key=lambda size: abs(size - scenarios))
    return best if best < MOST_TO_EXCLUDE else None


def _passing_failures(scenarios: int, assumptions: Assumptions, failures: int) -> int | None:
    """The most failures, up to the accepted ones, with which a threshold of 100 % passes; None if not even 0 do."""
    passes, _ = gate_limits(scenarios, 1 - assumptions.tolerate, assumptions.alpha)
    return None if passes is None else min(failures, scenarios - passes)


def _rate_with(failures: int, scenarios: int, chance: float) -> float:
    """The true rate at which at most so many of the scenarios fail with this chance."""
    return 1.0 - beta_upper_quantile(chance, failures + 1, scenarios - failures)


def gate_chance(scenarios: int, bar: Fraction, rate: Fraction, assumptions: Assumptions, failures: int = 0) -> Chance:
    """How likely each outcome of `≥ bar` is for an agent of this true rate, on scenarios with the assumed trials.

    A threshold of 100 % accepts so many `failures`.
    """
    if bar == 1:
        passing = _passing_failures(scenarios, assumptions, failures)
        accepted = at_most(failures, scenarios, float(1 - rate))
        passes = 0.0 if passing is None else at_most(passing, scenarios, float(1 - rate))
        return Chance(bar, rate, scenarios, passes, 1.0 - accepted, accepted - passes)
    if assumptions.repeats:
        passes = repeated.chance_to_pass(scenarios, bar, rate, assumptions)
        fails = repeated.chance_to_pass(scenarios, 1 - bar, 1 - rate, assumptions)
        return Chance(bar, rate, scenarios, passes, fails, max(0.0, 1.0 - passes - fails))
    found = gate_chances(scenarios, bar, rate, assumptions.alpha)
    return Chance(bar, rate, scenarios, found.passes, found.fails, found.inconclusive)


def difference_shown(scenarios: int, differing: Fraction, assumptions: Assumptions) -> PlannedDifference:
    """The smallest difference between two versions that `scenarios` common ones show with the assumed power."""
    found = smallest_difference(scenarios, differing, float(assumptions.power), assumptions.alpha)
    return PlannedDifference(scenarios, differing, found if found <= differing else None)


def scenarios_to_show(difference: Fraction, differing: Fraction, assumptions: Assumptions) -> PlannedDifference:
    """How many common scenarios show a difference of this size with the assumed power."""
    needed = pairs_needed(difference, differing, float(assumptions.power), assumptions.alpha)
    return PlannedDifference(needed, differing, float(difference))
