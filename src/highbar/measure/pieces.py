"""The pieces of a formula that vary independently: what its interval is combined from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from highbar.language.formula.operations import Operation, walk
from highbar.measure.parts import Formula, Node, Size


def distinct_pieces(node: Node) -> list[Node]:
    """The pieces of a node; a part that several of them share becomes a piece of its own, so that its slopes add up."""
    pieces = list(dict.fromkeys(_pieces(node)))
    occurrences = Counter(part for piece in pieces for part in Formula(piece).parts())
    found: dict[Node, None] = {}
    for piece in pieces:
        shared = [part for part in Formula(piece).parts() if occurrences[part] > 1]
        whole = _is_choice(piece) or _has_total(piece)
        found.update(dict.fromkeys(shared if shared and not whole else [piece]))
    return list(found)


def _is_choice(node: Node) -> bool:
    return isinstance(node, Operation) and node.operator in ("min", "max") and len(Formula(node).parts()) > 1


def _has_total(node: Node) -> bool:
    """Whether a number of scenarios is inside, which only the group knows."""
    return any(isinstance(inner, Size) for inner in walk(node))


def fixed_totals(node: Node) -> list[Node]:
    """The nodes inside that hold a number of scenarios and nothing that varies."""
    if not isinstance(node, Operation) or not _has_total(node):
        return []
    if not Formula(node).parts():
        return [node]
    return [fixed for operand in node.operands for fixed in fixed_totals(operand)]


def divisors(node: Node) -> list[Node]:
    """Every node inside that another one is divided by."""
    inside: Iterator[Node] = walk(node)
    return [inner.operands[1] for inner in inside if isinstance(inner, Operation) and inner.operator == "/"]


def _pieces(node: Node) -> list[Node]:
    """The largest nodes inside that have one part each, or choose between several."""
    parts = Formula(node).parts()
    if len(parts) == 1 or _is_choice(node):
        return [node]
    if not parts or not isinstance(node, Operation):
        return []
    return [piece for operand in node.operands for piece in _pieces(operand)]
