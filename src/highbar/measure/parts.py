"""Breaks a metric's formula into its parts, which can vary from one run to the next.

A part is a ratio of sums over the same scenarios, or a percentile. Nearly every metric is a single ratio. If a function
has only one part (`1 - normalized_latency`), its interval follows from that of the part; several are combined.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from highbar import catalogue
from highbar.columns import EXTRA, SHARES, WORSE_IF_HIGHER
from highbar.language.formula import COLUMN_FUNCTIONS, fold, operations
from highbar.language.formula.operations import Operation
from highbar.measure.limits import ROUNDING
from highbar.model import (
    Binary,
    Call,
    Constant,
    Expression,
    Linear,
    Metric,
    Name,
    Negative,
    Operator,
    Percentile,
    Policy,
    Ratio,
    Term,
    Where,
)
from highbar.model.reduction import Group
from highbar.policy.directions import ImputedPart, helped_by_crashes
from highbar.policy.metrics import measures_in
from highbar.statistics.bounds import effective_clusters

L = TypeVar("L")
Part = Ratio | Percentile


class Size(Struct, frozen=True):
    """The lower sum of a ratio: a number of scenarios, which does not vary from run to run."""

    ratio: Ratio


Node = operations.Node[Part | Size]
"""A formula with its parts in place of names."""


def ratios(node: Node) -> Iterator[Ratio]:
    """Every ratio that a formula's value needs, including those that do not vary."""
    return (inner for inner in operations.walk(node) if isinstance(inner, Ratio))


def parts_of(node: Node) -> tuple[Part, ...]:
    """The parts of a formula, each once."""
    inside: Iterator[Node] = operations.walk(node)
    # A sum over itself is always 1, so it does not vary.
    varying = (n for n in inside if isinstance(n, Percentile) or (isinstance(n, Ratio) and n.z != n.d))
    return tuple(dict.fromkeys(varying))


def of_metric(policy: Policy, metric: Metric, where: Where = ()) -> Node:
    """The metric over the scenarios that `where` selects, with the metrics that it names expanded."""
    return _tree(policy, metric.expression, catalogue.narrow(where, metric.where))


def _tree(policy: Policy, expression: Expression, where: Where) -> Node:
    def find(node: Expression) -> Node | None:
        # A quotient of sums becomes one ratio before its sides are split: only then can it be a share, with its bounds.
        ratio = _ratio(policy, node, where)
        if ratio is not None:
            return Fraction(1) if ratio.z == ratio.d else _as_f_measure(ratio)
        match node:
            case Name(name):
                return _expand_name(policy, name, where)
            case Call(function) if function in COLUMN_FUNCTIONS:
                wanted = catalogue.terms(node, where)
                return wanted if isinstance(wanted, Percentile) else _total(wanted[0])
        return None

    return expand_formula(expression, find)


def expand_formula(
    expression: Expression, find: Callable[[Expression], operations.Node[L] | None]
) -> operations.Node[L]:
    """The tree of a formula, with what `find` returns in place of an expression; None for what it leaves as it is."""

    def combine(node: Expression, operands: Iterator[operations.Node[L]]) -> operations.Node[L]:
        found = find(node)
        if found is not None:
            return found
        match node:
            case Constant(number):
                return number
            case Negative():
                return Operation("-", (Fraction(0), *operands))
            case Binary(operator) | Call(operator):
                return Operation(operator, tuple(operands))
        raise TypeError(f"{node} has no place in a tree")

    return fold(expression, combine)


def _expand_name(policy: Policy, name: str, where: Where) -> Node:
    if name in policy.metrics:
        return of_metric(policy, policy.metrics[name], where)
    if name in catalogue.SETTINGS:
        return policy.latency_limit
    return _total(_terms(Name(name), where)[0])


def _total(term: Term) -> Node:
    """A sum without a divisor: the mean over the scenarios, times their number."""
    every_scenario = Term("scenario", where=term.where)
    mean = Ratio(((term, Fraction(1)),), ((every_scenario, Fraction(1)),))
    return Operation("*", (mean, Size(mean)))


