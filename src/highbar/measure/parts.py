"""A metric's formula → the ratios and percentiles that it is made of: what can vary from one run to the next.

Every part is a ratio of sums over the same scenarios, or a percentile; nearly every metric is just one ratio. A part
that stands alone under a function (`1 - normalized_latency`) is carried through it end by end; several are combined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from highbar import catalogue
from highbar.columns import EXTRA, SHARES, WORSE_IF_HIGHER
from highbar.model import (
    Binary,
    Call,
    Expression,
    Linear,
    Metric,
    Name,
    Negative,
    Number,
    Percentile,
    Policy,
    Ratio,
    Term,
    Where,
)

Part = Ratio | Percentile
Node = Fraction | Part | tuple[str, tuple["Node", ...]]
"""A formula with its parts in place of names: a number, a part, or an operation on nodes."""


@dataclass(frozen=True, slots=True)
class Formula:
    """The tree of one metric over some scenarios."""

    root: Node

    def parts(self) -> tuple[Part, ...]:
        """Every part, once."""
        return tuple(dict.fromkeys(_parts(self.root)))


def ratios(node: Node) -> Iterator[Ratio]:
    """Every ratio that a formula's value needs, those that do not vary too."""
    if isinstance(node, Ratio):
        yield node
    elif isinstance(node, tuple):
        for child in node[1]:
            yield from ratios(child)


def _parts(node: Node) -> Iterator[Part]:
    if isinstance(node, Ratio | Percentile):
        if isinstance(node, Percentile) or node.z != node.d:  # a count over itself does not vary
            yield node
    elif isinstance(node, tuple):
        for child in node[1]:
            yield from _parts(child)


def of_metric(policy: Policy, metric: Metric, where: Where = ()) -> Formula:
    """The metric over the scenarios that `where` lets through, metrics that it names written out."""
    return Formula(_node(policy, metric.expression, catalogue.narrow(where, metric.where)))


def _node(policy: Policy, expression: Expression, where: Where) -> Node:
    ratio = _ratio(policy, expression, where)
    if ratio is not None:
        return Fraction(1) if ratio.z == ratio.d else _through_jaccard(ratio)
    match expression:
        case Number(number):
            return number
        case Name(name):
            return _named(policy, name, where)
        case Call(function, arguments):
            wanted = catalogue.terms(expression, where) if function == "percentile" else None
            if isinstance(wanted, Percentile):
                return wanted
            if function == "sum":
                return _total(_terms(expression, where)[0])
            return function, tuple(_node(policy, argument, where) for argument in arguments)
        case Negative(operand):
            return "-", (Fraction(0), _node(policy, operand, where))
        case Binary(operator, left, right):
            return operator, (_node(policy, left, where), _node(policy, right, where))
    assert_never(expression)


def _named(policy: Policy, name: str, where: Where) -> Node:
    if name in policy.metrics:
        return of_metric(policy, policy.metrics[name], where).root
    if name in catalogue.SETTINGS:
        return policy.latency_limit
    return _total(_terms(Name(name), where)[0])


def _total(term: Term) -> Node:
    """A sum by itself: the mean over the scenarios, times how many there are, which is not left to chance."""
    everything = Term("scenario", where=term.where)
    return "size", (Ratio(((term, Fraction(1)),), ((everything, Fraction(1)),)),)


def _terms(leaf: Name | Call, where: Where) -> tuple[Term, ...]:
    """The sums behind a leaf that is no percentile."""
    wanted = catalogue.terms(leaf, where)
    if isinstance(wanted, Percentile):
        raise TypeError(f"{leaf} is a percentile, not a sum")
    return wanted


def _ratio(policy: Policy, expression: Expression, where: Where) -> Ratio | None:
    """The expression as one sum over another, where it is that."""
    if isinstance(expression, Call) and expression.function == "mean":
        total, count = _terms(expression, where)
        return Ratio(((total, Fraction(1)),), ((count, Fraction(1)),))
    if not isinstance(expression, Binary) or expression.operator != "/":
        return None
    above, below = _linear(policy, expression.left, where), _linear(policy, expression.right, where)
    return Ratio(above, below) if above and below else None


