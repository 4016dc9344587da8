"""Splits a score that is a sum into its terms: what each adds, and the most that it could add."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from highbar import catalogue
from highbar.language import formula
from highbar.language.formula import Lookup, Undefined
from highbar.measure.values import Measured
from highbar.model import Binary, Call, Constant, Expression, Metric, Name, Negative
from highbar.model.details import Score, ScorePart


def scores(measured: Measured) -> tuple[Score, ...]:
    """The composite and the weighted score, if the policy has them and they are sums."""
    found = (measured.policy.metrics.get(name) for name in (catalogue.FINAL_SCORE, catalogue.WEIGHTED_SCORE))
    split = (_split(metric, measured) for metric in found if metric is not None)
    return tuple(score for score in split if len(score.parts) > 1)


def _split(metric: Metric, measured: Measured) -> Score:
    now, best = measured.lookup(metric.where), _best(measured)
    parts = [
        ScorePart(formula.unparse(term), _evaluate(term, now), _evaluate(term, best))
        for term in _terms(metric.expression)
    ]
    return Score(metric.name, metric.formula, tuple(parts))


def _terms(node: Expression) -> Iterator[Expression]:
    """The terms of which `node` is the sum; a factor or divisor of the whole sum applies to each of them."""
    match node:
        case Binary("/" | "*" as operator, left, Constant() as right):
            yield from (Binary(operator, term, right) for term in _split_sum(left))
        case Binary("*", Constant() as left, right):
            yield from (Binary("*", left, term) for term in _split_sum(right))
        case _:
            yield from _split_sum(node)


def _split_sum(node: Expression) -> Iterator[Expression]:
    match node:
        case Binary("+", left, right):
            yield from _split_sum(left)
            yield from _split_sum(right)
        case Binary("-", left, right):
            yield from _split_sum(left)
            yield from (_negated_term(term) for term in _split_sum(right))
        case _:
            yield node


def _negated_term(term: Expression) -> Expression:
    return term.operand if isinstance(term, Negative) else Negative(term)


def _evaluate(term: Expression, lookup: Lookup) -> Fraction | None:
    value = formula.evaluate(term, lookup)
    return None if isinstance(value, Undefined) else value


def _best(measured: Measured) -> Lookup:
    """The best possible values of a formula's names. Only a ratio has one."""

    def find(leaf: Name | Call) -> Fraction | Undefined:
        metric = measured.policy.metrics.get(leaf.name) if isinstance(leaf, Name) else None
        if metric is None or metric.unit != "ratio":
            return Undefined("it has no best value")
        return Fraction(1 if metric.better == "higher" else 0)

    return find


def percentiles_of(column: str, metrics: Sequence[Metric]) -> tuple[str, ...]:
    """The metrics whose formula is only a percentile of this column over all scenarios."""
    found = []
    for metric in metrics:
        match metric.expression:
            case Call("percentile", (Name(name), Constant())) if name == column and not metric.where:
                found.append(metric.name)
    return tuple(found)
