"""A formula's tree in, its text out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from highbar.language.exact import write_decimal
from highbar.language.formula.tree import fold
from highbar.model import Binary, Call, Condition, Constant, Expression, Logic, Name, Negative, Relation

_SIGNS = {"+": "+", "-": "-", "*": "×", "/": "/"}
_RANK = {"or": 1, "and": 2, "not": 3, "+": 5, "-": 5, "*": 6, "/": 6}
_COMPARISON, _NEGATIVE, _VALUE = 4, 7, 8

_TextAndBinding = tuple[str, int]
"""A text, and how tightly it binds."""


def to_words(node: Expression | Condition) -> str:
    """Text with as few brackets as possible that `parse` or `parse_condition` reads as the same tree."""
    return _condition(node)[0] if isinstance(node, Relation | Logic) else fold(node, _expression)[0]


def _expression(node: Expression, operands: Iterator[_TextAndBinding]) -> _TextAndBinding:
    match node:
        case Constant(value):
            return write_decimal(value), _VALUE
        case Name(name):
            return name, _VALUE
        case Call("percentile", (column, Constant(share))):
            return f"percentile({to_words(column)}, {write_decimal(share * 100)}%)", _VALUE
        case Call(function, arguments):
            return f"{function}({', '.join(to_words(argument) for argument in arguments)})", _VALUE
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
            return f"{to_words(left)} {operator} {to_words(right)}", _COMPARISON
        case Logic("not", (operand,)):
            return f"not {_in_brackets(_condition(operand), _RANK['not'])}", _RANK["not"]
        case Logic(operator, operands):
            rank = _RANK[operator]
            return f" {operator} ".join(_in_brackets(_condition(operand), rank + 1) for operand in operands), rank
    assert_never(node)


def _in_brackets(written: _TextAndBinding, at_least: int) -> str:
    text, rank = written
    return text if rank >= at_least else f"({text})"
