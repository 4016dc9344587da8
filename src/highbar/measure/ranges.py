"""The ranges that a policy declares: of each row's value if a metric is the mean of a column, else of its value."""

from __future__ import annotations

from fractions import Fraction

from highbar import catalogue
from highbar.errors import InputError, Problem
from highbar.language.exact import write_decimal
from highbar.model import Call, Metric, Name, Policy
from highbar.model.ranges import ColumnRange

_SHARE = (Fraction(0), Fraction(1))


def declared(metric: Metric) -> tuple[Fraction, Fraction] | None:
    """The ends of a metric's range; a ratio has one, whether the policy says so or not."""
    return metric.range or (_SHARE if metric.unit == "ratio" else None)


def column_ranges(policy: Policy) -> tuple[ColumnRange, ...]:
    """The range of each row's value: a mean of 95 and many zeros is within 0 to 1, and no value of it is."""
    found: dict[ColumnRange, None] = {}
    for metric in policy.metrics.values():
        ends = declared(metric)
        match metric.expression:
            case Call("mean" | "percentile", (Name(column), *_)) if ends and _is_number(column):
                found[ColumnRange(column, *ends, metric.where)] = None
    return tuple(found)


def _is_number(column: str) -> bool:
    """Whether rows have a number in the column."""
    counted = column in catalogue.SUMMED_COLUMNS - catalogue.RANKED_COLUMNS
    return not counted and not catalogue.is_repeated(column)


def refuse_outside(policy: Policy, metric: Metric, value: Fraction) -> None:
    """Refuse a value outside of the metric's range: every comparison with it would be meaningless."""
    ends = declared(metric)
    if ends is None or ends[0] <= value <= ends[1]:
        return
    low, high = (write_decimal(end) for end in ends)
    message = f"the metric '{metric.name}' is {float(value):.6g}, outside of its range from {low} to {high}"
    hint = (
        f"correct its formula, {metric.formula}, or its range" if metric.formula else "correct its formula or its range"
    )
    raise InputError(Problem(message, file=policy.file, hint=hint))
