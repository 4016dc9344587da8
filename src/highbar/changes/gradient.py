"""The variables that a formula is linearized in: ratios, and the largest nodes that depend on a single percentile."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from highbar.language.formula.operations import Operation, derivative, value
from highbar.measure.parts import Formula, Node, Size
from highbar.model import Percentile, Ratio

Leaf = Node
"""A ratio, or the largest node of a formula that depends on one percentile and on nothing else that varies."""


def gradient_leaves(root: Node) -> tuple[Leaf, ...]:
    """Every leaf of a formula, without repetitions."""
    found: dict[Leaf, None] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if is_leaf(node):
            found[node] = None
        elif isinstance(node, Operation):
            waiting.extend(node.operands)
    return tuple(found)


def is_leaf(node: Node) -> bool:
    """Whether linearization stops at this node."""
    if isinstance(node, Ratio | Percentile):
        return True
    parts = Formula(node).parts()
    return len(parts) == 1 and isinstance(parts[0], Percentile)


def value_and_gradient(
    root: Node, values: Mapping[Leaf, float], size: Callable[[Ratio], float]
) -> tuple[float, Mapping[Leaf, float]]:
    """The value of a formula at these values of its leaves, and its derivative by each leaf.

    `size` returns the denominator (the sum d) of a ratio.
    """

    def known(node: Node) -> float | None:
        if isinstance(node, Size):
            return size(node.ratio)
        if isinstance(node, Ratio) and node.z == node.d:
            return 1.0  # a count over itself does not vary, so it is not a leaf
        return values.get(node)

    return value(root, known), {leaf: derivative(root, leaf, known) for leaf in values}
