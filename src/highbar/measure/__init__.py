"""Sums in, metrics out: every value is exact, with its interval and its count, or undefined with a reason.

needs               a policy and the columns of the results → which sums the engine must compute
values              the sums of a group → its metrics, as `Measured`
parts, scores       a formula → the ratios and percentiles in it; a score → what each of its terms adds
intervals, doubts   the bounds of a formula's value, and whether they are known to hold
undefined           why a metric is undefined
unjudged            whether a rule has no value only because trials were not judged
between             what a formula can be between the worst and the best of undecided trials
repeated_trials     how much scenarios and single trials vary
"""

from highbar.measure.needs import column_ranges, may_be_tried_again, needs, own_columns, undecided_of
from highbar.measure.repeated_trials import noise_share, repetition
from highbar.measure.values import Measured

__all__ = [
    "Measured",
    "column_ranges",
    "may_be_tried_again",
    "needs",
    "noise_share",
    "own_columns",
    "repetition",
    "undecided_of",
]
