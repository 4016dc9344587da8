"""A formula's value and how it moves with each of its leaves: ratios, and whatever holds a single percentile."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from highbar.measure.parts import Formula, Node
from highbar.model import Percentile, Ratio

Leaf = Node
"""A ratio, or the largest part of a formula that holds one percentile and nothing else that varies."""

Slopes = dict[Leaf, float]


def leaves(root: Node) -> tuple[Leaf, ...]:
    """Every leaf, once."""
    found: dict[Leaf, None] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if is_leaf(node):
            found[node] = None
        elif isinstance(node, tuple):
            waiting.extend(node[1])
    return tuple(found)


def is_leaf(node: Node) -> bool:
    """Whether a formula is not taken apart any further."""
    if isinstance(node, Ratio | Percentile):
        return True
    parts = Formula(node).parts()
    return len(parts) == 1 and isinstance(parts[0], Percentile)


def evaluate(
    node: Node, values: Mapping[Leaf, float], size: Callable[[Ratio], float], *, whole: bool = False
) -> tuple[float, Slopes]:
    """The value of a formula at given values of its leaves, and its derivative by each.

    `size` is the lower sum of a ratio; `whole` takes apart what is a leaf only by holding one percentile.
    """
    if isinstance(node, Fraction):
        return float(node), {}
    if node in values and (isinstance(node, Ratio | Percentile) or not whole):
        return values[node], {node: 1.0}
    if isinstance(node, Ratio | Percentile):
        raise KeyError(node)
    operator, children = node
    found = [evaluate(child, values, size, whole=whole) for child in children]
    if operator == "size" and isinstance(children[0], Ratio):
        scale = size(children[0])
        return found[0][0] * scale, _scaled(found[0][1], scale)
    return _apply(operator, found)


def _apply(operator: str, found: list[tuple[float, Slopes]]) -> tuple[float, Slopes]:
    if operator in ("min", "max"):
        return (min if operator == "min" else max)(found, key=lambda one: one[0])
    (left, by_left), *rest = found
    if operator == "abs":
        return abs(left), _scaled(by_left, math.copysign(1.0, left))
    right, by_right = rest[0]
    if operator in ("+", "-"):
        sign = 1.0 if operator == "+" else -1.0
        return left + sign * right, _added(by_left, _scaled(by_right, sign))
    if operator == "*":
        return left * right, _added(_scaled(by_left, right), _scaled(by_right, left))
    if right == 0:
        return math.nan, dict.fromkeys((*by_left, *by_right), math.nan)
    return left / right, _added(_scaled(by_left, 1 / right), _scaled(by_right, -left / (right * right)))


def _scaled(slopes: Slopes, factor: float) -> Slopes:
    return {leaf: slope * factor for leaf, slope in slopes.items()} if factor else {}


def _added(first: Slopes, second: Slopes) -> Slopes:
    return {leaf: first.get(leaf, 0.0) + second.get(leaf, 0.0) for leaf in (*first, *second)}
