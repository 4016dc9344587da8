"""Sums in, metrics out: every value is exact, with its interval and its count, or undefined with a reason.

needs               a policy and the columns of the results → which sums the engine must compute
values              the sums of a group → its metrics, as `Measured`
parts, scores       a formula → the ratios and percentiles in it; a score → what each of its terms adds
intervals, doubts   the bounds of a formula's value, and which metrics have none that is known to hold
unknown, between    what unknown values can be, and what a formula can be between the worst and the best of them
spread              what else the sums show: slices that are worse, repeated trials, weight on few scenarios
"""

from highbar.measure.needs import needs, own_columns
from highbar.measure.spread import noise_share, repetition, standings, trial_warnings, weight_warnings
from highbar.measure.unknown import column_ranges, ends_by_column, undecided_of
from highbar.measure.values import Measured

__all__ = [
    "Measured",
    "column_ranges",
    "ends_by_column",
    "needs",
    "noise_share",
    "own_columns",
    "repetition",
    "standings",
    "trial_warnings",
    "undecided_of",
    "weight_warnings",
]
