"""Repeated trials of a scenario: the bound of one that never failed, and the variance between and within scenarios."""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from highbar.statistics.interval import Real


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
