"""A metric over a group: its formula, evaluated on the group's totals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from highbar import catalogue, formula
from highbar.formula import Undefined
from highbar.measure import intervals
from highbar.measure.parts import Formula, Part, is_share, of_metric
from highbar.measure.parts import ratios as ratios_of
from highbar.model import (
    Binary,
    Call,
    Comparison,
    Condition,
    ConditionRule,
    Expression,
    Metric,
    Name,
    Percentile,
    Policy,
    Ratio,
    Term,
    Value,
    Where,
)
from highbar.statistics.bounds import Sums
from highbar.statistics.composite import CrossSums
from highbar.statistics.interval import Interval

LACKS = {
    "correct": "no scenario has `correct`, `expected` or `outcome`",
    "tp": "no scenario has `outcome`, or `expected` with a positive label (`positive` in the policy)",
    "behavior_score": "no scenario has `expected_behaviors`",
    "observed": "no scenario has `expected_behaviors`",
    "quality_both": "no scenario has both `quality_score` and `tokens_used`",
    "latency_ms": "no scenario has `latency_ms`",
}
LACKS |= {"fp": LACKS["tp"], "fn": LACKS["tp"], "expected": LACKS["observed"], "tokens_both": LACKS["quality_both"]}


class Total(Protocol):
    """A sum, and the number of scenarios that have a value."""

    @property
    def value(self) -> Fraction:
        """The sum."""

    @property
    def scenarios(self) -> int:
        """How many scenarios have a value."""


class Rank(intervals.Rank, Protocol):
    """The value at a percentile's rank, and what it rests on."""

    @property
    def trials(self) -> int:
        """How many trials are ranked."""

    @property
    def errors(self) -> int:
        """How many of them never completed."""

    @property
    def scenarios(self) -> int:
        """How many scenarios they are of."""


class Group(Protocol):
    """The sums of some scenarios."""

    @property
    def totals(self) -> Mapping[Term, Total]:
        """Of each term."""

    @property
    def ranks(self) -> Mapping[Percentile, Rank]:
        """Of each percentile."""

    @property
    def ratios(self) -> Mapping[Ratio, intervals.RatioTotals]:
        """Of each ratio."""

    @property
    def crosses(self) -> Mapping[tuple[Ratio, Ratio], CrossSums]:
        """Of each pair of ratios that some formula combines."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What the engine must sum for the metrics of a policy."""

    terms: tuple[Term, ...]
    percentiles: tuple[Percentile, ...]
    ratios: tuple[Ratio, ...]
    crosses: tuple[tuple[Ratio, Ratio], ...]


def needs(policy: Policy, wheres: Iterable[tuple[str, Where]] = ()) -> Needs:
    """What every metric of the policy needs, and those that `wheres` name over some scenarios."""
    found: dict[Term | Percentile, None] = {}
    ratios: dict[Ratio, None] = {}
    crosses: dict[tuple[Ratio, Ratio], None] = {}
    instances = [*((name, ()) for name in policy.metrics), *wheres]
    for name, where in instances:
        for leaf, narrowed in _leaves(policy, policy.metrics[name], where):
            wanted = catalogue.terms(leaf, narrowed)
            found.update(dict.fromkeys(wanted if isinstance(wanted, tuple) else (wanted,)))
            found[Term("scenario", where=_where(wanted))] = None
    formulas = [of_metric(policy, policy.metrics[name], where) for name, where in instances]
    formulas += [of_metric(policy, difference(*sides)) for sides in _compared(policy)]
    for tree in formulas:
        ratios.update(dict.fromkeys(ratios_of(tree.root)))
        parts = [part for part in tree.parts() if isinstance(part, Ratio)]
        crosses.update(dict.fromkeys((a, b) for i, a in enumerate(parts) for b in parts[i + 1 :]))
    terms = tuple(term for term in found if isinstance(term, Term))
    percentiles = tuple(wanted for wanted in found if isinstance(wanted, Percentile))
    return Needs(terms, percentiles, tuple(ratios), tuple(crosses))


def difference(left: Expression, right: Expression) -> Metric:
    """One expression less another, as a metric without a name of its own."""
    return Metric("difference", "", Binary("-", left, right), "number", "higher")


def _compared(policy: Policy) -> Iterator[tuple[Expression, Expression]]:
    """What the policy's conditions compare with each other."""
    waiting: list[Condition] = [rule.condition for rule in policy.rules if isinstance(rule, ConditionRule)]
    while waiting:
        condition = waiting.pop()
        if isinstance(condition, Comparison):
            yield condition.left, condition.right
        else:
            waiting.extend(condition.operands)


def _where(wanted: tuple[Term, ...] | Percentile) -> Where:
    return wanted.where if isinstance(wanted, Percentile) else wanted[0].where


def _leaves(policy: Policy, metric: Metric, where: Where) -> Iterator[tuple[Name | Call, Where]]:
    """The measures that a metric comes down to, each with the scenarios that it is over."""
    narrowed = catalogue.narrow(where, metric.where)
    for leaf in formula.leaves(metric.expression):
        inner = policy.metrics.get(leaf.name) if isinstance(leaf, Name) else None
        if inner is not None:
            yield from _leaves(policy, inner, narrowed)
        elif not (isinstance(leaf, Name) and leaf.name in catalogue.SETTINGS):
            yield leaf, narrowed


