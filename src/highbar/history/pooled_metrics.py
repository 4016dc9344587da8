"""Runs that are alike → their pooled metrics: exact for the pass rate, and from the runs' own bounds for all others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from highbar.history import History
from highbar.model import Where
from highbar.model.history import MetricInRun, RunRecord, ScenarioCounts
from highbar.statistics.pooled import pooled_end, pooled_share

PASSING = "pass_rate"
_ROUNDING = 1e-9


class PooledMetric(Struct, frozen=True):
    """A metric over several runs, and the thresholds that an unchanged agent seldom misses: with its value or bound."""

    value: float
    threshold: float
    confident: float
    of: MetricInRun  # in the last run
    exact: bool = False  # pooled scenario by scenario


class PooledCounts(Struct, frozen=True):
    """One scenario over several runs."""

    passed: int
    trials: int
    weight: float
    cluster: str | None


class PooledMetrics:
    """The pooled metrics of runs that are alike. `metric` returns the reason as text if a metric cannot be pooled."""

    def __init__(self, history: History, runs: Sequence[RunRecord], alpha: float) -> None:
        self.runs = runs
        self.alpha = alpha
        self.counts = pooled_counts(history, runs)

    def metric(self, name: str, where: Where = ()) -> PooledMetric | str:
        """A metric over all scenarios, or over those that a rule selects by `where`; or why it cannot be pooled."""
        found = [one for run in self.runs if (one := _in_run(run, name, where)) is not None]
        if len(found) < len(self.runs) or any(one.value is None for one in found):
            return f"not all of the runs have a value of {name}{' over these scenarios' if where else ''}"
        if len({(one.definition, one.unit, one.better) for one in found}) > 1:
            return f"{name} was computed in different ways in these runs"
        last = found[-1]
        if name == PASSING and not where and self._reproduces_rates(found):
            share = pooled_share(self._units(), self.alpha)
            if share is not None:
                return PooledMetric(*share, last, exact=True)
        return _from_ends(found, last)

    def _units(self) -> Iterable[tuple[Fraction, Fraction]]:
        """(passed share times weight, weight) of each scenario, or summed over each cluster of scenarios."""
        units: dict[object, tuple[Fraction, Fraction]] = {}
        for id_, one in (self.counts or {}).items():
            unit = id_ if one.cluster is None else ("cluster", one.cluster)
            z, d = units.get(unit, (Fraction(0), Fraction(0)))
            weight = Fraction(one.weight)
            units[unit] = z + weight * Fraction(one.passed, one.trials), d + weight
        return units.values()

    def _reproduces_rates(self, found: Sequence[MetricInRun]) -> bool:
        """Whether the counts reproduce the mean of the recorded rates: a policy's weights, or labels, change a rate."""
        if not self.counts or any(one.undecided for one in found):
            return False
        z, d = (sum(column) for column in zip(*self._units(), strict=True))
        mean = math.fsum(one.value or 0.0 for one in found) / len(found)
        return bool(d) and abs(float(z / d) - mean) <= _ROUNDING


def pooled_counts(history: History, runs: Sequence[RunRecord]) -> Mapping[str, PooledCounts] | None:
    """The trials of each scenario in all runs, by id; None if one of the records cannot be read."""
    found: dict[str, PooledCounts] = {}
    read: set[str] = set()
    for run, one in history.counts(runs):
        read.add(run.record)
        before = found.get(one.id)
        found[one.id] = _add_counts(before, one)
    return found if len(read) == len(runs) else None


def _add_counts(before: PooledCounts | None, one: ScenarioCounts) -> PooledCounts:
    passed, trials = (before.passed, before.trials) if before else (0, 0)
    return PooledCounts(passed + one.passed, trials + one.trials, one.weight, one.cluster)


def _in_run(run: RunRecord, name: str, where: Where) -> MetricInRun | None:
    whole = run.metrics.get(name)
    if not where or whole is None:
        return whole
    rule = next((one for one in run.rules if (one.metric, one.slice) == (name, where)), None)
    if rule is None:
        return None
    return MetricInRun(
        rule.value, rule.low, rule.high, whole.unit, whole.better, whole.scenarios, definition=whole.definition
    )


def _from_ends(found: Sequence[MetricInRun], last: MetricInRun) -> PooledMetric | str:
    ends = [(one.value, one.low if one.better == "higher" else one.high) for one in found]
    pairs = [(value, end) for value, end in ends if value is not None and end is not None]
    pooled = pooled_end(pairs)
    if pooled is None or len(pairs) < len(found) or not math.isfinite(pooled.threshold):
        return f"not all of the runs have {'a lower' if last.better == 'higher' else 'an upper'} bound"
    return PooledMetric(*pooled, last)
