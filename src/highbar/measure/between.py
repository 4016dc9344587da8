"""The range of a formula's value, with each of its parts anywhere between two ends.

Undecided trials are judged at their worst and at their best. If a formula only rises, or only falls, with each of its
parts, its value is always between those two. `accuracy / pass_rate` is different: it is smallest if the answers are
wrong and the trials pass all the same. A part with which the formula surely rises or falls is set to the end that
makes the formula smallest (or largest); for the others, interval arithmetic gives a bound. Parts vary independently
here, so the range is never too narrow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction

from msgspec import Struct, field
from msgspec.structs import replace

from highbar import catalogue
from highbar.language.formula import operations
from highbar.language.formula.operations import Operation, Range, Sign
from highbar.measure.limits import MOST_TERMS
from highbar.measure.parts import expand_formula
from highbar.model import (
    Better,
    Call,
    Expression,
    Metric,
    Name,
    Percentile,
    Policy,
    Term,
    Value,
    Where,
)

Leaf = Term | Percentile
Node = operations.Node[Leaf]
"""A formula, expanded into its sums and percentiles."""
Ends = Mapping[Leaf, tuple[Fraction, Fraction]]
"""The value of each part at the worst and at the best."""
Monomial = tuple[int, ...]
"""The sorted places of the parts that are multiplied; a repeated place is a power."""
Polynomial = dict[Monomial, Fraction]

_CONSTANT: Polynomial = {(): Fraction(1)}


class Span(Struct, frozen=True):
    """The least and the greatest value of a formula; None if there is no bound."""

    low: Fraction | None
    high: Fraction | None


UNBOUNDED = Span(None, None)


def tree(policy: Policy, metric: Metric, where: Where = ()) -> Node:
    """The metric over the scenarios that `where` selects, with the metrics that it names expanded."""
    return _tree(policy, metric.expression, catalogue.narrow(where, metric.where))


def sums_in(node: Node) -> Iterator[Leaf]:
    """Every sum and percentile in the formula, as often as it occurs."""
    return (inner for inner in operations.walk(node) if isinstance(inner, Term | Percentile))


def is_plain(metric: Metric) -> bool:
    """Whether the metric surely follows its parts: it is built in, or a single mean, sum or percentile."""
    known = catalogue.find_metric(metric.name)
    alone = isinstance(metric.expression, Call) and metric.expression.function in ("mean", "sum", "percentile")
    return alone or (known is not None and known.expression == metric.expression and known.better == metric.better)


def span(node: Node, ends: Ends) -> Span:
    """The least and the greatest value of the formula, with each part anywhere between its ends."""
    box = _Box.around(ends)
    # Interval arithmetic treats each occurrence of a part as independent. Fixed parts do not have that problem.
    directions = {leaf: box.direction(node, leaf) for leaf in box.ranges}
    low = box.narrowed(directions, to_the_least=True).range(node)
    high = box.narrowed(directions, to_the_least=False).range(node)
    return Span(None if low is None else low[0], None if high is None else high[1])


def is_monotonic(node: Node, ends: Ends, better: Better) -> bool:
    """Whether the formula is at its worst with every part at its worst, and at its best with every part at its best."""
    box = _Box.around(ends)
    for leaf, (worst, best) in ends.items():
        rises = (best > worst) == (better == "higher")
        if worst != best and box.direction(node, leaf) not in (0, 1 if rises else -1):
            return False
    return True


def at_ends(worst: Value, best: Value, span: Span) -> tuple[Value, Value]:
    """The two values, moved to the ends of the formula's range. They have no intervals."""
    least, most = (span.low, span.high) if worst.better == "higher" else (span.high, span.low)
    if least is None:
        reason = "between the worst and the best of undecided trials, its formula divides by 0"
        worst = replace(worst, value=None, reason=reason, low=None, high=None)
    else:
        worst = replace(worst, value=least, low=None, high=None)
    return worst, replace(best, value=best.value if most is None else most, low=None, high=None)


def _tree(policy: Policy, expression: Expression, where: Where) -> Node:
    def find(node: Expression) -> Node | None:
        match node:
            case Name(name) if name in policy.metrics:
                return tree(policy, policy.metrics[name], where)
            case Name(name) if name in catalogue.SETTINGS:
                return policy.latency_limit
            case Name() | Call("mean" | "sum" | "percentile"):
                wanted = catalogue.terms(node, where)
                if isinstance(wanted, Percentile):
                    return wanted
                return wanted[0] if len(wanted) == 1 else Operation("/", wanted)
        return None

    return expand_formula(expression, find)