@dataclass(frozen=True, slots=True)
class Measured:
    """The metrics of one group; each is computed once, when it is asked for."""

    policy: Policy
    group: Group
    _known: dict[tuple[str, Where], Value] = field(default_factory=dict)
    _bounded: dict[Part, Interval] = field(default_factory=dict)
    _formulas: dict[tuple[str, Where], Formula] = field(default_factory=dict)

    def over(self, group: Group) -> Measured:
        """The same metrics of another group; their formulas are taken apart once for all of them."""
        return Measured(self.policy, group, _formulas=self._formulas)

    def value(self, name: str, where: Where = ()) -> Value:
        """The value of the metric `name` over the scenarios that `where` lets through."""
        key = (name, where)
        if key not in self._known:
            self._known[key] = self._measure(self.policy.metrics[name], where)
        return self._known[key]

    def values(self) -> dict[str, Value]:
        """All metrics of the policy."""
        return {name: self.value(name) for name in self.policy.metrics}

    def sums(self, name: str, where: Where = ()) -> Sums | None:
        """The sums behind a metric that is one share; None for any other metric."""
        root = self._formula(self.policy.metrics[name], where).root
        return self.group.ratios[root].sums if isinstance(root, Ratio) and is_share(root) else None

    def difference(self, left: Expression, right: Expression) -> Value:
        """One expression less another over all scenarios, with its interval."""
        return self._measure(difference(left, right), ())

    def lookup(self, where: Where = ()) -> formula.Lookup:
        """What a formula's names are worth over the scenarios that `where` lets through."""

        def find(leaf: Name | Call) -> Fraction | Undefined:
            if isinstance(leaf, Name) and leaf.name in self.policy.metrics:
                value = self.value(leaf.name, where)
                return Undefined(value.reason or "undefined") if value.value is None else value.value
            if isinstance(leaf, Name) and leaf.name in catalogue.SETTINGS:
                return self.policy.latency_limit
            wanted = catalogue.terms(leaf, where)
            return self._rank(wanted) if isinstance(wanted, Percentile) else self._total(wanted)

        return find

    def _measure(self, metric: Metric, where: Where) -> Value:
        result = formula.evaluate(metric.expression, self.lookup(catalogue.narrow(where, metric.where)))
        scenarios, missing = self._support(metric, where)
        if isinstance(result, Undefined):
            return Value(None, scenarios, missing, metric.unit, metric.better, reason=result.reason)
        low, high = self._bounds(metric, where, result)
        return Value(result, scenarios, missing, metric.unit, metric.better, low=low, high=high)

    def _formula(self, metric: Metric, where: Where) -> Formula:
        if self.policy.metrics.get(metric.name) is not metric:
            return of_metric(self.policy, metric, where)
        key = (metric.name, where)
        if key not in self._formulas:
            self._formulas[key] = of_metric(self.policy, metric, where)
        return self._formulas[key]

    def _bounds(self, metric: Metric, where: Where, value: Fraction) -> tuple[float | None, float | None]:
        alpha = float(1 - self.policy.confidence)
        bounds = intervals.Bounds(self.group, alpha, self.policy.population == "suite", self._bounded)
        try:
            low, high = bounds.of(self._formula(metric, where))
            shown = float(value)
        except OverflowError:
            return None, None  # beyond every float: exact, but not to be bounded
        if metric.unit == "ratio":
            low, high = max(low, 0.0), min(high, 1.0)
        elif metric.unit != "number":
            low = max(low, 0.0)  # neither times nor money nor tokens are negative
        return _shown(min(low, shown)), _shown(max(high, shown))

    def _support(self, metric: Metric, where: Where) -> tuple[int, int]:
        """How many scenarios all parts of the metric rest on, and how many the worst off of them lacks."""
        resting: list[int] = []
        lacking: list[int] = []
        for leaf, narrowed in _leaves(self.policy, metric, where):
            wanted = catalogue.terms(leaf, narrowed)
            there = self.group.totals[Term("scenario", where=_where(wanted))].scenarios
            has = (
                self.group.ranks[wanted].scenarios
                if isinstance(wanted, Percentile)
                else self.group.totals[wanted[0]].scenarios
            )
            resting.append(has)
            lacking.append(there - has)
        return min(resting, default=0), max(lacking, default=0)

    def _total(self, terms: tuple[Term, ...]) -> Fraction | Undefined:
        first = self.group.totals[terms[0]]
        there = self.group.totals[Term("scenario", where=terms[0].where)].scenarios
        column = terms[0].column
        if not there:
            return Undefined(_nothing_there(terms[0].where))
        if column.startswith(("pass_at_", "pass_hat_")) and first.scenarios < there:
            fewest = column.rpartition("_")[2]
            return Undefined(f"{there - first.scenarios} of {there} scenarios have fewer than {fewest} trials")
        if not first.scenarios:
            return Undefined(LACKS.get(column, f"no scenario has `{column.removeprefix('extra:')}`"))
        if len(terms) == 1:
            return first.value
        return first.value / self.group.totals[terms[1]].value

    def _rank(self, wanted: Percentile) -> Fraction | Undefined:
        rank = self.group.ranks[wanted]
        if rank.value is not None:
            return rank.value
        if not self.group.totals[Term("scenario", where=wanted.where)].scenarios:
            return Undefined(_nothing_there(wanted.where))
        if not rank.trials:
            return Undefined(LACKS.get(wanted.column, f"no scenario has `{wanted.column.removeprefix('extra:')}`"))
        return Undefined(f"{rank.errors} of {rank.trials} trials never completed, and one of them stands at that rank")


def _shown(end: float) -> float | None:
    """An end of an interval to twelve digits, which is what sums taken in any order agree on; None where unbounded."""
    return float(f"{end:.12g}") if math.isfinite(end) else None


def _nothing_there(where: Where) -> str:
    if not where:
        return "there are no scenarios"
    return "no scenario with " + " and ".join(f"{column} {' or '.join(values) or '(none)'}" for column, values in where)
