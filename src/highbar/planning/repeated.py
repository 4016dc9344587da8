"""Scenarios of several trials each: how the gate's own bound judges them.

Trials of one scenario are alike: the variance of its mean over m trials is (1 + (m - 1) correlation) / m of that of one
trial. The bound adds one scenario at the worst end, which more trials cannot make up for, so this design effect alone
would promise too much. Here the bound itself determines the share of passes that it lets through, and a Beta
distribution how likely that share is. `bench/planned.py` compares that with what happens.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

from highbar.planning.plans import Assumptions
from highbar.statistics.bounds import Sums, share_bounds
from highbar.statistics.distributions import beta_survival
from highbar.statistics.planning import MOST_TO_EXCLUDE

_STEPS = 10**7
"""The number of equal parts of a share, to one of which it is found."""


def spread(trials: float, correlation: float) -> float:
    """The variance of a scenario's mean over `trials` trials, divided by that of one trial."""
    return (1 + (trials - 1) * correlation) / trials


def lower_bound(scenarios: int, share: Fraction, varies: float, alpha: float) -> float:
    """The gate's lower bound of this share of passes; `varies` is the `spread` of the scenarios' means."""
    squares = scenarios * (share * share + share * (1 - share) * Fraction(varies))
    bounds = share_bounds(Sums(scenarios, scenarios, scenarios * share, squares, scenarios * share, scenarios), alpha)
    return bounds.low if bounds else 0.0


def scenarios_to_bound(low: float, share: Fraction, varies: float, alpha: float) -> int:
    """The fewest scenarios with this `spread` whose lower bound of the share is at least `low`, which is below it."""
    most = 1
    while most < MOST_TO_EXCLUDE and lower_bound(most, share, varies, alpha) < low:
        most *= 2
    sizes = range(1, most)
    return 1 + bisect_left(sizes, True, key=lambda size: lower_bound(size, share, varies, alpha) >= low)


def chance_to_pass(scenarios: int, bar: Fraction, rate: Fraction, assumptions: Assumptions) -> float:
    """How likely an agent of this true rate passes `≥ bar` on `scenarios`.

    The chance to fail it is this chance for 1 - bar and 1 - rate, with passes and failures swapped.
    """
    share = _share_to_pass(scenarios, bar, assumptions)
    return 0.0 if share is None else _at_least(share, scenarios, float(rate), assumptions)


def scenarios_to_pass(bar: Fraction, rate: Fraction, assumptions: Assumptions) -> int | None:
    """The fewest scenarios that pass `≥ bar` with the assumed power at this true rate; None if no number does."""

    def enough(scenarios: int) -> bool:
        return chance_to_pass(scenarios, bar, rate, assumptions) >= assumptions.power

    most = 1
    while most < MOST_TO_EXCLUDE and not enough(most):
        most *= 2
    return 1 + bisect_left(range(1, most), True, key=enough) if most < MOST_TO_EXCLUDE else None


def rate_to_pass(scenarios: int, bar: Fraction, assumptions: Assumptions) -> float | None:
    """The smallest true rate that passes on `scenarios` with the assumed power; None if even 100 % would not."""
    share = _share_to_pass(scenarios, bar, assumptions)
    if share is None:
        return None
    return _smallest(lambda rate: _at_least(share, scenarios, rate, assumptions) >= assumptions.power)


def _share_to_pass(scenarios: int, bar: Fraction, assumptions: Assumptions) -> float | None:
    """The smallest share of passes whose lower bound reaches the bar; None if even all passes do not reach it."""
    varies = spread(assumptions.trials, float(assumptions.correlation))

    def reaches(share: float) -> bool:
        return lower_bound(scenarios, Fraction(share), varies, assumptions.alpha) >= bar

    return _smallest(reaches) if reaches(1.0) else None


def _at_least(share: float, scenarios: int, rate: float, assumptions: Assumptions) -> float:
    """How likely the mean of the scenarios is at least this share, by a Beta with its mean and variance."""
    if rate in (0.0, 1.0):
        return float(rate >= share)
    size = scenarios / spread(assumptions.trials, float(assumptions.correlation)) - 1
    if size <= 0:  # one scenario whose trials always agree: it passes or fails as a whole
        return rate
    return beta_survival(share, rate * size, (1 - rate) * size)


def _smallest(holds: Callable[[float], bool]) -> float:
    """The smallest share at which a condition becomes true, and stays so."""
    return bisect_left(range(_STEPS), True, key=lambda step: holds(step / _STEPS)) / _STEPS
