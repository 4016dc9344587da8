"""The tree of a formula: walking it, writing it as text, and evaluating it exactly, with reasons for the undefined.

All of them share one walk over the tree, `fold`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Literal, TypeVar, assert_never

from msgspec import Struct

from highbar.language.exact import cut_decimal, write_decimal
from highbar.model import (
    COMPARE,
    Binary,
    Call,
    Condition,
    Constant,
    Expression,
    Logic,
    Name,
    Negative,
    Operator,
    Relation,
)

COLUMN_FUNCTIONS = ("mean", "sum", "percentile")
"""Functions of a column of the results; their first argument is a column's name, not a measure's."""

NEGATED: dict[Operator, Operator] = {">=": "<", "<": ">=", ">": "<=", "<=": ">", "=": "!=", "!=": "="}
"""For each comparison, the one that is true exactly if it is false."""

MIRRORED: dict[Operator, Operator] = {">=": "<=", ">": "<", "<=": ">=", "<": ">", "=": "=", "!=": "!="}
"""For each comparison, the same one with its sides swapped."""

T = TypeVar("T")


def operands(node: Expression) -> tuple[Expression, ...]:
    """The expressions that `node` is computed from: none for a number, a name, or a function of a column."""
    match node:
        case Negative(operand):
            return (operand,)
        case Binary(_, left, right):
            return left, right
        case Call(function, arguments) if function not in COLUMN_FUNCTIONS:
            return arguments
    return ()


def fold(node: Expression, combine: Callable[[Expression, Iterator[T]], T]) -> T:
    """The result of `combine` for `node` and the results for its operands, from left to right.

    The result for an operand is computed when `combine` asks for it, so that it can stop at the first that settles it.
    """
    return combine(node, (fold(operand, combine) for operand in operands(node)))


def relations(condition: Condition) -> Iterator[Relation]:
    """Every comparison in a condition, from left to right."""
    if isinstance(condition, Relation):
        yield condition
    else:
        for operand in condition.operands:
            yield from relations(operand)


def metric_first(comparison: Relation) -> Relation:
    """The comparison of a metric with a number, with the metric first: `0.9 <= accuracy` becomes `accuracy >= 0.9`."""
    if isinstance(comparison.left, Constant) and isinstance(comparison.right, Name):
        return Relation(MIRRORED[comparison.operator], comparison.right, comparison.left)
    return comparison


def leaves(node: Expression | Condition) -> tuple[Name | Call, ...]:
    """The names and functions of a column whose values `node` needs, each once, from left to right."""
    found: dict[Name | Call, None] = {}
    waiting: list[Expression | Condition] = [node]
    while waiting:
        match waiting.pop():
            case Relation(_, left, right):
                waiting += (right, left)
            case Logic(_, parts):
                waiting.extend(reversed(parts))
            case expression:
                inside = operands(expression)
                waiting.extend(reversed(inside))
                if isinstance(expression, Name | Call) and not inside:
                    found[expression] = None
    return tuple(found)


def names(node: Expression | Condition) -> frozenset[str]:
    """The measures, metrics and settings that `node` names, without the columns in `mean`, `sum` and `percentile`."""
    return frozenset(leaf.name for leaf in leaves(node) if isinstance(leaf, Name))


# --- as text ---------------------------------------------------------------------------------

_SIGNS = {"+": "+", "-": "-", "*": "×", "/": "/"}
_RANK = {"or": 1, "and": 2, "not": 3, "+": 5, "-": 5, "*": 6, "/": 6}
_COMPARISON, _NEGATIVE, _VALUE = 4, 7, 8

_TextAndBinding = tuple[str, int]
"""A text, and how tightly its outermost operator binds."""


def unparse(node: Expression | Condition) -> str:
    """The text with the fewest brackets that `parse` or `parse_condition` reads as the same tree."""
    return _condition(node)[0] if isinstance(node, Relation | Logic) else fold(node, _expression)[0]


def _expression(node: Expression, operands: Iterator[_TextAndBinding]) -> _TextAndBinding:
    match node:
        case Constant(value):
            return write_decimal(value), _VALUE
        case Name(name):
            return name, _VALUE
        case Call("percentile", (column, Constant(share))):
            return f"percentile({unparse(column)}, {write_decimal(share * 100)}%)", _VALUE
        case Call(function, arguments):
            return f"{function}({', '.join(unparse(argument) for argument in arguments)})", _VALUE
        case Negative():
            return f"-{_in_brackets(next(operands), _NEGATIVE)}", _NEGATIVE
        case Binary(operator):
            rank = _RANK[operator]
            left, right = operands
            return f"{_in_brackets(left, rank)} {_SIGNS[operator]} {_in_brackets(right, rank + 1)}", rank
    assert_never(node)


def _condition(node: Condition) -> _TextAndBinding:
    match node:
        case Relation(operator, left, right):
            return f"{unparse(left)} {operator} {unparse(right)}", _COMPARISON
        case Logic("not", (operand,)):
            return f"not {_in_brackets(_condition(operand), _RANK['not'])}", _RANK["not"]
        case Logic(operator, operands):
            rank = _RANK[operator]
            return f" {operator} ".join(_in_brackets(_condition(operand), rank + 1) for operand in operands), rank
    assert_never(node)


def _in_brackets(written: _TextAndBinding, at_least: int) -> str:
    text, rank = written
    return text if rank >= at_least else f"({text})"


# --- its value, or whether it holds ----------------------------------------------------------

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
    """The reason why there is no value; everything that is computed from it is undefined too."""

    reason: str


Lookup = Callable[[Name | Call], Fraction | Undefined]
"""The value of a name, or of a `mean`, `sum` or `percentile` of a column."""

Show = Callable[[Expression, Fraction, Expression], str]
"""(expression, its value, the other side of the comparison) → how the value is written in a reason."""

_COMPARISON_SIGNS = {">=": "≥ ", "<=": "≤ ", "!=": "≠ ", "=": "", "<": "< ", ">": "> "}


def evaluate(node: Expression, lookup: Lookup) -> Fraction | Undefined:
    """The exact value of `node`; undefined if a part is (the leftmost gives the reason), or if it divides by 0."""

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
            return Undefined(f"0 in the denominator: {unparse(divisor)} is 0")
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

    An undefined part makes the outcome undefined only if it matters: AND fails if another part fails, OR passes if
    another part passes. An undefined part never passes, and neither does its NOT.
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
            return "undefined", f"{unparse(side)} is undefined: {value.reason}"
        shown = show(side, value, beside)
        sides.append((value, shown if isinstance(side, Constant) else f"{unparse(side)} {shown}"))
    (left, left_words), (right, right_words) = sides
    if COMPARE[comparison.operator](left, right):
        return "pass", f"{left_words} is {_COMPARISON_SIGNS[comparison.operator]}{right_words}"
    return "fail", f"{left_words} is not {_COMPARISON_SIGNS[comparison.operator]}{right_words}"
