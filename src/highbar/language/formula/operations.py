"""Arithmetic over any kind of leaf → its value, its derivative, its range and its direction.

A formula becomes such a tree once its names are replaced by sums, ratios and percentiles. This module defines once what
each operator does to a number, to a range of numbers, and to a derivative or its sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

L = TypeVar("L")


class Operation(NamedTuple, Generic[L]):
    """`+`, `-`, `*`, `/`, `min`, `max` or `abs` of its operands, each of them a number, a leaf or an operation."""

    operator: str
    operands: tuple[Fraction | L | Operation[L], ...]


Node: TypeAlias = Fraction | L | Operation[L]

Known = Callable[[Any], float | None]
"""The value of a leaf, or of an operation that should not be taken apart; None for other nodes."""

Range = tuple[Fraction, Fraction]
"""The least and the greatest value."""

Sign = int | None
"""1, -1 or 0; None if it is not known."""


def walk(node: Node[L]) -> Iterator[Node[L]]:
    """Every node of the tree, as often as it occurs: a node before its operands, operands from left to right."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        if isinstance(found, Operation):
            waiting.extend(reversed(found.operands))


def value(node: Node[L], known: Known) -> float:
    """The value of a node in floats; `known` gives that of a leaf, and of any operation that it stops at."""
    if isinstance(node, Fraction):
        return float(node)
    found = known(node)
    if found is not None:
        return found
    if isinstance(node, Operation):
        return _apply(node.operator, [value(operand, known) for operand in node.operands])
    raise KeyError(node)


def _apply(operator: str, numbers: Sequence[float]) -> float:
    """The result of an operator; a division by 0 gives an infinity, and 0 / 0 gives 0."""
    match operator:
        case "min":
            return min(numbers)
        case "max":
            return max(numbers)
        case "abs":
            return abs(numbers[0])
    left, right = numbers
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return 0.0 if left == 0 or right == 0 else left * right  # 0 × ∞ is 0: a term with weight 0 does not count
    return left / right if right else math.copysign(math.inf, left) if left else 0.0


def derivative(node: Node[L], by: object, known: Known) -> float:
    """The derivative of a node by a leaf, or by any operation that `known` stops at; NaN if the node divides by 0."""
    if node == by:
        return 1.0
    if not isinstance(node, Operation) or known(node) is not None:
        return 0.0
    slopes = [derivative(operand, by, known) for operand in node.operands]
    if not any(slopes):
        return 0.0
    numbers = [value(operand, known) for operand in node.operands]
    if node.operator in ("min", "max"):
        chosen = min(range(len(numbers)), key=lambda i: numbers[i] if node.operator == "min" else -numbers[i])
        return slopes[chosen]
    if node.operator == "abs":
        return math.copysign(slopes[0], slopes[0] * numbers[0])
    (left, right), (of_left, of_right) = numbers, slopes
    match node.operator:
        case "+":
            return of_left + of_right
        case "-":
            return of_left - of_right
        case "*":
            return of_left * right + left * of_right
    return of_left / right - left * of_right / (right * right) if right * right else math.nan


def direction(operator: str, directions: Sequence[Sign], signs: Callable[[int], Sign]) -> Sign:
    """The sign of the derivative of an operation: 1 if it never falls, -1 if it never rises, 0 if it does not vary.

    `directions` are those of the operands; `signs` gives the sign that the value of an operand always has.
    """
    match operator:
        case "+" | "min" | "max":
            return _common_sign(directions)
        case "-":
            return _common_sign([directions[0], _product(directions[1], -1)])
        case "abs":
            return _product(directions[0], signs(0))
    left, right = signs(0), signs(1)
    of_right = _product(directions[1], left)
    if operator == "/":  # if the divisor can cross 0, the quotient jumps between infinities: no direction is known
        of_right = _product(of_right, None if right is None else -1)
    return _common_sign([_product(directions[0], right), of_right])


def _common_sign(directions: Sequence[Sign]) -> Sign:
    found = set(directions) - {0}
    return found.pop() if len(found) == 1 else None if found else 0


def _product(one: Sign, other: Sign) -> Sign:
    if one == 0 or other == 0:
        return 0
    return None if one is None or other is None else one * other


def range_of(operator: str, ranges: Sequence[Range]) -> Range | None:
    """The range of an operation by interval arithmetic: never too narrow. None if it may divide by 0."""
    return _RANGES[operator](ranges)


def sign_of(values: Range | None) -> Sign:
    """1 if never below 0, -1 if never above, 0 if always 0; None if it can be on both sides, or has no range."""
    if values is None:
        return None
    low, high = values
    if low == high == 0:
        return 0
    return 1 if low >= 0 else -1 if high <= 0 else None


def product_range(ranges: Sequence[Range]) -> Range:
    """The range of a product: its ends are among the products of the ends."""
    (a, b), (c, d) = ranges
    products = (a * c, a * d, b * c, b * d)
    return min(products), max(products)


def _quotient_range(ranges: Sequence[Range]) -> Range | None:
    low, high = ranges[1]
    return None if low <= 0 <= high else product_range([ranges[0], (1 / high, 1 / low)])


def _absolute_range(ranges: Sequence[Range]) -> Range:
    low, high = ranges[0]
    least = Fraction(0) if low <= 0 <= high else min(abs(low), abs(high))
    return least, max(abs(low), abs(high))


_RANGES: Mapping[str, Callable[[Sequence[Range]], Range | None]] = {
    "+": lambda ranges: (ranges[0][0] + ranges[1][0], ranges[0][1] + ranges[1][1]),
    "-": lambda ranges: (ranges[0][0] - ranges[1][1], ranges[0][1] - ranges[1][0]),
    "*": product_range,
    "/": _quotient_range,
    "min": lambda ranges: (min(low for low, _ in ranges), min(high for _, high in ranges)),
    "max": lambda ranges: (max(low for low, _ in ranges), max(high for _, high in ranges)),
    "abs": _absolute_range,
}