class _Box(Struct, frozen=True):
    """The range of every part."""

    ranges: Mapping[Leaf, Range]
    places: Mapping[Leaf, int] = field(default_factory=dict)  # of the parts that vary

    @staticmethod
    def around(ends: Ends) -> _Box:
        """The ranges from the parts' ends."""
        differing = [leaf for leaf, (worst, best) in ends.items() if worst != best]
        ranges = {leaf: (min(pair), max(pair)) for leaf, pair in ends.items()}
        return _Box(ranges, {leaf: place for place, leaf in enumerate(differing)})

    def narrowed(self, directions: Mapping[Leaf, Sign], *, to_the_least: bool) -> _Box:
        """The parts with a direction at the end that makes the formula smallest, or largest; the others unchanged."""

        def chosen(leaf: Leaf, low: Fraction, high: Fraction) -> Range:
            direction = directions[leaf]
            if direction is None:
                return low, high
            return (low, low) if (direction >= 0) == to_the_least else (high, high)

        return _Box({leaf: chosen(leaf, *ends) for leaf, ends in self.ranges.items()})

    def range(self, node: Node) -> Range | None:
        """The range of a node, by interval arithmetic: never too narrow. None if there is no bound."""
        if isinstance(node, Fraction):
            return node, node
        if isinstance(node, Term | Percentile):
            return self.ranges[node]
        ranges = [self.range(operand) for operand in node.operands]
        known = [each for each in ranges if each is not None]
        return operations.range_of(node.operator, known) if len(known) == len(ranges) else None

    def direction(self, node: Node, leaf: Leaf) -> Sign:
        """1 if the node never falls as the part rises, -1 if it never rises, 0 if it does not vary; else None."""
        if node == leaf:
            return 1 if leaf in self.places else 0
        if not isinstance(node, Operation):
            return 0
        directions = [self.direction(operand, leaf) for operand in node.operands]
        if not any(each != 0 for each in directions):
            return 0
        # The rule of the operator is cheap and settles most nodes; expanding the derivative is the fallback.
        found = self._joint_direction(node, directions)
        return found if found is not None else self._by_derivative(node, leaf)

    def _joint_direction(self, node: Operation[Leaf], directions: list[Sign]) -> Sign:
        """The direction that all operands agree on; None if the divisor may be 0 in between."""

        def sign(place: int) -> Sign:
            return operations.sign_of(self.range(node.operands[place]))

        return operations.direction(node.operator, directions, sign)

    def _by_derivative(self, node: Node, leaf: Leaf) -> Sign:
        """The sign of the derivative, if the node is one polynomial over another; there, terms can cancel out."""
        written = self._as_quotient(node)
        if written is None or len(written[0]) * len(written[1]) > MOST_TERMS:
            return None
        above, below = written
        if operations.sign_of(self._range_of_polynomial(below)) is None:
            return None
        place = self.places[leaf]
        # The quotient rule without its denominator, which is a square and so does not change the sign.
        slope = _add(_product(_derivative(above, place), below), _product(above, _derivative(below, place)), -1)
        return operations.sign_of(self._range_of_polynomial(slope)) if slope else 0

    def _range_of_polynomial(self, polynomial: Polynomial) -> Range:
        by_place = {place: self.ranges[leaf] for leaf, place in self.places.items()}
        total: Range = (Fraction(0), Fraction(0))
        for monomial, factor in polynomial.items():
            amount: Range = (factor, factor)
            for place in monomial:
                amount = operations.product_range([amount, by_place[place]])
            total = total[0] + amount[0], total[1] + amount[1]
        return total

    def _as_quotient(self, node: Node) -> tuple[Polynomial, Polynomial] | None:
        """The node as one polynomial over another; None if it has a min, max or abs, or they would be too long."""
        if isinstance(node, Fraction):
            return {(): node}, _CONSTANT
        if isinstance(node, Term | Percentile):
            place = self.places.get(node)
            return ({(): self.ranges[node][0]} if place is None else {(place,): Fraction(1)}), _CONSTANT
        operator, operands = node
        if operator in ("min", "max", "abs"):
            return None
        left, right = (self._as_quotient(operand) for operand in operands)
        if left is None or right is None or len(left[0]) * len(right[1]) * len(right[0]) > MOST_TERMS:
            return None
        if operator in ("+", "-"):
            sign = 1 if operator == "+" else -1
            above = _add(_product(left[0], right[1]), _product(right[0], left[1]), sign)
            return above, _product(left[1], right[1])
        turned = right if operator == "*" else (right[1], right[0])
        return _product(left[0], turned[0]), _product(left[1], turned[1])


def _product(one: Polynomial, other: Polynomial) -> Polynomial:
    found: Polynomial = {}
    for first, a in one.items():
        for second, b in other.items():
            monomial = tuple(sorted(first + second))
            found[monomial] = found.get(monomial, Fraction(0)) + a * b
    return {monomial: factor for monomial, factor in found.items() if factor}


def _add(one: Polynomial, other: Polynomial, sign: int) -> Polynomial:
    found = dict(one)
    for monomial, factor in other.items():
        found[monomial] = found.get(monomial, Fraction(0)) + sign * factor
    return {monomial: factor for monomial, factor in found.items() if factor}


def _derivative(polynomial: Polynomial, place: int) -> Polynomial:
    found: Polynomial = {}
    for monomial, factor in polynomial.items():
        power = Counter(monomial)[place]
        if power:
            at = monomial.index(place)
            found[monomial[:at] + monomial[at + 1 :]] = factor * power
    return found