def _linear(policy: Policy, expression: Expression, where: Where) -> Linear | None:
    """The expression as a weighted sum of terms, where it is that and nothing else is added."""
    match expression:
        case Name(name) if name not in policy.metrics and name not in catalogue.SETTINGS:
            return ((_terms(expression, where)[0], Fraction(1)),)
        case Call("sum", _):
            return ((_terms(expression, where)[0], Fraction(1)),)
        case Negative(operand):
            return _scaled(_linear(policy, operand, where), Fraction(-1))
        case Binary("*", Number(factor), other) | Binary("*", other, Number(factor)):
            return _scaled(_linear(policy, other, where), factor)
        case Binary("/", other, Number(divisor)) if divisor:
            return _scaled(_linear(policy, other, where), 1 / divisor)
        case Binary("+" | "-" as operator, left, right):
            first = _linear(policy, left, where)
            second = _scaled(_linear(policy, right, where), Fraction(1 if operator == "+" else -1))
            return _added(first, second)
    return None


def _scaled(linear: Linear | None, factor: Fraction) -> Linear | None:
    return None if linear is None else tuple((term, number * factor) for term, number in linear)


def _added(first: Linear | None, second: Linear | None) -> Linear | None:
    if first is None or second is None:
        return None
    total: dict[Term, Fraction] = dict(first)
    for term, number in second:
        total[term] = total.get(term, Fraction(0)) + number
    return tuple((term, number) for term, number in total.items() if number)


def is_share(ratio: Ratio) -> bool:
    """Whether, in every scenario, the upper sum lies between 0 and the lower one by what the terms mean."""
    if any(number < 0 for _, number in (*ratio.z, *ratio.d)):
        return False
    below = dict(ratio.d)
    if all(number <= below.get(term, 0) for term, number in ratio.z):
        return True
    if len(ratio.z) != 1 or len(ratio.d) != 1:
        return False
    (above, factor), (under, divisor) = ratio.z[0], ratio.d[0]
    if factor > divisor or above.where != under.where or above.weighted != under.weighted:
        return False
    if (above.column, under.column) == ("observed", "expected"):
        return True
    counted = under.column == "scenario" or (under.of == "count" and under.column == above.column)
    repeated = above.column.startswith(("pass_at_", "pass_hat_"))
    return counted and above.of == "sum" and (above.column in SHARES or repeated)


def per_scenario(ratio: Ratio) -> tuple[Ratio, Ratio]:
    """The upper and the lower sum of a ratio, each over the number of scenarios that have the upper one."""
    (first, _), *_ = ratio.z
    count = ((Term(first.column, "sum" if first.column == "scenario" else "count", first.where), Fraction(1)),)
    return Ratio(ratio.z, count), Ratio(ratio.d, count)


def unweighted(ratio: Ratio) -> Ratio:
    """The same ratio with every scenario weighing 1."""

    def plain(linear: Linear) -> Linear:
        return tuple((replace(term, weighted=False), factor) for term, factor in linear)

    return Ratio(plain(ratio.z), plain(ratio.d))


def is_weighted(ratio: Ratio) -> bool:
    """Whether scenarios take part with their weights."""
    return any(term.weighted for term, _ in ratio.d)


def goodness(part: Part) -> int:
    """Whether a higher value of a part is better (1), worse (-1), or of unknown meaning (0)."""
    column = part.column if isinstance(part, Percentile) else part.z[0][0].column
    if column.startswith(EXTRA) or (isinstance(part, Ratio) and any(factor < 0 for _, factor in part.z)):
        return 0
    return -1 if column in WORSE_IF_HIGHER else 1


def _through_jaccard(ratio: Ratio) -> Node:
    """F-measures through a share that is counted: a·tp / (a·tp + rest) is aJ / (1 + (a-1)J), J = tp / (tp + rest)."""
    below = dict(ratio.d)
    term, factor = ratio.z[0]
    rest = [number for other, number in below.items() if other != term]
    if len(ratio.z) != 1 or not rest or factor <= 1 or below.get(term) != factor or any(n != 1 for n in rest):
        return ratio
    share = Ratio(((term, Fraction(1)),), tuple((other, Fraction(1)) for other in below))
    return "/", (("*", (factor, share)), ("+", (Fraction(1), ("*", (factor - 1, share)))))
