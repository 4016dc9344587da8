"""The bounds inside a condition: which metrics `composite.pass` compares with which numbers, and their places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from highbar.documents.tree import Node
from highbar.language.exact import NUMBER
from highbar.language.spelling import spellings
from highbar.language.threshold import canonical
from highbar.model import Condition, ConditionRule, Constant, Metric, Name, Place, Relation, Threshold

_SIGNS = {">=": "(?:≥|>=)", ">": ">", "<=": "(?:≤|<=)", "<": "<"}


class Bound(Struct, frozen=True):
    """A metric's bound: the number's place, and the place of the text around it."""

    metric: str
    threshold: Threshold
    place: Place
    text_place: Place


def bounds_of(rule: ConditionRule, root: Node, metrics: Mapping[str, Metric]) -> tuple[Bound, ...]:
    """The bounds on single metrics that AND joins, each only if it occurs exactly once in the policy's text.

    Empty if the condition has an OR or a NOT: raising one bound does not raise the bar if another operand can hold.
    """
    node = _text_of(rule, root)
    compared = list(_comparisons(rule.condition))
    if node is None or None in compared:
        return ()
    found = (_bound(each, rule, node, metrics) for each in compared if each is not None)
    return tuple(bound for bound in found if bound is not None)


def _text_of(rule: ConditionRule, root: Node) -> Node | None:
    """The node that contains the condition, `composite` or its `pass`; None unless its text has it exactly once."""
    top = {key.text: value for key, value in root.entries}
    composite = top.get("composite")
    if composite is not None and composite.kind == "mapping":
        composite = {key.text: value for key, value in composite.entries}.get("pass")
    known = composite is not None and composite.text_at is not None and composite.text.count(rule.text) == 1
    return composite if known else None


def _comparisons(condition: Condition) -> Iterator[Relation | None]:
    """The comparisons that AND joins; None for an OR or a NOT."""
    if isinstance(condition, Relation):
        yield condition
    elif condition.operator == "and":
        for operand in condition.operands:
            yield from _comparisons(operand)
    else:
        yield None


def _bound(comparison: Relation, rule: ConditionRule, node: Node, metrics: Mapping[str, Metric]) -> Bound | None:
    left, operator, right = comparison.left, comparison.operator, comparison.right
    if (
        not isinstance(left, Name)
        or not isinstance(right, Constant)
        or left.name not in metrics
        or operator not in _SIGNS
    ):
        return None
    name = "|".join(re.escape(each) for each in spellings(left.name))
    written = re.compile(rf"(?<!\w)(?:{name})\s*{_SIGNS[operator]}\s*\$?({NUMBER})(?![\w.])", re.ASCII)
    found = list(written.finditer(rule.text))
    if len(found) != 1:
        return None
    offset = node.text.index(rule.text) + found[0].start(1)
    unit = metrics[left.name].unit
    threshold = Threshold(operator, right.value, unit, canonical(operator, right.value, unit))
    file = rule.place.file
    return Bound(left.name, threshold, node.place_at(file, offset), node.place(file))
