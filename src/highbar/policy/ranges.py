"""The range of the values that a formula can have, from its text alone, without results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import assert_never

from highbar import catalogue
from highbar.catalogue import MEASURES, SETTINGS
from highbar.language.formula import COLUMN_FUNCTIONS, fold
from highbar.language.formula.operations import range_of
from highbar.model import COMPARE, Binary, Call, Constant, Expression, Metric, Name, Negative, Operator

Bounds = tuple[Fraction | None, Fraction | None]
"""The least and the greatest value; None if there is no bound."""

_ANY: Bounds = (None, None)
_SHARE: Bounds = (Fraction(0), Fraction(1))
_NOT_NEGATIVE: Bounds = (Fraction(0), None)


def value_range(expression: Expression, metrics: Mapping[str, Metric]) -> Bounds:
    """The range that contains the value of `expression` for any results."""

    def combine(node: Expression, operands: Iterator[Bounds]) -> Bounds:
        match node:
            case Constant(value):
                return value, value
            case Name(name):
                return _of_name(name, metrics)
            case Negative():
                return _difference((Fraction(0), Fraction(0)), next(operands))
            case Binary(operator):
                return _of_binary(operator, *operands)
            case Call("abs"):
                return _NOT_NEGATIVE
            case Call(function, arguments) if function in COLUMN_FUNCTIONS:
                return _of_column(function, arguments[0])
            case Call(function):
                return _of_choice(function, list(operands))
        assert_never(node)

    return fold(expression, combine)


def _of_name(name: str, metrics: Mapping[str, Metric]) -> Bounds:
    if name in MEASURES or name in SETTINGS:
        return _NOT_NEGATIVE
    metric = metrics.get(name)
    if metric is not None and metric.range is not None:
        return metric.range
    unit = metric.unit if metric else "number"
    return _SHARE if unit == "ratio" else _ANY if unit == "number" else _NOT_NEGATIVE


def _of_choice(function: str, ranges: list[Bounds]) -> Bounds:
    """The range of min or max: one upper bound is enough to bound a min, one lower bound to bound a max."""
    pick = min if function == "min" else max
    lows, highs = [low for low, _ in ranges if low is not None], [high for _, high in ranges if high is not None]
    low_known = len(lows) == len(ranges) or (function == "max" and lows)
    high_known = len(highs) == len(ranges) or (function == "min" and highs)
    return pick(lows) if low_known else None, pick(highs) if high_known else None


def _of_column(function: str, argument: Expression) -> Bounds:
    column = argument.name if isinstance(argument, Name) else ""
    if column not in catalogue.SUMMED_COLUMNS and not catalogue.is_repeated(column):
        return _ANY
    shares = column in catalogue.BOUNDED_COLUMNS or catalogue.is_repeated(column)
    return _SHARE if shares and function != "sum" else _NOT_NEGATIVE


def _of_binary(operator: str, left: Bounds, right: Bounds) -> Bounds:
    (a, b), (c, d) = left, right
    if operator == "-":
        return _difference(left, right)
    if operator == "+":
        return None if a is None or c is None else a + c, None if b is None or d is None else b + d
    known = None
    if a is not None and b is not None and c is not None and d is not None:
        known = range_of(operator, [(a, b), (c, d)])
    # Products and quotients of values that are never negative are not negative either, even without upper bounds.
    return known or (_NOT_NEGATIVE if a is not None and c is not None and min(a, c) >= 0 else _ANY)


def _difference(left: Bounds, right: Bounds) -> Bounds:
    (a, b), (c, d) = left, right
    return None if a is None or d is None else a - d, None if b is None or c is None else b - c


def are_disjoint(left: Bounds, right: Bounds) -> bool:
    """Whether the two ranges have no value in common."""
    (a, b), (c, d) = left, right
    return (b is not None and c is not None and b < c) or (d is not None and a is not None and d < a)


def always_holds(left: Expression, operator: Operator, right: Expression, metrics: Mapping[str, Metric]) -> bool:
    """Whether a comparison is true for all values that its sides can have; False for = and !=."""
    (a, b), (c, d) = value_range(left, metrics), value_range(right, metrics)
    ends = (a, d) if operator in (">=", ">") else (b, c) if operator in ("<=", "<") else (None, None)
    return None not in ends and COMPARE[operator](*ends)
