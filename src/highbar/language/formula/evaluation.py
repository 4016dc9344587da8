"""An expression or a condition and the values of its names in; its own value or outcome out, exact and with reasons."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Literal, assert_never

from msgspec import Struct

from highbar.language.exact import cut_decimal
from highbar.language.formula.tree import COLUMN_FUNCTIONS, fold
from highbar.language.formula.writing import to_words
from highbar.model import COMPARE, Binary, Call, Condition, Constant, Expression, Logic, Name, Negative, Relation

_OF_OPERATOR: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_FUNCTIONS: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "min": min,
    "max": max,
    "abs": lambda values: abs(values[0]),
}

Judgment = Literal["pass", "fail", "undefined"]


class Undefined(Struct, frozen=True):
    """No value, and why. It makes everything undefined that is computed from it."""

    reason: str


Lookup = Callable[[Name | Call], Fraction | Undefined]
"""The value of a name, or of a `mean`, `sum` or `percentile` of a column."""

Show = Callable[[Expression, Fraction, Expression], str]
"""How the value of an expression is written in a reason, beside the other side of the comparison."""

_SIGNS = {">=": "≥ ", "<=": "≤ ", "!=": "≠ ", "=": "", "<": "< ", ">": "> "}


def evaluate(node: Expression, lookup: Lookup) -> Fraction | Undefined:
    """The exact value of `node`; undefined by its first undefined part, from the left, or by a 0 to divide by."""

    def combine(node: Expression, operands: Iterator[Fraction | Undefined]) -> Fraction | Undefined:
        values = []
        for operand in operands:
            if isinstance(operand, Undefined):
                return operand
            values.append(operand)
        return _combine(node, values, lookup)

    return fold(node, combine)


def _combine(node: Expression, values: list[Fraction], lookup: Lookup) -> Fraction | Undefined:
    match node:
        case Constant(number):
            return number
        case Negative():
            return -values[0]
        case Binary("/", _, divisor) if values[1] == 0:
            return Undefined(f"0 in the denominator: {to_words(divisor)} is 0")
        case Binary(operator):
            return _OF_OPERATOR[operator](*values)
        case Call(function) if function not in COLUMN_FUNCTIONS:
            return _FUNCTIONS[function](values)
        case Name() | Call():
            return lookup(node)
    assert_never(node)


def evaluate_condition(
    condition: Condition, lookup: Lookup, show: Show = lambda _, value, _beside: cut_decimal(value)
) -> tuple[Judgment, str]:
    """Whether `condition` holds, and why.

    An undefined part leaves the outcome open only if it matters: AND fails if another part fails, OR passes if another
    part passes. An undefined part never passes, and neither does its NOT.
    """
    match condition:
        case Relation():
            return _compare(condition, lookup, show)
        case Logic("not", (operand,)):
            outcome, reason = evaluate_condition(operand, lookup, show)
            turned: dict[Judgment, Judgment] = {"pass": "fail", "fail": "pass", "undefined": "undefined"}
            return turned[outcome], reason
        case Logic(joined_by, operands):
            parts = [evaluate_condition(operand, lookup, show) for operand in operands]
            order: tuple[Judgment, ...] = ("fail", "undefined") if joined_by == "and" else ("pass", "undefined")
            for decisive in order:
                reasons = [reason for outcome, reason in parts if outcome == decisive]
                if reasons:
                    return decisive, "; ".join(reasons)
            return parts[0][0], "; ".join(reason for _, reason in parts)
    assert_never(condition)


def _compare(comparison: Relation, lookup: Lookup, show: Show) -> tuple[Judgment, str]:
    sides = []
    for side, beside in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
        value = evaluate(side, lookup)
        if isinstance(value, Undefined):
            return "undefined", f"{to_words(side)} is undefined: {value.reason}"
        shown = show(side, value, beside)
        sides.append((value, shown if isinstance(side, Constant) else f"{to_words(side)} {shown}"))
    (left, left_words), (right, right_words) = sides
    if COMPARE[comparison.operator](left, right):
        return "pass", f"{left_words} is {_SIGNS[comparison.operator]}{right_words}"
    return "fail", f"{left_words} is not {_SIGNS[comparison.operator]}{right_words}"
