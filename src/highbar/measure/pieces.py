"""The pieces of a formula that vary by themselves, and how the formula rises or falls with each of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from highbar.measure.parts import Formula, Node
from highbar.model import Percentile, Ratio


def apply(operator: str, numbers: list[float]) -> float:
    """What an operator makes of numbers; division by 0 gives an infinity."""
    if operator in ("min", "max"):
        return min(numbers) if operator == "min" else max(numbers)
    if operator == "abs":
        return abs(numbers[0])
    left, right = numbers
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return 0.0 if left == 0 or right == 0 else left * right  # 0 × ∞: a part that does not count
    return left / right if right else math.copysign(math.inf, left) if left else 0.0


def distinct_pieces(node: Node) -> list[Node]:
    """The pieces of a node; a part that stands in several of them is a piece by itself, so that its slopes add up."""
    pieces = list(dict.fromkeys(_pieces(node)))
    holding = Counter(part for piece in pieces for part in Formula(piece).parts())
    found: dict[Node, None] = {}
    for piece in pieces:
        shared = [part for part in Formula(piece).parts() if holding[part] > 1]
        whole = _is_choice(piece) or _has_total(piece)
        found.update(dict.fromkeys(shared if shared and not whole else [piece]))
    return list(found)


def _is_choice(node: Node) -> bool:
    return isinstance(node, tuple) and node[0] in ("min", "max") and len(Formula(node).parts()) > 1


def _has_total(node: Node) -> bool:
    """Whether a sum by itself is inside, whose size only the group knows."""
    return isinstance(node, tuple) and (node[0] == "size" or any(_has_total(child) for child in node[1]))


def fixed_totals(node: Node) -> list[Node]:
    """The nodes inside that hold a number of scenarios and nothing that varies."""
    if not isinstance(node, tuple) or not _has_total(node):
        return []
    if not Formula(node).parts():
        return [node]
    return [fixed for child in node[1] for fixed in fixed_totals(child)]


def divisors(node: Node) -> list[Node]:
    """Everything inside that is divided by."""
    if not isinstance(node, tuple):
        return []
    inside = [divisor for child in node[1] for divisor in divisors(child)]
    return [*inside, node[1][1]] if node[0] == "/" else inside


def _pieces(node: Node) -> list[Node]:
    """The largest nodes inside that have one part each, or choose between several."""
    parts = Formula(node).parts()
    if len(parts) == 1 or _is_choice(node):
        return [node]
    if not parts or not isinstance(node, tuple):
        return []
    return [piece for child in node[1] for piece in _pieces(child)]


def slope(node: Node, values: Mapping[Node, float], piece: Node) -> float:
    """The derivative of a node by one of its pieces, at their values."""
    if node == piece:
        return 1.0
    if node in values or not isinstance(node, tuple):
        return 0.0
    operator, children = node
    slopes = [slope(child, values, piece) for child in children]
    numbers = [_number(child, values) for child in children]
    if operator in ("min", "max"):
        chosen = min(range(len(numbers)), key=lambda i: numbers[i] if operator == "min" else -numbers[i])
        return slopes[chosen]
    if operator == "abs":
        return math.copysign(slopes[0], slopes[0] * numbers[0])
    left, right = numbers
    if operator in ("+", "-"):
        return slopes[0] + (slopes[1] if operator == "+" else -slopes[1])
    if operator == "*":
        return slopes[0] * right + left * slopes[1]
    return slopes[0] / right - left * slopes[1] / (right * right)


def _number(node: Node, values: Mapping[Node, float]) -> float:
    if node in values or isinstance(node, Ratio | Percentile):
        return values[node]
    if isinstance(node, Fraction):
        return float(node)
    return apply(node[0], [_number(child, values) for child in node[1]])
