"""The tree of a formula: the one walk over it that all its readers share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from highbar.model import Binary, Call, Condition, Expression, Logic, Name, Negative, Operator, Relation

COLUMN_FUNCTIONS = ("mean", "sum", "percentile")
"""Functions of a column of the results; their first argument is a column's name, not a measure's."""

NEGATED: dict[Operator, Operator] = {">=": "<", "<": ">=", ">": "<=", "<=": ">", "=": "!=", "!=": "="}
"""The comparison that is true exactly if the other is false."""

MIRRORED: dict[Operator, Operator] = {">=": "<=", ">": "<", "<=": ">=", "<": ">", "=": "=", "!=": "!="}
"""The same comparison with its sides swapped."""

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
    """What `combine` makes of `node` and of what it made of each operand, from left to right.

    An operand is computed when `combine` asks for it, so that it can stop at the first one that settles the result.
    """
    return combine(node, (fold(operand, combine) for operand in operands(node)))


def relations(condition: Condition) -> Iterator[Relation]:
    """Every comparison in a condition, from left to right."""
    if isinstance(condition, Relation):
        yield condition
    else:
        for operand in condition.operands:
            yield from relations(operand)


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
    """The measures, metrics and settings that `node` names; columns inside `mean`, `sum` and `percentile` are not."""
    return frozenset(leaf.name for leaf in leaves(node) if isinstance(leaf, Name))
