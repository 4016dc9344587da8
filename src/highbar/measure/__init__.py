"""Sums in, metrics out: every value is exact, with its interval and its count, or undefined with a reason."""

from highbar.measure.needs import needs, own_columns
from highbar.measure.spread import noise_share, repetition, standings, trial_warnings, weight_warnings
from highbar.measure.unknown import column_ranges, ends, undecided_of
from highbar.measure.values import Measured

__all__ = [
    "Measured",
    "column_ranges",
    "ends",
    "needs",
    "noise_share",
    "own_columns",
    "repetition",
    "standings",
    "trial_warnings",
    "undecided_of",
    "weight_warnings",
]