def _terms(leaf: Name | Call, where: Where) -> tuple[Term, ...]:
    """The sums behind a leaf that is not a percentile."""
    wanted = catalogue.terms(leaf, where)
    if isinstance(wanted, Percentile):
        raise TypeError(f"{leaf} is a percentile, not a sum")
    return wanted


def _ratio(policy: Policy, expression: Expression, where: Where) -> Ratio | None:
    """The expression as one sum over another; None if it is not one."""
    if isinstance(expression, Call) and expression.function == "mean":
        total, count = _terms(expression, where)
        return Ratio(((total, Fraction(1)),), ((count, Fraction(1)),))
    if not isinstance(expression, Binary) or expression.operator != "/":
        return None
    above, below = _linear(policy, expression.left, where), _linear(policy, expression.right, where)
    return Ratio(above, below) if above and below else None


def _linear(policy: Policy, expression: Expression, where: Where) -> Linear | None:
    """The expression as a linear combination of terms; None if it is not one."""
    match expression:
        case Name(name) if name not in policy.metrics and name not in catalogue.SETTINGS:
            return ((_terms(expression, where)[0], Fraction(1)),)
        case Call("sum", _):
            return ((_terms(expression, where)[0], Fraction(1)),)
        case Negative(operand):
            return _scale(_linear(policy, operand, where), Fraction(-1))
        case Binary("*", Constant(factor), other) | Binary("*", other, Constant(factor)):
            return _scale(_linear(policy, other, where), factor)
        case Binary("/", other, Constant(divisor)) if divisor:
            return _scale(_linear(policy, other, where), 1 / divisor)
        case Binary("+" | "-" as operator, left, right):
            first = _linear(policy, left, where)
            second = _scale(_linear(policy, right, where), Fraction(1 if operator == "+" else -1))
            return _add(first, second)
    return None


def _scale(linear: Linear | None, factor: Fraction) -> Linear | None:
    return None if linear is None else tuple((term, number * factor) for term, number in linear)


def _add(first: Linear | None, second: Linear | None) -> Linear | None:
    if first is None or second is None:
        return None
    total: dict[Term, Fraction] = dict(first)
    for term, number in second:
        total[term] = total.get(term, Fraction(0)) + number
    return tuple((term, number) for term, number in total.items() if number)


def measures_of(policy: Policy, metric: Metric, where: Where = ()) -> Iterator[tuple[Name | Call, Where]]:
    """The measures in a metric's formula, with the metrics in it expanded; each with its filter on scenarios."""
    return measures_in(metric.expression, policy.metrics, catalogue.narrow(where, metric.where))


def columns_of(leaves: Iterable[tuple[Name | Call, Where]]) -> Iterator[tuple[str, Where]]:
    """The columns that these measures use, each with its filter on scenarios."""
    for leaf, where in leaves:
        wanted = catalogue.terms(leaf, where)
        term = wanted if isinstance(wanted, Percentile) else wanted[0]
        yield "passed" if catalogue.is_repeated(term.column) else term.column, term.where


def parts_without_worse_end(policy: Policy, metric: Metric, where: Where = ()) -> tuple[ImputedPart, ...]:
    """The parts of a formula for which the worse end of a column may be the better one: no end is safe for a crash."""
    operator: Operator = ">=" if metric.better == "higher" else "<="
    narrowed = catalogue.narrow(where, metric.where)
    surely, perhaps = helped_by_crashes(metric.expression, operator, policy, narrowed)
    return (*surely, *perhaps)


def counts_scenarios(term: Term) -> bool:
    """Whether the sum is a number of scenarios, by their weights if it is weighted."""
    return term.of == "count" or term.column == "scenario"


def is_share(ratio: Ratio) -> bool:
    """Whether the terms are such that, in every scenario, the upper sum is between 0 and the lower one."""
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


