"""A formula and the sums → the bounds of its value: `low` and `high`, each at the policy's confidence.

One ratio that is a share has the pseudo-cluster Beta bound; another ratio the jackknife; a percentile the values whose
share below is bounded; and a formula of several parts combines theirs through its gradient (MOVER).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from highbar.measure.parts import Formula, Node, Part, is_share
from highbar.model import Percentile, Ratio
from highbar.statistics.bounds import Sums, share_bounds, suite_bounds
from highbar.statistics.composite import CrossSums, Term, combine, correlation
from highbar.statistics.interval import Interval
from highbar.statistics.ratio import RatioSums, ratio_bounds_from_sums

UNBOUNDED = Interval(-math.inf, math.inf)
STEPS = 32
ROUNDING = 1e-9


class RatioTotals(Protocol):
    """The sums of one ratio."""

    @property
    def sums(self) -> Sums:
        """Over scenarios, or clusters of them."""

    @property
    def largest(self) -> float:
        """The largest part of one of them in the lower sum."""

    @property
    def trials(self) -> float:
        """How many equal trials theirs are worth."""


class Rank(Protocol):
    """A percentile's value and its bounds."""

    @property
    def value(self) -> Fraction | None:
        """The value at the rank."""

    @property
    def low(self) -> Fraction | None:
        """The lower bound, if there is one."""

    @property
    def high(self) -> Fraction | None:
        """The upper bound, if there is one."""


class Group(Protocol):
    """The sums of some scenarios."""

    @property
    def ratios(self) -> Mapping[Ratio, RatioTotals]:
        """Of each ratio."""

    @property
    def crosses(self) -> Mapping[tuple[Ratio, Ratio], CrossSums]:
        """Of each pair of ratios that some formula combines."""

    @property
    def ranks(self) -> Mapping[Percentile, Rank]:
        """Of each percentile."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How bounds are taken: one-sided error on each side; whether scenarios are a sample or the whole population."""

    group: Group
    alpha: float
    trial_noise: bool = False
    known: dict[Part, Interval] = field(default_factory=dict)  # of parts: formulas share them

    def of(self, formula: Formula) -> Interval:
        """The bounds of a formula's value."""
        return self._of(formula.root)[1]

    def _of(self, node: Node) -> tuple[float, Interval]:
        """The value of a node and its bounds."""
        if isinstance(node, Fraction):
            return float(node), Interval(float(node), float(node))
        if isinstance(node, Ratio | Percentile):
            return self._value(node), self._part(node)
        parts = Formula(node).parts()
        if len(parts) <= 1:
            return self._carried(node, parts)
        return self._chosen(node) if node[0] in ("min", "max") else self._combined(node)

    def _chosen(self, node: tuple[str, tuple[Node, ...]]) -> tuple[float, Interval]:
        """The smallest or largest of several: each end is the smallest or largest of theirs."""
        choose = min if node[0] == "min" else max
        known = [self._of(child) for child in node[1]]
        ends = [interval for _, interval in known]
        return choose(value for value, _ in known), Interval(choose(e.low for e in ends), choose(e.high for e in ends))

    def _value(self, part: Part) -> float:
        if isinstance(part, Percentile):
            value = self.group.ranks[part].value
            return math.nan if value is None else float(value)
        return float(self.group.ratios[part].sums.value)

    def _part(self, part: Part) -> Interval:
        if part not in self.known:
            self.known[part] = self._taken(part)
        return self.known[part]

    def _taken(self, part: Part) -> Interval:
        if isinstance(part, Percentile):
            rank = self.group.ranks[part]
            return Interval(
                -math.inf if rank.low is None else float(rank.low), math.inf if rank.high is None else float(rank.high)
            )
        return self._share(part) if is_share(part) else self._unbounded(part)

    def _share(self, ratio: Ratio) -> Interval:
        totals = self.group.ratios[ratio]
        if self.trial_noise and totals.trials > 0:
            return suite_bounds(totals.sums.value, Fraction(totals.trials), self.alpha)
        return share_bounds(totals.sums, self.alpha) or Interval(0.0, 1.0)

    def _unbounded(self, ratio: Ratio) -> Interval:
        totals = self.group.ratios[ratio]
        sums = totals.sums
        jackknife = RatioSums(sums.clusters, sums.z, sums.d, sums.zz, sums.zd, sums.dd, totals.largest)
        return ratio_bounds_from_sums(jackknife, self.alpha) or UNBOUNDED

    def _carried(self, node: Node, parts: tuple[Part, ...]) -> tuple[float, Interval]:
        """A node of one part: the part's interval goes through it, point by point, for it may turn inside."""
        if not parts:
            value = self._at(node, {})
            return value, Interval(value, value)
        part = parts[0]
        value = self._at(node, {part: self._value(part)})
        points = self._points(part)
        for divisor in _divisors(node):
            numbers = [self._at(divisor, {part: point}) for point in points]
            if min(numbers) < 0 <= max(numbers):
                return value, UNBOUNDED
        found = [value, *(self._at(node, {part: point}) for point in points)]
        return value, Interval(min(found), max(found))

    def _points(self, part: Part) -> list[float]:
        """Both ends of a part's interval and points between them; what cannot be negative starts at 0."""
        low, high = self._part(part)
        if isinstance(part, Percentile) and not part.column.startswith("extra:"):
            low = max(low, 0.0)
        if math.isinf(low) or math.isinf(high):
            return [low, self._value(part), high]
        return [low + (high - low) * step / STEPS for step in range(STEPS)] + [high]

    def _combined(self, node: Node) -> tuple[float, Interval]:
        """A node of several parts: what each of its pieces does to it, put together through the gradient."""
        pieces = _distinct_pieces(node)
        known = {piece: self._of(piece) for piece in pieces}
        values = {piece: value for piece, (value, _) in known.items()}
        values |= {fixed: self._at(fixed, {}) for fixed in _fixed_totals(node)}
        value = self._at(node, values)
        terms, parts, signs = [], [], []
        for piece in pieces:
            low, high = known[piece][1]
            inside = Formula(piece).parts()
            part = inside[0] if len(inside) == 1 else None
            alone = part is None or isinstance(part, Percentile)
            terms.append(Term(values[piece], low, high, _slope(node, values, piece), alone))
            parts.append(part)
            signs.append(1 if part is None else self._direction(piece, part))
        matrix = [
            [self._correlation(terms[i], terms[j], parts[i], parts[j], signs[i] * signs[j]) for j in range(len(parts))]
            for i in range(len(parts))
        ]
        return value, combine(value, terms, matrix)

    def _direction(self, piece: Node, part: Part) -> int:
        """Whether a single-part node rises (1) or falls (-1) with its part."""
        low, high = (self._at(piece, {part: end}) for end in self._part(part))
        return -1 if low > high else 1

    def _correlation(self, one: Term, two: Term, first: Part | None, second: Part | None, sign: int) -> float:
        """How two terms vary together; what is not known counts as it would be worst."""
        if not isinstance(first, Ratio) or not isinstance(second, Ratio):
            return 0.0
        if first == second:
            return float(sign)
        same_way = 1.0 if one.gradient * two.gradient >= 0 else -1.0
        cross = self.group.crosses.get((first, second))
        turned = self.group.crosses.get((second, first))
        if cross is None and turned is not None:
            cross = CrossSums(turned.zz, turned.dz, turned.zd, turned.dd)
        if cross is None:
            return same_way
        sums, others = self.group.ratios[first].sums, self.group.ratios[second].sums
        found = sign * correlation(sums, others, cross)
        # Two that never differed make a difference of theirs certain, which few scenarios do not show.
        units = min(sums.clusters, others.clusters)
        never_differed = abs(found) > 1 - ROUNDING and found * same_way < 0
        return found * units / (units + 1) if never_differed else found

    def _at(self, node: Node, values: Mapping[Node, float]) -> float:
        """The value of a node, in floats, for given values of some nodes inside."""
        if node in values:
            return values[node]
        if isinstance(node, Fraction):
            return float(node)
        if isinstance(node, Ratio | Percentile):
            return self._value(node)
        operator, children = node
        numbers = [self._at(child, values) for child in children]
        if operator == "size" and isinstance(children[0], Ratio):
            return numbers[0] * float(self.group.ratios[children[0]].sums.d)
        return _apply(operator, numbers)


