"""Records of scenarios → the sums that metrics are computed from, as an engine computes them from rows.

The scenarios of a run are in a fixed order, so that two runs of the same scenarios can be compared one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct

from highbar.catalogue import is_repeated
from highbar.columns import recorded_column
from highbar.engine.quantities import is_mean_of_trials, pass_k_value
from highbar.model import Ends, Linear, Percentile, Policy, Ratio, Term, Weights, Where
from highbar.model.records import ONE, ScenarioRecord
from highbar.model.reduction import Group, Rank, RatioTotals, Total
from highbar.policy.directions import ends_by_column
from highbar.policy.sequential import is_chosen
from highbar.statistics.bounds import Ranks, Sums, clustered_ranks_of, effective_trials, nearest_rank, percentile_ranks
from highbar.statistics.composite import CrossSums
from highbar.statistics.ratio import ThirdSums
from highbar.statistics.trials import TrialNoise, own_noise

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")
_ZERO = Fraction(0)
_OF_EVERY_SCENARIO = ("error", "violated", "unjudged")


class Computed(dict[_K, _V]):
    """A mapping that computes a value when it is first looked up."""

    def __init__(self, make: Callable[[_K], _V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: _K) -> _V:
        self[key] = self._make(key)
        return self[key]

    def get(self, key: _K, _default: Any = None) -> Any:
        """The value of a key, which always exists."""
        return self[key]


class RecordSums(Struct, frozen=True, dict=True):  # with a dict, so that sums are computed once, on demand
    """Scenarios of one run, with the policy's weights; scenarios of one unit are not independent of each other."""

    records: Sequence[ScenarioRecord]
    units: Sequence[Hashable]
    weights: Weights
    alpha: float
    ends: Mapping[str, Ends] = {}  # by column, what a trial without a value counts as

    @cached_property
    def group(self) -> Group:
        """The sums in the form that an engine returns, each computed when it is looked up."""
        trials = sum(record.trials for record in self.records)
        return Group(None, len(self.records), trials, self.totals, self.ranks, self.ratios, self.crosses)

    @cached_property
    def totals(self) -> Mapping[Term, Total]:
        """The total of each term."""
        return Computed(self._total)

    @cached_property
    def ratios(self) -> Mapping[Ratio, RatioTotals]:
        """The sums for the bounds of each ratio."""
        return Computed(self._ratio)

    @cached_property
    def ranks(self) -> Mapping[Percentile, Rank]:
        """The rank of each percentile."""
        return Computed(self._rank)

    @cached_property
    def crosses(self) -> Mapping[tuple[Ratio, Ratio], CrossSums]:
        """The sums of products of each pair of ratios."""
        return Computed(self._cross)

    def parts(self, term: Term) -> list[Fraction | None]:
        """What each scenario adds to a term; None if it has no value, or if the term's `where` excludes it."""
        return self._parts[term]

    @cached_property
    def _parts(self) -> Mapping[Term, list[Fraction | None]]:
        return Computed(self._parts_of)

    def has(self, wanted: Term | Percentile) -> list[bool]:
        """Which scenarios have a value for a term or a percentile, and are selected by its `where`."""
        return self._has_data[isinstance(wanted, Term), wanted.column, wanted.where]

    @cached_property
    def _has_data(self) -> Mapping[tuple[bool, str, Where], list[bool]]:
        return Computed(self._has)

    def _has(self, wanted: tuple[bool, str, Where]) -> list[bool]:
        is_term, column, where = wanted
        if not is_term:
            return [one and bool(record.ranked(column)) for one, record in self._chosen(where)]
        return [one and _value(record, column) is not None for one, record in self._chosen(where)]

    def _chosen(self, where: Where) -> Iterable[tuple[bool, ScenarioRecord]]:
        """Every scenario, and whether `where` selects it."""
        return zip(self._selected[where], self.records, strict=True)

    @cached_property
    def _selected(self) -> Mapping[Where, list[bool]]:
        # A rule looks at its scenarios more than ten times, and a policy may have hundreds of rules.
        return Computed(lambda where: [is_selected(record, where) for record in self.records])

    def linear(self, linear: Linear) -> list[Fraction]:
        """What each scenario adds to a weighted sum of terms."""
        columns = [(self.parts(term), factor) for term, factor in linear]
        if len(columns) == 1 and columns[0][1] == 1:
            return [part or _ZERO for part in columns[0][0]]
        # Most parts are 0 or the object ONE: the slow exact product is computed only for the rest.
        return [
            sum((factor if part is ONE else factor * part for part, factor in row if part), _ZERO)
            for row in zip(*([(part, factor) for part in parts] for parts, factor in columns), strict=True)
        ]

    def by_unit(self, numbers: Sequence[Fraction]) -> dict[Hashable, Fraction]:
        """The sum of the scenarios' numbers in each unit."""
        found: dict[Hashable, Fraction] = {}
        for unit, number in zip(self.units, numbers, strict=True):
            found[unit] = found[unit] + number if unit in found else number
        return found

    def _parts_of(self, term: Term) -> list[Fraction | None]:
        column, where = term.column, term.where
        values = [_value(record, column) if one else None for one, record in self._chosen(where)]
        if not any(
            value is not None and column not in one.lone for value, one in zip(values, self.records, strict=True)
        ):
            values = [None] * len(values)  # errors and violations count only if a scenario has a real value
        if term.of == "count":
            values = [None if value is None else ONE for value in values]
        if not term.weighted:
            return values
        weights = (self.weights.of(record) for record in self.records)
        return [
            value if value is None or weight is ONE else value * weight
            for value, weight in zip(values, weights, strict=True)
        ]

    def _total(self, term: Term) -> Total:
        known = [value for value in self.parts(term) if value is not None]
        valueless = sum(
            part is not None and term.column in record.valueless
            for part, record in zip(self.parts(term), self.records, strict=True)
        )
        return Total(add_up(known), len(known), valueless=valueless, beyond=self._beyond(term, known))

    def _beyond(self, term: Term, values: Sequence[Fraction]) -> int:
        """How many scenarios have a value beyond the limit of the column."""
        ends = self.ends.get(recorded_column(term.column))
        if ends is None or ends.worst is None or term.of == "count":
            return 0
        return sum(value < ends.worst if ends.higher else value > ends.worst for value in values)

    def _sides(self, ratio: Ratio) -> tuple[list[Fraction], list[Fraction]]:
        return self.linear(ratio.z), self.linear(ratio.d)

    def _ratio(self, ratio: Ratio) -> RatioTotals:
        above, below = self._sides(ratio)
        z, d = self.by_unit(above), self.by_unit(below)
        # Doubles are enough for products: only bounds are computed from these, while values stay exact.
        pairs = list(zip(_doubles(z[unit] for unit in d), _doubles(d.values()), strict=True))
        weights = [self.weights.of(record) if any(t.weighted for t, _ in ratio.d) else ONE for record in self.records]
        heaviest = max(
            (
                max(part, float(weight)) / trials
                for part, weight, record in zip(_doubles(below), weights, self.records, strict=True)
                if part > 0 and (trials := record.trials // _trials_at_once(ratio)) > 0
            ),
            default=0.0,
        )
        worth = float(effective_trials(add_up(below), heaviest)) if heaviest else 0.0
        return RatioTotals(
            Sums(
                clusters=sum(1 for _, weight in pairs if weight > 0),
                d=add_up(below),
                z=add_up(above),
                zz=sum(score * score for score, _ in pairs),
                zd=sum(score * weight for score, weight in pairs),
                dd=sum(weight * weight for _, weight in pairs),
            ),
            max((weight for _, weight in pairs), default=0.0),
            worth,
            ThirdSums(
                sum(z * z * z for z, _ in pairs),
                sum(z * z * d for z, d in pairs),
                sum(z * d * d for z, d in pairs),
                sum(d * d * d for _, d in pairs),
            ),
            noise=self._noise(above, below, worth) if worth and is_mean_of_trials(ratio) else None,
        )

    def _noise(self, above: Sequence[Fraction], below: Sequence[Fraction], worth: float) -> TrialNoise | None:
        """What the repeated trials of scenarios show of their noise; None if none was repeated."""
        within = pair = 0.0
        for z, d, record in zip(_doubles(above), _doubles(below), self.records, strict=True):
            several = record.trials > 1
            within += z * (d - z) / (record.trials - 1) if several else d * d / 4
            pair = max(pair, d * d / (record.trials * (record.trials - 1)) if several else 0.0)
        weight = float(add_up(below))
        return own_noise(add_up(above) / add_up(below), worth, weight, within, pair) if pair else None

    def _cross(self, pair: tuple[Ratio, Ratio]) -> CrossSums:
        columns = [self.by_unit(side) for ratio in pair for side in self._sides(ratio)]
        z1, d1, z2, d2 = (_doubles(column.values()) for column in columns)
        return CrossSums(*(sum(map(float.__mul__, a, b)) for a, b in ((z1, z2), (z1, d2), (d1, z2), (d1, d2))))

    def ranked(self, wanted: Percentile) -> list[tuple[Fraction | None, Hashable]]:
        """The values of the ranked trials with their units, the smallest first.

        None (a trial that never completed) comes last, or first if higher values of the column are better.
        """
        return self._rankings[wanted.column, wanted.where]

    @cached_property
    def _rankings(self) -> Mapping[tuple[str, Where], list[tuple[Fraction | None, Hashable]]]:
        return Computed(self._ranked)

    def _ranked(self, wanted: tuple[str, Where]) -> list[tuple[Fraction | None, Hashable]]:
        column, where = wanted
        found = [
            (value, unit)
            for (one, record), unit in zip(self._chosen(where), self.units, strict=True)
            if one
            for value in record.ranked(column)
        ]
        never = float("-inf" if column in self.ends and self.ends[column].higher else "inf")
        # The values come from doubles, so that sorting them as doubles gives the same order, ten times as fast.
        return sorted(found, key=lambda one: never if one[0] is None else float(one[0]))

    def _rank(self, wanted: Percentile) -> Rank:
        ranked = self.ranked(wanted)
        values = [value for value, _ in ranked]
        there = [record for one, record in self._chosen(wanted.where) if one and record.ranked(wanted.column)]
        # An error ranks beyond every number, but in a run that records no numbers it must not create a percentile.
        if all(wanted.column in record.lone for record in there):
            return Rank(None, 0, 0, 0)
        resting = len(there)
        low, high = _ends([unit for _, unit in ranked], wanted.share, self.alpha)
        return Rank(
            value=values[nearest_rank(len(values), wanted.share) - 1],
            trials=len(values),
            errors=values.count(None),
            scenarios=resting,
            low=None if low is None else values[low - 1],
            high=None if high is None else values[high - 1],
            fewest=min(len(record.ranked(wanted.column)) for record in there),
            most=max(len(record.ranked(wanted.column)) for record in there),
        )


def sums_of(policy: Policy, records: Sequence[ScenarioRecord], units: Sequence[Hashable] | None = None) -> RecordSums:
    """The sums over some scenarios, by the weights and at the confidence of a policy.

    Without `units`, scenarios of one cluster are one unit.
    """
    if units is None:
        units = tuple(record.id if record.cluster is None else ("cluster", record.cluster) for record in records)
    return RecordSums(records, units, policy.weights, float(1 - policy.confidence), ends_by_column(policy))


def _ends(units: Sequence[Hashable], share: Fraction, alpha: float) -> Ranks:
    if len(set(units)) == len(units):
        return percentile_ranks(len(units), share, alpha)
    return clustered_ranks_of(units, share, alpha)


def is_selected(record: ScenarioRecord, where: Where) -> bool:
    """Whether `where` selects the scenario."""
    return not where or is_chosen(record.columns, where)


def add_up(numbers: Iterable[Fraction]) -> Fraction:
    """The exact sum. Adding the numerators of each denominator first is many times faster than adding fractions."""
    by_denominator: dict[int, int] = {}
    for number in numbers:
        above, below = number.as_integer_ratio()
        by_denominator[below] = by_denominator.get(below, 0) + above
    return sum((Fraction(above, below) for below, above in by_denominator.items()), _ZERO)


def _doubles(numbers: Iterable[Fraction]) -> list[float]:
    """The nearest double of each number, as float() returns it, but in a third of the time."""
    return [above / below for above, below in map(Fraction.as_integer_ratio, numbers)]


def _value(record: ScenarioRecord, column: str) -> Fraction | None:
    if column == "scenario":
        return ONE
    if column == "passed":
        return ONE if record.all_passed else Fraction(record.passed, record.trials) if record.passed else _ZERO
    if column in _OF_EVERY_SCENARIO:
        return record.values.get(column, _ZERO)
    if is_repeated(column):
        return pass_k_value(column, record.trials, record.passed)
    return record.values.get(column)


def _trials_at_once(ratio: Ratio) -> int:
    """The k of pass@k and pass^k, which use k trials at once: n trials then count as n // k. 1 for other ratios."""
    column = ratio.z[0][0].column
    return int(column.rpartition("_")[2]) if is_repeated(column) else 1