def is_given(share: Ratio) -> bool:
    """Whether the suite alone says what a share is of: scenarios, expectations, or positives. Answers cannot add to it.

    Two runs of precision may happen to have as many predictions, but the next ones need not.
    """
    counted = {term.column for term, _ in share.d if not counts_scenarios(term)}
    return counted <= {"expected"} or counted == {"tp", "fn"}


def shares_in_sum(node: Node) -> tuple[Mapping[Ratio, Fraction], Node]:
    """A formula as a sum: the given shares that it adds up, each with its factor, and a rest without any of them."""
    factors: dict[Ratio, Fraction] = {}
    others: list[tuple[Node, Fraction]] = []
    for addend, factor in _addends(node, Fraction(1)):
        if isinstance(addend, Ratio) and addend.z != addend.d and is_share(addend) and is_given(addend):
            factors[addend] = factors.get(addend, Fraction(0)) + factor
        else:
            others.append((addend, factor))
    elsewhere = {part for other, _ in others for part in parts_of(other)}
    others += [(share, factor) for share, factor in factors.items() if share in elsewhere]
    shares = {share: factor for share, factor in factors.items() if factor and share not in elsewhere}
    rest: Node = Fraction(0)
    for other, factor in others:
        term: Node = other if factor == 1 else Operation("*", (factor, other))
        rest = Operation("+", (rest, term)) if rest else term
    return shares, rest


def _addends(node: Node, factor: Fraction) -> Iterator[tuple[Node, Fraction]]:
    """The terms that a formula adds up, each with its constant factor."""
    if isinstance(node, Operation) and node.operator in ("+", "-"):
        left, right = node.operands
        yield from _addends(left, factor)
        yield from _addends(right, factor if node.operator == "+" else -factor)
    elif isinstance(node, Operation) and node.operator == "*" and isinstance(node.operands[0], Fraction):
        yield from _addends(node.operands[1], factor * node.operands[0])
    elif isinstance(node, Operation) and node.operator == "*" and isinstance(node.operands[1], Fraction):
        yield from _addends(node.operands[0], factor * node.operands[1])
    elif (
        isinstance(node, Operation)
        and node.operator == "/"
        and isinstance(node.operands[1], Fraction)
        and node.operands[1]
    ):
        yield from _addends(node.operands[0], factor / node.operands[1])
    else:
        yield node, factor


def per_scenario(ratio: Ratio) -> tuple[Ratio, Ratio]:
    """The upper and the lower sum of a ratio, each divided by the number of scenarios that have the upper one."""
    (first, _), *_ = ratio.z
    count = ((Term(first.column, "sum" if first.column == "scenario" else "count", first.where), Fraction(1)),)
    return Ratio(ratio.z, count), Ratio(ratio.d, count)


def unweighted(ratio: Ratio) -> Ratio:
    """The same ratio with every scenario weighing 1."""

    def plain(linear: Linear) -> Linear:
        return tuple((replace(term, weighted=False), factor) for term, factor in linear)

    return Ratio(plain(ratio.z), plain(ratio.d))


def is_weighted(ratio: Ratio) -> bool:
    """Whether the ratio uses the weights of the scenarios."""
    return any(term.weighted for term, _ in ratio.d)


def weights_differ(ratio: Ratio, group: Group) -> bool:
    """Whether the weights make a difference: without them, the units would have other shares of the total."""
    weighted = group.ratios[ratio]
    if not weighted.sums.d:
        return False
    plain = group.ratios.get(unweighted(ratio))
    if plain is None or not plain.sums.d:
        return not math.isclose(effective_clusters(weighted.sums), weighted.sums.clusters, rel_tol=ROUNDING)
    scenarios, largest = ((effective_clusters(one.sums), one.largest / float(one.sums.d)) for one in (weighted, plain))
    return not all(math.isclose(a, b, rel_tol=ROUNDING) for a, b in zip(scenarios, largest, strict=True))


