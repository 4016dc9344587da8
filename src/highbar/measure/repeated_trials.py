"""What repeated trials show: how much scenarios and single trials vary."""

from __future__ import annotations

from fractions import Fraction

from highbar.model import Repetition
from highbar.model.reduction import RepetitionSums
from highbar.statistics.second_run import Noise
from highbar.statistics.second_run import trial_noise as noise_of
from highbar.statistics.trials import VarianceSplit, never_failed_bound, variance_split_from_sums

FEW_REPEATED, SMALL_PART = 5, Fraction(1, 20)
"""The least Σ(1 - 1/m), in number and as a share of the scenarios, that shows a correlation of their m trials.

They are ten scenarios with two trials each, and a tenth of the suite.
"""


def repetition(sums: RepetitionSums, scenarios: int, alpha: float) -> Repetition | None:
    """The variance between and within scenarios, from repeated trials; None if no scenario has two."""
    split = _variance_split(sums, scenarios)
    if split is None:
        return None
    return Repetition(
        flaky=sums.flaky,
        between=split.between,
        within=split.within,
        correlation=split.correlation,
        fewest=sums.fewest,
        still_possible=never_failed_bound(sums.fewest, alpha),
    )


def _variance_split(sums: RepetitionSums, scenarios: int) -> VarianceSplit | None:
    return variance_split_from_sums(
        scenarios=scenarios,
        freedom=sums.freedom,
        within=sums.within,
        rate=sums.rate,
        rate_squares=sums.rate_squares,
        inverse_trials=sums.inverse_trials,
    )


def noise_share(sums: RepetitionSums, scenarios: int, *, pooled: bool, undecided: bool = False) -> Noise:
    """The share of an estimate's variance that is trial noise; a range if repeated trials do not show it.

    A few repeated scenarios show it only for themselves, and may have been repeated because they are flaky. Undecided
    trials may or may not agree with the others.
    """
    split = _variance_split(sums, scenarios)
    trials = float(scenarios / sums.inverse_trials) if sums.inverse_trials else 1.0
    repeated = scenarios - sums.inverse_trials  # a scenario with two trials counts half, one with more at most 1
    enough = repeated >= FEW_REPEATED and repeated >= SMALL_PART * scenarios and not undecided
    return noise_of(split, sums.freedom, trials, pooled=pooled, enough=enough)
