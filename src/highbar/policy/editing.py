"""Finds the numbers of thresholds in the text of a policy, and writes new ones, changing nothing but their digits.

Operator, unit, quotes, comments, line ends and the byte order mark stay as they are, so a threshold keeps the style of
its file: `≥ 85%` becomes `≥ 93.1%`, and `0.85` becomes `0.931`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from highbar.documents.files import read_tree
from highbar.documents.tree import Node
from highbar.errors import InputError, Problem
from highbar.language.exact import NUMBER, write_decimal
from highbar.language.spelling import spellings
from highbar.language.threshold import canonical
from highbar.model import Condition, ConditionRule, Constant, Metric, Name, Place, Relation, Threshold
from highbar.policy.shapes import threshold_offset

# A threshold from its first character or the quote before it: operator (JSON may write ≥ as \u2265), number, unit.
_WRITTEN = re.compile(rf"[\"']?\s*(?:≥|>=|>|≤|<=|<|==|=|\\u[0-9a-fA-F]{{4}}=?)?\s*\$?({NUMBER})\s*(%|ms|s)?", re.ASCII)
_SCALE_OF = {"%": Fraction(1, 100), "s": Fraction(1000), "ms": Fraction(1)}
_MARK = "\ufeff"


class WrittenNumber(Struct, frozen=True):
    """The number of a threshold in a policy's text. The threshold's value is the number times `scale`."""

    start: int
    end: int
    digits: str
    scale: Fraction

    @property
    def decimals(self) -> int:
        """The number of digits after the point."""
        return len(self.digits.partition(".")[2])

    def write(self, threshold: Threshold) -> str:
        """The digits of `threshold` at this scale. A fraction always has a point, since a bare 1 could also mean 1%."""
        text = write_decimal(threshold.value / self.scale)
        return f"{text}.0" if threshold.unit == "ratio" and self.scale == 1 and "." not in text else text


class Edit(Struct, frozen=True):
    """A threshold and its new value; `text_place` is where the text around it starts, if it is part of a longer one."""

    place: Place
    before: Threshold
    after: Threshold
    text_place: Place | None = None


class PolicyText:
    """A policy's bytes, and the places of its thresholds in them."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        text = data.decode("utf-8")
        self._offset = len(_MARK) if text.startswith(_MARK) else 0
        self.text = text
        self._lines = [self._offset, *(found.end() for found in re.finditer("\n", text))]

    def written(self, place: Place, threshold: Threshold) -> WrittenNumber | None:
        """The number of the threshold at `place`; None if the text there does not read as exactly that threshold."""
        if place.line is None or place.column is None or place.line > len(self._lines):
            return None
        found = _WRITTEN.match(self.text, self._lines[place.line - 1] + place.column - 1)
        if found is None:
            return None
        # The scale comes from the value that the reader found: a bare 85 may be a percentage.
        number = Fraction(found[1])
        scale = threshold.value / number if number else _SCALE_OF.get(found[2] or "", Fraction(1))
        known = scale in _SCALE_OF.values() and number * scale == threshold.value
        return WrittenNumber(found.start(1), found.end(1), found[1], scale) if known else None

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The bytes after the edits. Raises InputError if anything but the edited thresholds would change."""
        text = self.text
        places = [(self._must(edit), edit) for edit in edits]
        # From the last to the first, so that the offsets of the others stay valid.
        for written, edit in sorted(places, key=lambda pair: pair[0].start, reverse=True):
            text = text[: written.start] + written.write(edit.after) + text[written.end :]
        data = text.encode("utf-8")
        self._prove(data, [edit.text_place or edit.place for edit in edits])
        return data

    def _must(self, edit: Edit) -> WrittenNumber:
        written = self.written(edit.place, edit.before)
        if written is None:
            raise self._cannot(edit.place)
        return written

    def _prove(self, data: bytes, edited: Sequence[Place]) -> None:
        # Parses both versions: only the parser knows whether the bytes mean the same everywhere else.
        wanted = {(place.line, place.column) for place in edited}
        before, after = (read_tree(self.path, data=each).root for each in (self.data, data))
        for first, second in zip_longest(_scalars(before), _scalars(after)):
            same = first is not None and second is not None and _plain(first) == _plain(second)
            meant = first is not None and ((first.line, first.column) in wanted or _holds(first, edited))
            if not same and not (meant and second is not None and first is not None and first.kind == second.kind):
                raise self._cannot(Place(str(self.path), first.line if first else None))

    def _cannot(self, place: Place) -> InputError:
        hint = "write the threshold on one line, as ≥ 85%"
        message = "the threshold here cannot be replaced without changing something else"
        return InputError(Problem(message, str(self.path), place.line, place.column, hint))


def _holds(node: Node, places: Iterable[Place]) -> bool:
    """Whether the node is a rule in one text, such as `accuracy >= 90%`, with its threshold at one of the places."""
    offset = threshold_offset(node.text) if node.kind == "text" and node.text_at else None
    if offset is None or node.text_at is None:
        return False
    line, column = node.text_at
    return any((place.line, place.column) == (line, column + offset) for place in places)


def _plain(node: Node) -> Node:
    """A node without its place."""
    return replace(node, line=None, column=None, text_at=None)


def _scalars(node: Node) -> Iterable[Node]:
    """The nodes in the order of the text. A list or mapping comes as its size only, followed by its entries."""
    yield replace(node, text=node.text or f"{len(node.items)} {len(node.entries)}", items=(), entries=())
    for item in node.items:
        yield from _scalars(item)
    for key, value in node.entries:
        yield from _scalars(key)
        yield from _scalars(value)


# --- the numbers inside a condition ------------------------------------------------------------

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
