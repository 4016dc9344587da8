"""Between which values a formula must lie, as far as that can be told without results."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from highbar import catalogue
from highbar.catalogue import MEASURES, SETTINGS
from highbar.model import Binary, Call, Expression, Metric, Name, Negative, Number, Operator

Range = tuple[Fraction | None, Fraction | None]
"""The least and the greatest value; None where there is no bound."""

_ANY: Range = (None, None)
_SHARE: Range = (Fraction(0), Fraction(1))
_NOT_NEGATIVE: Range = (Fraction(0), None)


def value_range(node: Expression, metrics: Mapping[str, Metric]) -> Range:
    """Between which values `node` must lie, as far as that can be told without results."""
    match node:
        case Number(value):
            return value, value
        case Name(name):
            return _name_range(name, metrics)
        case Negative(operand):
            low, high = value_range(operand, metrics)
            return None if high is None else -high, None if low is None else -low
        case Call(function, arguments):
            return _call_range(function, arguments, metrics)
        case Binary(operator, left, right):
            return _binary_range(operator, value_range(left, metrics), value_range(right, metrics))


def _name_range(name: str, metrics: Mapping[str, Metric]) -> Range:
    if name in MEASURES or name in SETTINGS:
        return _NOT_NEGATIVE
    unit = metrics[name].unit if name in metrics else "number"
    return _SHARE if unit == "ratio" else _ANY if unit == "number" else _NOT_NEGATIVE


def _call_range(function: str, arguments: tuple[Expression, ...], metrics: Mapping[str, Metric]) -> Range:
    if function in ("min", "max"):
        lows, highs = zip(*(value_range(argument, metrics) for argument in arguments), strict=True)
        pick = min if function == "min" else max
        known_lows, known_highs = [v for v in lows if v is not None], [v for v in highs if v is not None]
        low_known = len(known_lows) == len(lows) or (function == "max" and known_lows)
        high_known = len(known_highs) == len(highs) or (function == "min" and known_highs)
        return pick(known_lows) if low_known else None, pick(known_highs) if high_known else None
    if function == "abs":
        return _NOT_NEGATIVE
    column = arguments[0].name if isinstance(arguments[0], Name) else ""
    if column not in catalogue.SUMMED_COLUMNS and not catalogue.is_repeated(column):
        return _ANY
    shares = column in catalogue.BOUNDED_COLUMNS or catalogue.is_repeated(column)
    return _SHARE if shares and function != "sum" else _NOT_NEGATIVE


def _binary_range(operator: str, left: Range, right: Range) -> Range:
    (a, b), (c, d) = left, right
    if operator == "-":
        c, d = None if d is None else -d, None if c is None else -c
    if operator in ("+", "-"):
        return None if a is None or c is None else a + c, None if b is None or d is None else b + d
    if a is None or b is None or c is None or d is None:
        return _NOT_NEGATIVE if a is not None and c is not None and min(a, c) >= 0 else _ANY
    if operator == "/":
        if c <= 0 <= d:
            return _NOT_NEGATIVE if min(a, c) >= 0 else _ANY
        c, d = 1 / d, 1 / c
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)


def apart(left: Range, right: Range) -> bool:
    """Whether no value of the one is a value of the other."""
    (a, b), (c, d) = left, right
    return (b is not None and c is not None and b < c) or (d is not None and a is not None and d < a)


def always_holds(left: Expression, operator: Operator, right: Expression, metrics: Mapping[str, Metric]) -> bool:
    """Whether a comparison is true of every value that its sides can have."""
    (a, b), (c, d) = value_range(left, metrics), value_range(right, metrics)
    match operator:
        case ">=":
            return a is not None and d is not None and a >= d
        case ">":
            return a is not None and d is not None and a > d
        case "<=":
            return b is not None and c is not None and b <= c
        case "<":
            return b is not None and c is not None and b < c
        case _:
            return False