def _apply(operator: str, numbers: list[float]) -> float:
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


def _distinct_pieces(node: Node) -> list[Node]:
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


def _fixed_totals(node: Node) -> list[Node]:
    """The nodes inside that hold a number of scenarios and nothing that varies."""
    if not isinstance(node, tuple) or not _has_total(node):
        return []
    if not Formula(node).parts():
        return [node]
    return [fixed for child in node[1] for fixed in _fixed_totals(child)]


def _divisors(node: Node) -> list[Node]:
    """Everything inside that is divided by."""
    if not isinstance(node, tuple):
        return []
    inside = [divisor for child in node[1] for divisor in _divisors(child)]
    return [*inside, node[1][1]] if node[0] == "/" else inside


def _pieces(node: Node) -> list[Node]:
    """The largest nodes inside that have one part each, or choose between several."""
    parts = Formula(node).parts()
    if len(parts) == 1 or _is_choice(node):
        return [node]
    if not parts or not isinstance(node, tuple):
        return []
    return [piece for child in node[1] for piece in _pieces(child)]


def _slope(node: Node, values: Mapping[Node, float], piece: Node) -> float:
    """The derivative of a node by one of its pieces, at their values."""
    if node == piece:
        return 1.0
    if node in values or not isinstance(node, tuple):
        return 0.0
    operator, children = node
    slopes = [_slope(child, values, piece) for child in children]
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
    return _apply(node[0], [_number(child, values) for child in node[1]])
