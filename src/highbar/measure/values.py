"""A metric over a group: its formula, evaluated on the group's totals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property

from msgspec.structs import replace

from highbar import catalogue
from highbar.columns import recorded_column
from highbar.language import formula
from highbar.language.formula import Undefined
from highbar.measure import between, intervals, undefined, unjudged
from highbar.measure.doubts import Weighed, doubt_of_classes
from highbar.measure.needs import declared_range, difference, where_of
from highbar.measure.parts import Node, is_share, measures_of, of_metric, parts_without_worse_end
from highbar.model import (
    Better,
    Call,
    Doubt,
    Ends,
    Expression,
    Metric,
    Name,
    Percentile,
    Policy,
    Ratio,
    Rule,
    Term,
    Value,
    Where,
)
from highbar.model.number import Number
from highbar.model.reduction import Group, Rank, Total
from highbar.policy.directions import ImputedPart, ends_by_column
from highbar.statistics.bounds import Sums


class Measured:
    """The metrics of one group; each is computed once, on first use.

    If trials are undecided, `group` has them at their worst and `best` at their best. A value is then the worse of the
    two, its interval goes from the worse end at worst to the better end at best, and its `best` is the better value.
    `at_best` swaps the two groups. A formula that does not follow its parts may be worst or best somewhere in between:
    its value is then a bound (`between.py`), and its interval is unbounded.
    """

    def __init__(
        self,
        policy: Policy,
        group: Group,
        best: Group | None = None,
        *,
        is_best: bool = False,
        formulas_of: Measured | None = None,
        categories: tuple[str, ...] = (),
        earlier_noise: intervals.EarlierNoise | None = None,
        weighed: Weighed | None = None,
    ) -> None:
        self.policy = policy
        self.group, self.best, self.is_best = group, best, is_best
        self.weighed, self.earlier_noise = weighed, earlier_noise
        self.categories = categories  # all categories in the results, to explain why one has no scenario
        # A cache: rules and reports ask for the same values many times.
        self._values: dict[tuple[str, Where], Value] = {}
        self._own_values: dict[tuple[str, Where], Value] = {}
        self._formulas: dict[tuple[str, Where], Node] = {}
        self._imputed: dict[tuple[str, Where], tuple[ImputedPart, ...]] = {}
        if formulas_of is not None:  # the same caches, not copies: every slice has the same formulas
            self._formulas = formulas_of._formulas  # noqa: SLF001 - the same class
            self._imputed = formulas_of._imputed  # noqa: SLF001 - the same class
            self.weighed = formulas_of.weighed if is_best else None
            self.earlier_noise = formulas_of.earlier_noise if group.by is None else None  # not of a part

    def over(self, group: Group, best: Group | None = None) -> Measured:
        """The same metrics of another group, with the same cache of formulas."""
        return Measured(self.policy, group, best, formulas_of=self)

    def at_best(self) -> Measured | None:
        """The same metrics with undecided trials at their best; None if nothing is undecided."""
        if self.best is None:
            return None
        return Measured(self.policy, self.best, self.group, is_best=True, formulas_of=self, categories=self.categories)

    def value(self, name: str, where: Where = ()) -> Value:
        """The value of the metric `name` over the scenarios that `where` selects."""
        key = (name, where)
        if key not in self._values:
            metric = self.policy.metrics[name]
            own = self._own(name, where)
            self._values[key] = own if self.best is None else self._combine_ends(metric, where, own)
        return self._values[key]

    def _own(self, name: str, where: Where) -> Value:
        """The value in this group alone."""
        key = (name, where)
        if key not in self._own_values:
            self._own_values[key] = self._measure(self.policy.metrics[name], where)
        return self._own_values[key]

    def values(self) -> MetricValues:
        """All metrics of the policy. Raises InputError if one that the policy defines is outside of its range."""
        builtin = catalogue.metrics()
        for name, metric in self.policy.metrics.items():
            if metric is not builtin.get(name):
                self.value(name)
        return MetricValues(self)

    def sums(self, name: str, where: Where = ()) -> Sums | None:
        """The sums behind a metric that is one share; None for any other metric."""
        root = self._formula(self.policy.metrics[name], where)
        return self.group.ratios[root].sums if isinstance(root, Ratio) and is_share(root) else None

    def failing(self, name: str, where: Where = ()) -> int | None:
        """How many units behind a share are not perfect; None if the metric is no share, or they were not counted."""
        metric = self.policy.metrics[name]
        root = self._formula(metric, where)
        if not isinstance(root, Ratio) or not is_share(root):
            return None
        totals = self.group.ratios[root]
        return totals.imperfect if metric.better == "higher" else totals.nonzero

    def difference(self, left: Expression, right: Expression, better: Better = "higher") -> Value:
        """One expression minus another over all scenarios, with its interval."""
        metric = difference(left, right, better)
        own = self._measure(metric, ())
        return own if self.best is None else self._combine_ends(metric, (), own)

    def span(self, left: Expression, right: Expression) -> between.Span:
        """The range of one expression minus another, over all outcomes of undecided trials."""
        metric = difference(left, right)
        node = between.tree(self.policy, metric)
        ends = self._ends_of(node)
        undefined = any(value.value is None for value in (self._measure(metric, ()), self._other(metric, ())))
        return between.UNBOUNDED if ends is None or undefined else between.span(node, ends)

    def is_monotonic(self, name: str, where: Where = ()) -> bool:
        """Whether a metric is at its worst with undecided trials at their worst, and at its best at their best."""
        return self._between(self.policy.metrics[name], where) is None

    def is_unjudged(self, rule: Rule) -> bool:
        """Whether a rule has no value here only because trials were not judged."""
        return unjudged.is_unjudged(rule, self.policy, self.group, self.lookup)

    def lookup(self, where: Where = ()) -> formula.Lookup:
        """The values of a formula's names over the scenarios that `where` selects."""

        def find(leaf: Name | Call) -> Fraction | Undefined:
            if isinstance(leaf, Name) and leaf.name in self.policy.metrics:
                value = self._own(leaf.name, where)
                return Undefined(value.reason or "undefined") if value.value is None else value.value
            if isinstance(leaf, Name) and leaf.name in catalogue.SETTINGS:
                return self.policy.latency_limit
            wanted = catalogue.terms(leaf, where)
            return self._rank(wanted) if isinstance(wanted, Percentile) else self._total(wanted)

        return find

    def _other(self, metric: Metric, where: Where) -> Value:
        """The value in the other group alone."""
        return self._other_end._measure(metric, where)  # noqa: SLF001 - the same class

    @cached_property
    def _other_end(self) -> Measured:
        """The same metrics of the other group alone."""
        return Measured(self.policy, self.best or self.group, formulas_of=self, categories=self.categories)

    def _combine_ends(self, metric: Metric, where: Where, own: Value) -> Value:
        """The worse of the two values, or the better one if `is_best`, with an interval that covers both."""
        other = self._other(metric, where)
        worst, best = (other, own) if self.is_best else (own, other)
        span = None if worst.value is None or best.value is None else self._between(metric, where)
        if span is not None:
            worst, best = between.at_ends(worst, best, span)
        chosen, left = (best, worst) if self.is_best else (worst, best)
        # A threshold of 100 % asks what would be excluded at best, without the worst case in the interval.
        if self.is_best:
            chosen = replace(chosen, own_low=chosen.low, own_high=chosen.high)
        undecided = max(own.undecided, other.undecided)
        return replace(_spanning(chosen, left), undecided=undecided, best=best.value if undecided else None)

    def _between(self, metric: Metric, where: Where) -> between.Span | None:
        """The range of the metric; None if the metric follows its parts, so that the two groups give its ends."""
        if self.best is None or (between.is_plain(metric) and not self._parts_without_worse_end(metric, where)):
            return None
        node = between.tree(self.policy, metric, where)
        ends = self._ends_of(node)
        if ends is None or between.is_monotonic(node, ends, metric.better):
            return None
        return between.span(node, ends)

    def _ends_of(self, node: between.Node) -> between.Ends | None:
        """The value of every part at worst and at best; None if one is undefined."""
        worst, best = (self.best or self.group, self.group) if self.is_best else (self.group, self.best or self.group)
        found: dict[between.Leaf, tuple[Fraction, Fraction]] = {}
        for leaf in between.sums_in(node):
            if isinstance(leaf, Term):
                found[leaf] = worst.totals[leaf].value, best.totals[leaf].value
            else:
                at_worst, at_best = worst.ranks[leaf].value, best.ranks[leaf].value
                if at_worst is None or at_best is None:
                    return None
                found[leaf] = at_worst, at_best
        return found

    def _measure(self, metric: Metric, where: Where) -> Value:
        # Undefined, not computed: its parts would be over different scenarios, or a crash could improve it.
        uneven = self._uneven(metric, where) or self._no_worse_end(metric, where)
        lookup = self.lookup(catalogue.narrow(where, metric.where))
        result = Undefined(uneven) if uneven else formula.evaluate(metric.expression, lookup)
        scenarios, missing, undecided = self._support(metric, where)
        if isinstance(result, Undefined):
            return Value(None, scenarios, missing, metric.unit, metric.better, result.reason, undecided=undecided)
        ends = declared_range(metric)
        if ends and not ends[0] <= result <= ends[1]:
            raise undefined.outside_range(self.policy, metric, result, ends)
        low, high = self._bounds(metric, where, result)
        return Value(
            Number(result),
            scenarios,
            missing,
            metric.unit,
            metric.better,
            low=low,
            high=high,
            undecided=undecided,
            doubt=self._doubt(self._formula(metric, where), catalogue.narrow(where, metric.where)),
        )

    def _doubt(self, node: Node, where: Where) -> Doubt | None:
        found = self._intervals.doubt(node)
        return found if found or not self.weighed else doubt_of_classes(self.policy, node, self.weighed, where)

    @cached_property
    def _intervals(self) -> intervals.FormulaBounds:
        alpha, trial_noise = float(1 - self.policy.confidence), self.policy.population == "suite"
        noise = self.earlier_noise
        return intervals.FormulaBounds(self.group, alpha, trial_noise=trial_noise, ends=self._ends, earlier_noise=noise)

    @cached_property
    def _ends(self) -> Mapping[str, Ends]:
        return ends_by_column(self.policy)

    def _formula(self, metric: Metric, where: Where) -> Node:
        # All differences of two expressions have the same name, so a cache by name would mix them up.
        if self.policy.metrics.get(metric.name) is not metric:
            return of_metric(self.policy, metric, where)
        key = (metric.name, where)
        if key not in self._formulas:
            self._formulas[key] = of_metric(self.policy, metric, where)
        return self._formulas[key]

    def _bounds(self, metric: Metric, where: Where, value: Fraction) -> tuple[float | None, float | None]:
        try:
            low, high = self._intervals.of(self._formula(metric, where))
            shown = float(value)
        except OverflowError:
            return None, None  # the exact value is too large for a float
        # Cut the interval to values that the metric can have.
        if metric.range is not None:
            low, high = max(low, float(metric.range[0])), min(high, float(metric.range[1]))
        elif metric.unit == "ratio":
            low, high = max(low, 0.0), min(high, 1.0)
        elif metric.unit != "number":
            low = max(low, 0.0)  # times, money and tokens are never negative
        return _finite_end(min(low, shown)), _finite_end(max(high, shown))

    def _uneven(self, metric: Metric, where: Where) -> str | None:
        """Why a formula is undefined: it sums a column that some of the scenarios in its other parts do not have."""
        # Otherwise a run that lost the cost of a scenario would look cheaper.
        narrowed = catalogue.narrow(where, metric.where)
        resting: dict[str, int] = {}
        for leaf in formula.leaves(metric.expression):
            known = isinstance(leaf, Name) and (leaf.name in self.policy.metrics or leaf.name in catalogue.SETTINGS)
            if known or (isinstance(leaf, Call) and leaf.function != "sum"):
                continue
            wanted = catalogue.terms(leaf, narrowed)
            if not isinstance(wanted, Percentile):
                resting[wanted[0].column] = self.group.totals[wanted[0]].scenarios
            if isinstance(leaf, Call) and not isinstance(wanted, Percentile):
                there = self.group.totals[Term("scenario", where=where_of(wanted))].scenarios
                resting["scenario"] = max(resting.get("scenario", 0), there)
        return undefined.why_uneven(resting) if len({*resting.values()}) > 1 else None

    def _no_worse_end(self, metric: Metric, where: Where) -> str | None:
        """Why a formula is undefined: a trial crashed, and the worse end of its column may improve the formula."""
        for part in self._parts_without_worse_end(metric, where):
            wanted = catalogue.terms(part.leaf, part.where)
            if isinstance(wanted, Percentile):
                crashed = self.group.ranks[wanted].errors > 0
            else:
                crashed = bool(self.group.totals[wanted[0]].valueless and self._errors(part.where))
            if crashed:
                return undefined.no_worse_end(part)
        return None

    def _parts_without_worse_end(self, metric: Metric, where: Where) -> tuple[ImputedPart, ...]:
        if self.policy.metrics.get(metric.name) is not metric:
            return parts_without_worse_end(self.policy, metric, where)
        key = (metric.name, where)
        if key not in self._imputed:
            self._imputed[key] = parts_without_worse_end(self.policy, metric, where)
        return self._imputed[key]

    def _errors(self, where: Where) -> bool:
        # Fail closed: if errors were not summed, assume that there was one.
        total = self.group.totals.get(Term("error", where=where))
        return total is None or total.value > 0

    def _support(self, metric: Metric, where: Where) -> tuple[int, int, int]:
        """The fewest scenarios that a part has, the most that one is missing, and the most undecided trials of one."""
        resting: list[int] = []
        lacking: list[int] = []
        undecided: list[int] = []
        for leaf, narrowed in measures_of(self.policy, metric, where):
            wanted = catalogue.terms(leaf, narrowed)
            there = self.group.totals[Term("scenario", where=where_of(wanted))].scenarios
            found: Rank | Total = (
                self.group.ranks[wanted] if isinstance(wanted, Percentile) else self.group.totals[wanted[0]]
            )
            resting.append(found.scenarios)
            lacking.append(there - found.scenarios)
            undecided.append(found.undecided)
        return min(resting, default=0), max(lacking, default=0), max(undecided, default=0)

    def _total(self, terms: tuple[Term, ...]) -> Fraction | Undefined:
        first = self.group.totals[terms[0]]
        there = self.group.totals[Term("scenario", where=terms[0].where)].scenarios
        column = terms[0].column
        if not there:
            return Undefined(undefined.nothing_there(terms[0].where, self.categories))
        if column.startswith(("pass_at_", "pass_hat_")) and first.scenarios < there:
            fewest = column.rpartition("_")[2]
            return Undefined(f"{there - first.scenarios} of {there} scenarios have fewer than {fewest} trials")
        if not first.scenarios:
            return Undefined(undefined.no_scenario_has(column))
        if first.valueless and terms[0].of == "sum":
            reason = self._valueless(column, first)
            if reason:
                return Undefined(reason)
        if len(terms) == 1:
            return first.value
        return first.value / self.group.totals[terms[1]].value

    def _valueless(self, column: str, total: Total) -> str | None:
        """Why a sum with trials without a value is undefined; None if the policy says what such a trial counts as."""
        column = recorded_column(column)
        return undefined.without_values(column, total.valueless, total.beyond, self._ends.get(column))

    def _rank(self, wanted: Percentile) -> Fraction | Undefined:
        rank = self.group.ranks[wanted]
        if rank.value is not None:
            return rank.value
        if not self.group.totals[Term("scenario", where=wanted.where)].scenarios:
            return Undefined(undefined.nothing_there(wanted.where, self.categories))
        if not rank.trials:
            return Undefined(undefined.no_scenario_has(wanted.column))
        undecided = self.best.ranks[wanted].undecided if self.best and wanted in self.best.ranks else rank.undecided
        return Undefined(undefined.no_value_at(wanted, rank, undecided))


class MetricValues(Mapping[str, Value]):
    """The metrics of one group by name, each computed on lookup, because few reports show all metrics of a slice."""

    def __init__(self, measured: Measured) -> None:
        self._measured = measured

    def __getitem__(self, name: str) -> Value:
        if name not in self._measured.policy.metrics:
            raise KeyError(name)
        return self._measured.value(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._measured.policy.metrics)

    def __len__(self) -> int:
        return len(self._measured.policy.metrics)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[type, tuple[dict[str, Value]]]:
        return dict, (dict(self),)  # a copy or a pickle contains the values, not the sums behind them


def _spanning(value: Value, other: Value) -> Value:
    """A value with an interval that covers its own and that of `other`; unbounded or doubtful if either is."""
    if value.value is None:
        return value
    low = None if value.low is None or other.low is None else min(value.low, other.low)
    high = None if value.high is None or other.high is None else max(value.high, other.high)
    return replace(value, low=low, high=high, doubt=value.doubt or other.doubt)


def _finite_end(end: float) -> float | None:
    return intervals.rounded_end(end) if math.isfinite(end) else None
