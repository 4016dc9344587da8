"""A formula's tree in; its text, and the names that occur in it, out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from highbar.language.exact import write_decimal
from highbar.language.formula.tokens import COLUMN_FUNCTIONS
from highbar.model import Binary, Call, Comparison, Condition, Expression, Logic, Name, Negative, Number

_SIGNS = {"+": "+", "-": "-", "*": "×", "/": "/"}
_RANK = {"or": 1, "and": 2, "not": 3, "+": 5, "-": 5, "*": 6, "/": 6}
_COMPARISON, _NEGATIVE, _ATOM = 4, 7, 8


def to_words(node: Expression | Condition) -> str:
    """Text with as few brackets as possible that `parse` or `parse_condition` reads as the same tree."""
    return _write(node)[0]


def _write(node: Expression | Condition) -> tuple[str, int]:
    """The text of `node`, and how tightly it binds."""
    return _write_condition(node) if isinstance(node, Comparison | Logic) else _write_expression(node)


def _write_expression(node: Expression) -> tuple[str, int]:
    match node:
        case Number(value):
            return write_decimal(value), _ATOM
        case Name(name):
            return name, _ATOM
        case Call("percentile", (column, Number(share))):
            return f"percentile({to_words(column)}, {write_decimal(share * 100)}%)", _ATOM
        case Call(function, arguments):
            return f"{function}({', '.join(to_words(argument) for argument in arguments)})", _ATOM
        case Negative(operand):
            return f"-{_bracketed(operand, _NEGATIVE)}", _NEGATIVE
        case Binary(operator, left, right):
            rank = _RANK[operator]
            return f"{_bracketed(left, rank)} {_SIGNS[operator]} {_bracketed(right, rank + 1)}", rank
    assert_never(node)


def _write_condition(node: Condition) -> tuple[str, int]:
    match node:
        case Comparison(operator, left, right):
            return f"{to_words(left)} {operator} {to_words(right)}", _COMPARISON
        case Logic("not", (operand,)):
            return f"not {_bracketed(operand, _RANK['not'])}", _RANK["not"]
        case Logic(operator, operands):
            rank = _RANK[operator]
            return f" {operator} ".join(_bracketed(operand, rank + 1) for operand in operands), rank
    assert_never(node)


def _bracketed(node: Expression | Condition, at_least: int) -> str:
    text, rank = _write(node)
    return text if rank >= at_least else f"({text})"


def names(node: Expression | Condition) -> frozenset[str]:
    """The measures, metrics and settings that `node` names; columns inside `mean`, `sum` and `percentile` are not."""
    return frozenset(leaf.name for leaf in leaves(node) if isinstance(leaf, Name))


def columns(node: Expression | Condition) -> frozenset[str]:
    """The columns of the results that `node` uses inside `mean`, `sum` and `percentile`."""
    firsts = (leaf.arguments[0] for leaf in leaves(node) if isinstance(leaf, Call))
    return frozenset(first.name for first in firsts if isinstance(first, Name))


def leaves(node: Expression | Condition) -> tuple[Name | Call, ...]:
    """What a value must be looked up for, each once, from left to right: names, and functions of a column."""
    return tuple(dict.fromkeys(_leaves(node)))


def _leaves(node: Expression | Condition) -> Iterator[Name | Call]:
    match node:
        case Number():
            return
        case Name():
            yield node
        case Call(function, arguments):
            if function in COLUMN_FUNCTIONS:
                yield node
                return
            for argument in arguments:
                yield from _leaves(argument)
        case Negative(operand):
            yield from _leaves(operand)
        case Binary(_, left, right) | Comparison(_, left, right):
            yield from _leaves(left)
            yield from _leaves(right)
        case Logic(_, operands):
            for part in operands:
                yield from _leaves(part)
