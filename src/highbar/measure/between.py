"""A formula and the two ends of each of its parts → what it can come to in between.

Undecided trials are judged at their worst and at their best. For a formula that only rises, or only falls, with each of
its parts, nothing in between is beyond those two. `accuracy / pass_rate` is not such a formula: it is at its least if
the answers are wrong and the trials pass all the same. Each part on which it surely rises or falls is put at the end
that makes it least (or most); for the others interval arithmetic gives a bound. Parts are taken to vary by themselves,
which is never too narrow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import assert_never

from highbar import catalogue
from highbar.model import (
    Better,
    Binary,
    Call,
    Expression,
    Metric,
    Name,
    Negative,
    Number,
    Percentile,
    Policy,
    Term,
    Where,
)

Leaf = Term | Percentile
Node = Fraction | Leaf | tuple[str, tuple["Node", ...]]
"""A formula down to its sums and percentiles: a number, one of those, or an operation on nodes."""
Range = tuple[Fraction, Fraction]
"""The least and the most; None in its place if there is no bound."""
Ends = Mapping[Leaf, tuple[Fraction, Fraction]]
"""Of each part, its value at the worst and at the best."""
Monomial = tuple[int, ...]
"""Places of the parts that are multiplied, sorted; one that stands twice is squared."""
Polynomial = dict[Monomial, Fraction]

_MOST_TERMS = 2000
"""Longer polynomials are not written out: what they would prove is bounded instead."""
_CONSTANT: Polynomial = {(): Fraction(1)}


@dataclass(frozen=True, slots=True)
class Span:
    """The least and the most that a formula can come to; None where there is no bound."""

    low: Fraction | None
    high: Fraction | None


UNBOUNDED = Span(None, None)


def tree(policy: Policy, metric: Metric, where: Where = ()) -> Node:
    """The metric over the scenarios that `where` lets through, metrics that it names written out."""
    return _node(policy, metric.expression, catalogue.narrow(where, metric.where))


def leaves(node: Node) -> Iterator[Leaf]:
    """Every sum and percentile inside, as often as it stands there."""
    if isinstance(node, Term | Percentile):
        yield node
    elif isinstance(node, tuple):
        for child in node[1]:
            yield from leaves(child)


def is_plain(metric: Metric) -> bool:
    """Whether the metric surely follows its parts: it is of the catalogue, or one mean or percentile."""
    known = catalogue.find(metric.name)
    alone = isinstance(metric.expression, Call) and metric.expression.function in ("mean", "sum", "percentile")
    return alone or (known is not None and known.expression == metric.expression and known.better == metric.better)


def span(node: Node, ends: Ends) -> Span:
    """The least and the most that the formula can come to, each part anywhere between its ends."""
    box = _Box.around(ends)
    ways = {leaf: box.direction(node, leaf) for leaf in box.ranges}
    low = box.narrowed(ways, to_the_least=True).range(node)
    high = box.narrowed(ways, to_the_least=False).range(node)
    return Span(None if low is None else low[0], None if high is None else high[1])


def follows(node: Node, ends: Ends, better: Better) -> bool:
    """Whether the formula is at its worst with every part at its worst, and at its best with every part at its best."""
    box = _Box.around(ends)
    for leaf, (worst, best) in ends.items():
        rises = (best > worst) == (better == "higher")
        if worst != best and box.direction(node, leaf) not in (0, 1 if rises else -1):
            return False
    return True


def _node(policy: Policy, expression: Expression, where: Where) -> Node:
    match expression:
        case Number(number):
            return number
        case Name(name) if name in policy.metrics:
            return tree(policy, policy.metrics[name], where)
        case Name(name) if name in catalogue.SETTINGS:
            return policy.latency_limit
        case Name() | Call("mean" | "sum" | "percentile", _):
            wanted = catalogue.terms(expression, where)
            if isinstance(wanted, Percentile):
                return wanted
            return wanted[0] if len(wanted) == 1 else ("/", wanted)
        case Call(function, arguments):
            return function, tuple(_node(policy, argument, where) for argument in arguments)
        case Negative(operand):
            return "-", (Fraction(0), _node(policy, operand, where))
        case Binary(operator, left, right):
            return operator, (_node(policy, left, where), _node(policy, right, where))
    assert_never(expression)


@dataclass(frozen=True, slots=True)
class _Box:
    """Every part with the range that it lies in."""

    ranges: Mapping[Leaf, Range]
    places: Mapping[Leaf, int] = field(default_factory=dict)  # of the parts that vary

    @staticmethod
    def around(ends: Ends) -> _Box:
        """The parts between their ends."""
        varying = [leaf for leaf, (worst, best) in ends.items() if worst != best]
        ranges = {leaf: (min(pair), max(pair)) for leaf, pair in ends.items()}
        return _Box(ranges, {leaf: place for place, leaf in enumerate(varying)})

    def narrowed(self, ways: Mapping[Leaf, int | None], *, to_the_least: bool) -> _Box:
        """The parts with a direction at the end that makes the formula least, or most; the others as they are."""

        def chosen(leaf: Leaf, low: Fraction, high: Fraction) -> Range:
            way = ways[leaf]
            if way is None:
                return low, high
            return (low, low) if (way >= 0) == to_the_least else (high, high)

        return _Box({leaf: chosen(leaf, *ends) for leaf, ends in self.ranges.items()})

    def range(self, node: Node) -> Range | None:
        """What a node can come to, by interval arithmetic: never too narrow. None if there is no bound."""
        if isinstance(node, Fraction):
            return node, node
        if isinstance(node, Term | Percentile):
            return self.ranges[node]
        ranges = [self.range(child) for child in node[1]]
        known = [each for each in ranges if each is not None]
        return _RANGES[node[0]](known) if len(known) == len(ranges) else None

    def direction(self, node: Node, leaf: Leaf) -> int | None:
        """1 if the node never falls as the part rises, -1 if it never rises, 0 if it does not vary; else None."""
        if node == leaf:
            return 1 if leaf in self.places else 0
        if not isinstance(node, tuple) or isinstance(node, Term | Percentile):
            return 0
        operator, children = node
        ways = [self.direction(child, leaf) for child in children]
        if not any(way != 0 for way in ways):
            return 0
        found = self._joined(operator, children, ways)
        return found if found is not None else self._by_derivative(node, leaf)

    def _joined(self, operator: str, children: tuple[Node, ...], ways: list[int | None]) -> int | None:
        """The direction that all children agree on, given the sign with which each counts."""
        if operator in ("+", "min", "max"):
            return _agreed(ways)
        if operator == "-":
            return _agreed([ways[0], _times(ways[1], -1)])
        signs = [_sign(self.range(child)) for child in children]
        if operator == "abs":
            return _times(ways[0], signs[0])
        if operator == "*":
            return _agreed([_times(ways[0], signs[1]), _times(ways[1], signs[0])])
        if signs[1] is None:
            return None  # the divisor may be 0 in between
        falls = _times(_times(ways[1], signs[0]), -1)
        return _agreed([_times(ways[0], signs[1]), falls])

    def _by_derivative(self, node: Node, leaf: Leaf) -> int | None:
        """By the sign of the derivative, if the node is one polynomial over another: what cancels out is gone."""
        written = self._written(node)
        if written is None or len(written[0]) * len(written[1]) > _MOST_TERMS:
            return None
        above, below = written
        if _sign(self._worth(below)) is None:
            return None
        place = self.places[leaf]
        slope = _added(_product(_derived(above, place), below), _product(above, _derived(below, place)), -1)
        return _sign(self._worth(slope)) if slope else 0

    def _worth(self, polynomial: Polynomial) -> Range | None:
        by_place = {place: self.ranges[leaf] for leaf, place in self.places.items()}
        total: Range = (Fraction(0), Fraction(0))
        for monomial, factor in polynomial.items():
            amount: Range = (factor, factor)
            for place in monomial:
                amount = _multiplied([amount, by_place[place]])
            total = total[0] + amount[0], total[1] + amount[1]
        return total

    def _written(self, node: Node) -> tuple[Polynomial, Polynomial] | None:
        """The node as one polynomial over another; None if it is not, or they would be too long."""
        if isinstance(node, Fraction):
            return {(): node}, _CONSTANT
        if isinstance(node, Term | Percentile):
            place = self.places.get(node)
            return ({(): self.ranges[node][0]} if place is None else {(place,): Fraction(1)}), _CONSTANT
        operator, children = node
        if operator in ("min", "max", "abs"):
            return None
        left, right = (self._written(child) for child in children)
        if left is None or right is None or len(left[0]) * len(right[1]) * len(right[0]) > _MOST_TERMS:
            return None
        if operator in ("+", "-"):
            sign = 1 if operator == "+" else -1
            above = _added(_product(left[0], right[1]), _product(right[0], left[1]), sign)
            return above, _product(left[1], right[1])
        turned = right if operator == "*" else (right[1], right[0])
        return _product(left[0], turned[0]), _product(left[1], turned[1])


def _agreed(ways: list[int | None]) -> int | None:
    found = set(ways) - {0}
    return found.pop() if len(found) == 1 else None if found else 0


def _times(way: int | None, sign: int | None) -> int | None:
    if way == 0 or sign == 0:
        return 0
    return None if way is None or sign is None else way * sign


def _sign(ends: Range | None) -> int | None:
    """1 if never below 0, -1 if never above, 0 if always 0; None if it can be both."""
    if ends is None:
        return None
    low, high = ends
    if low == high == 0:
        return 0
    return 1 if low >= 0 else -1 if high <= 0 else None


def _multiplied(ranges: list[Range]) -> Range:
    (a, b), (c, d) = ranges
    products = (a * c, a * d, b * c, b * d)
    return min(products), max(products)


def _divided(ranges: list[Range]) -> Range | None:
    low, high = ranges[1]
    return None if low <= 0 <= high else _multiplied([ranges[0], (1 / high, 1 / low)])


def _absolute(ranges: list[Range]) -> Range:
    low, high = ranges[0]
    least = Fraction(0) if low <= 0 <= high else min(abs(low), abs(high))
    return least, max(abs(low), abs(high))


_RANGES: Mapping[str, Callable[[list[Range]], Range | None]] = {
    "+": lambda ranges: (ranges[0][0] + ranges[1][0], ranges[0][1] + ranges[1][1]),
    "-": lambda ranges: (ranges[0][0] - ranges[1][1], ranges[0][1] - ranges[1][0]),
    "*": _multiplied,
    "/": _divided,
    "min": lambda ranges: (min(low for low, _ in ranges), min(high for _, high in ranges)),
    "max": lambda ranges: (max(low for low, _ in ranges), max(high for _, high in ranges)),
    "abs": _absolute,
}


def _product(one: Polynomial, other: Polynomial) -> Polynomial:
    found: Polynomial = {}
    for first, a in one.items():
        for second, b in other.items():
            monomial = tuple(sorted(first + second))
            found[monomial] = found.get(monomial, Fraction(0)) + a * b
    return {monomial: factor for monomial, factor in found.items() if factor}


def _added(one: Polynomial, other: Polynomial, sign: int) -> Polynomial:
    found = dict(one)
    for monomial, factor in other.items():
        found[monomial] = found.get(monomial, Fraction(0)) + sign * factor
    return {monomial: factor for monomial, factor in found.items() if factor}


def _derived(polynomial: Polynomial, place: int) -> Polynomial:
    found: Polynomial = {}
    for monomial, factor in polynomial.items():
        power = Counter(monomial)[place]
        if power:
            at = monomial.index(place)
            found[monomial[:at] + monomial[at + 1 :]] = factor * power
    return found