def goodness(part: Part) -> int:
    """1 if a higher value of a part is better, -1 if it is worse, 0 if unknown."""
    column = part.column if isinstance(part, Percentile) else part.z[0][0].column
    if column.startswith(EXTRA) or (isinstance(part, Ratio) and any(factor < 0 for _, factor in part.z)):
        return 0
    return -1 if column in WORSE_IF_HIGHER else 1


def _as_f_measure(ratio: Ratio) -> Node:
    """An F-measure as a function of a share: a·tp / (a·tp + rest) is aJ / (1 + (a-1)J) with J = tp / (tp + rest)."""
    below = dict(ratio.d)
    term, factor = ratio.z[0]
    rest = [number for other, number in below.items() if other != term]
    if len(ratio.z) != 1 or not rest or factor <= 1 or below.get(term) != factor or any(n != 1 for n in rest):
        return ratio
    return _f_measure(Ratio(((term, Fraction(1)),), tuple((other, Fraction(1)) for other in below)), factor)


def _f_measure(share: Ratio, factor: Fraction) -> Node:
    """The F-measure of a share J: aJ / (1 + (a-1)J), with the factor a."""
    above: Node = Operation("*", (factor, share))
    rise: Node = Operation("*", (factor - 1, share))
    return Operation("/", (above, Operation("+", (Fraction(1), rise))))


def share_behind(node: Node) -> tuple[Ratio, Fraction] | None:
    """The share that a formula is, with the factor 1, or that an F-measure is a function of, with its factor a.

    The F-measure is t exactly if the share is t / (a - (a-1)t). None for any other formula.
    """
    if isinstance(node, Ratio):
        return (node, Fraction(1)) if is_share(node) else None
    parts = parts_of(node)
    if len(parts) != 1 or not isinstance(parts[0], Ratio) or not isinstance(node, Operation):
        return None
    share, above = parts[0], node.operands[0]
    factor = above.operands[0] if isinstance(above, Operation) and above.operator == "*" else None
    # The same parts in another form are not an F-measure: the form must be the one that `_f_measure` makes.
    known = isinstance(factor, Fraction) and node == _f_measure(share, factor) and is_share(share)
    return (share, factor) if known and isinstance(factor, Fraction) else None


# --- pieces: nodes that vary independently ----------------------------------------------------


def distinct_pieces(node: Node) -> list[Node]:
    """The pieces of a node. A part that several pieces share becomes a piece of its own, so that its slopes add up."""
    pieces = list(dict.fromkeys(_pieces(node)))
    uses = Counter(part for piece in pieces for part in parts_of(piece))
    found: dict[Node, None] = {}
    for piece in pieces:
        shared = [part for part in parts_of(piece) if uses[part] > 1]
        whole = _is_choice(piece) or _has_total(piece)
        found.update(dict.fromkeys(shared if shared and not whole else [piece]))
    return list(found)


def _is_choice(node: Node) -> bool:
    return isinstance(node, Operation) and node.operator in ("min", "max") and len(parts_of(node)) > 1


def _has_total(node: Node) -> bool:
    """Whether the node contains a number of scenarios, which only the group knows."""
    return any(isinstance(inner, Size) for inner in operations.walk(node))


def fixed_totals(node: Node) -> list[Node]:
    """The nodes inside that contain a number of scenarios and nothing that varies."""
    if not isinstance(node, Operation) or not _has_total(node):
        return []
    if not parts_of(node):
        return [node]
    return [fixed for operand in node.operands for fixed in fixed_totals(operand)]


def divisors(node: Node) -> list[Node]:
    """Every divisor inside the node."""
    inside: Iterator[Node] = operations.walk(node)
    return [inner.operands[1] for inner in inside if isinstance(inner, Operation) and inner.operator == "/"]


def _pieces(node: Node) -> list[Node]:
    """The largest nodes inside that have one part each, or are a min or max of several."""
    parts = parts_of(node)
    if len(parts) == 1 or _is_choice(node):
        return [node]
    if not parts or not isinstance(node, Operation):
        return []
    return [piece for operand in node.operands for piece in _pieces(operand)]
