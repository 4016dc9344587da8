"""Scenarios → the sums of the whole and of each slice: totals, ranks, and the products that bounds are made from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from highbar.catalogue import is_repeated
from highbar.columns import SHARES, sum_scale
from highbar.core.score.limits import MOST_SLICES
from highbar.core.score.measures import World
from highbar.core.score.ranks import RankReader
from highbar.core.score.scenario import MeasurePart, pass_k
from highbar.core.score.settled import ScenarioKind, Settled
from highbar.model import Linear, Percentile, Ratio, Term
from highbar.model.reduction import Group, RatioTotals, Total
from highbar.statistics.bounds import Sums, effective_trials
from highbar.statistics.composite import CrossSums
from highbar.statistics.ratio import ThirdSums
from highbar.statistics.trials import TrialNoise, own_noise

_NOTHING = Total(Fraction(0), 0)
_NO_RATIO = RatioTotals(Sums(0, 0, 0, 0, 0, 0), 0.0, 0.0)
_NO_CROSS = CrossSums(0.0, 0.0, 0.0, 0.0)
Sides = tuple[list[float], list[float]]


class GroupSums:
    """The sums of a run in one world: undecided trials at their worst, or at their best."""

    def __init__(self, settled: Settled, world: World) -> None:
        self.settled, self.world = settled, world
        self.ranks = RankReader(settled, world)

    def whole(self) -> Group:
        """The sums over all scenarios."""
        return self._group(None, range(len(self.settled.ids)), self.settled.counts)

    def slices(self) -> tuple[tuple[Group, ...], tuple[str, ...]]:
        """The sums over each value of each slice, in order; and warnings about the slices."""
        settled, found, warnings = self.settled, [], []
        for column in settled.request.slices:
            by = self._places_by(column)
            if not by:
                warnings.append(f"no result has a value for the slice {column}")
            shown = sorted(by)
            if len(by) > MOST_SLICES:
                warnings.append(f"the slice {column} has more than {MOST_SLICES} values; only the largest are shown")
                shown = sorted(sorted(by, key=lambda value: (-len(by[value]), value))[:MOST_SLICES])
            for value in shown:
                places = by[value]
                found.append(self._group((column, value), places, Counter([settled.key[place] for place in places])))
        return tuple(found), tuple(warnings)

    def _places_by(self, column: str) -> dict[str, list[int]]:
        """The scenarios that have each value of a column."""
        settled, at = self.settled, self.settled.columns.index(column)
        values = [one.values[at] for one in settled.descriptions]
        found: dict[str, list[int]] = {value: [] for value in values if value is not None}
        nowhere: list[int] = []
        add = [(nowhere if value is None else found[value]).append for value in values]
        for place, description in enumerate(settled.description):
            add[description](place)
        return {value: places for value, places in found.items() if places}

    def _group(self, by: tuple[str, str] | None, places: Sequence[int], counts: Mapping[int, int]) -> Group:
        request, keys = self.settled.request, self.settled.keys
        totals = _Totals(self.settled, self.world, places, counts)
        found = {term: totals.total(term) for term in request.terms}
        return Group(
            by=by,
            scenarios=len(places),
            trials=sum(len(keys[key].scenario.trials) * count for key, count in counts.items()),
            totals=found,
            ranks=self.ranks.ranks(places, request.percentiles, totals.ranked),
            ratios={ratio: totals.ratio(ratio, found) for ratio in request.ratios},
            crosses={pair: totals.cross(*pair) for pair in request.crosses},
        )


class _Totals:
    """The sums of one group."""

    def __init__(self, settled: Settled, world: World, places: Sequence[int], counts: Mapping[int, int]) -> None:
        self.settled, self.world, self.places, self.counts = settled, world, places, counts
        self.request = settled.request
        self._numbers: dict[str, Counter[int]] = {}
        self._sides: dict[Ratio, tuple[Sequence[int], Sides]] = {}

    # --- exact sums --------------------------------------------------------------------------

    def total(self, term: Term) -> Total:
        """The exact sum of a term, over the scenarios that have its measure."""
        chosen = [key for key in self.counts if not term.where or term.where in self.settled.keys[key].wheres]
        if is_repeated(term.column):
            return self._total_of_tries(term, chosen)
        if term.column == "scenario":
            return self._add_up(term, chosen)
        if not self.any_given(term.column, chosen):
            return _NOTHING
        return self._add_up(term, [key for key in chosen if self._part(key, term.column).trials])

    def any_given(self, column: str, keys: Iterable[int]) -> bool:
        """Whether some scenario has the measure by more than errors, violations and open trials."""
        return any((part := self._part(key, column)).trials and not part.lone for key in keys)

    def _part(self, key: int, column: str) -> MeasurePart:
        return self.settled.keys[key].scenario.parts[column]

    def _add_up(self, term: Term, keys: Sequence[int]) -> Total:
        column, counted = term.column, term.of == "count" or term.column == "scenario"
        whole: dict[int, int] = {}  # by denominator: whole numbers are added before anything is divided
        value = Fraction(0)
        undecided = scenarios = valueless = 0
        numbers = None if column == "scenario" else self._sums_of_numbers(column)
        scale = sum_scale(column) if column != "scenario" else 1
        for at in keys:
            key, count = self.settled.keys[at], self.counts[at]
            scenarios += count
            weight = key.weight if term.weighted else 1
            amount: Fraction | int
            part = None if column == "scenario" else key.scenario.parts[column]
            if part is not None:
                undecided += count * part.undecided
                valueless += count * part.valueless
            if counted or part is None:
                amount, denominator = count, 1
            else:
                amount, denominator = count * part.end(self.world), part.trials * scale
                if numbers is not None:
                    amount += numbers[at]
            if weight != 1 or amount.__class__ is Fraction:
                value += Fraction(amount) / denominator * weight
            else:
                whole[denominator] = whole.get(denominator, 0) + int(amount)
        value += sum((Fraction(amount, denominator) for denominator, amount in whole.items()), Fraction(0))
        beyond = 0
        if column in self.settled.measures and numbers is not None:
            beyond = sum(self._count_beyond(column)[at] for at in keys)
        has_ends = column in self.settled.measures and self.settled.measures[column].valueless is not None
        return Total(
            value,
            scenarios,
            undecided if self.world == "best" else 0,
            valueless if has_ends else 0,
            beyond if has_ends else 0,
        )

    def _sums_of_numbers(self, column: str) -> Counter[int] | None:
        """By key: the sum of the numbers of a column, over the group's scenarios."""
        if self.settled.measures[column].numbers is None:
            return None
        if column not in self._numbers:
            amounts, key = self.settled.amounts(column), self.settled.key
            found: Counter[int] = Counter()
            for place in self.places:
                found[key[place]] += amounts[place]
            self._numbers[column] = found
        return self._numbers[column]

    def _count_beyond(self, column: str) -> Counter[int]:
        beyond, key = self.settled.beyond(column), self.settled.key
        return Counter(key[place] for place in self.places if beyond[place])

    def _total_of_tries(self, term: Term, keys: Sequence[int]) -> Total:
        """The sum of pass@k or pass^k; a scenario of fewer than k trials has none."""
        value, scenarios, undecided = Fraction(0), 0, 0
        for at in keys:
            scenario, count = self.settled.keys[at].scenario, self.counts[at]
            undecided += count * scenario.parts["passed"].undecided
            share = pass_k(term.column, len(scenario.trials), scenario.passed_in(self.world))
            if share is not None:
                scenarios += count
                value += share * count
        undecided = undecided if self.world == "best" else 0
        return Total(value if term.of == "sum" else Fraction(scenarios), scenarios, undecided)

    def ranked(self, percentile: Percentile) -> tuple[int, int, int, int] | None:
        """Of a percentile's column: undecided trials, errors, and the fewest and most trials of a scenario with it."""
        column, where = percentile.column, percentile.where
        chosen = [at for at in self.counts if not where or where in self.settled.keys[at].wheres]
        if not self.any_given(column, chosen):
            return None
        having = [at for at in chosen if self._part(at, column).trials]
        undecided = sum(self.counts[at] * self._part(at, column).undecided for at in chosen)
        trials = [self._part(at, column).trials for at in having]
        errors = sum(self.counts[at] * self.settled.keys[at].scenario.errors for at in chosen)
        return undecided if self.world == "best" else 0, errors, min(trials), max(trials)

    # --- sums of products --------------------------------------------------------------------

    def ratio(self, ratio: Ratio, totals: Mapping[Term, Total]) -> RatioTotals:
        """The sums over units: scenarios, or clusters of them."""
        z = sum((factor * totals[term].value for term, factor in ratio.z), Fraction(0))
        d = sum((factor * totals[term].value for term, factor in ratio.d), Fraction(0))
        if not self._is_measured(ratio):
            return _NO_RATIO
        counts, (zs, ds) = self._units(ratio)
        triples = list(zip(counts, zs, ds, strict=True))
        trials, noise = self._trial_noise(ratio, z, d) if self.request.trial_noise else (0.0, None)
        thirds = None
        if ratio in self.request.thirds:
            thirds = ThirdSums(
                math.fsum([n * a**3 for n, a, _ in triples]),
                math.fsum([n * a * a * b for n, a, b in triples]),
                math.fsum([n * a * b * b for n, a, b in triples]),
                math.fsum([n * b**3 for n, _, b in triples]),
            )
        failures = self.request.count_failures
        return RatioTotals(
            Sums(
                sum([n for n, _, b in triples if b > 0]),
                d,
                z,
                math.fsum([n * a * a for n, a, _ in triples]),
                math.fsum([n * a * b for n, a, b in triples]),
                math.fsum([n * b * b for n, _, b in triples]),
            ),
            max(ds, default=0.0),
            trials,
            thirds,
            sum([n for n, a, b in triples if a < b]) if failures else None,
            sum([n for n, a, _ in triples if a > 0]) if failures else None,
            noise,
        )

    def cross(self, first: Ratio, second: Ratio) -> CrossSums:
        """The sums of products across two ratios."""
        if not (self._is_measured(first) and self._is_measured(second)):
            return _NO_CROSS
        counts, (za, da) = self._units(first, single=self._needs_scenarios(second))
        _, (zb, db) = self._units(second, single=self._needs_scenarios(first))

        def added(left: Sequence[float], right: Sequence[float]) -> float:
            return math.fsum([n * a * b for n, a, b in zip(counts, left, right, strict=True)])

        return CrossSums(added(za, zb), added(za, db), added(da, zb), added(da, db))

    def _is_measured(self, ratio: Ratio) -> bool:
        """Whether every measure of a ratio is given to some scenario of the run."""
        return all(
            term.column not in self.settled.measures or self.settled.is_given(term.column)
            for term, _ in (*ratio.z, *ratio.d)
        )

    def _units(self, ratio: Ratio, *, single: bool = False) -> tuple[Sequence[int], Sides]:
        """Both sides of a ratio in each unit, and how many units are alike."""
        if self.settled.clustered:
            return self._by_cluster(ratio)
        if single or self._needs_scenarios(ratio):
            ones = [1] * len(self.places)
            return ones, (self._side_of_scenarios(ratio.z), self._side_of_scenarios(ratio.d))
        keys = list(self.counts)
        sides = [[self._side_of_key(side, self.settled.keys[at]) for at in keys] for side in (ratio.z, ratio.d)]
        return [self.counts[at] for at in keys], (sides[0], sides[1])

    def _by_cluster(self, ratio: Ratio) -> tuple[Sequence[int], Sides]:
        names = self._cluster_names()
        sides: list[list[float]] = []
        for side in (ratio.z, ratio.d):
            found: dict[tuple[str, bool], list[float]] = {}
            for name, value in zip(names, self._side_of_scenarios(side), strict=True):
                found.setdefault(name, []).append(value)
            sides.append([math.fsum(values) for values in found.values()])
        return [1] * len(sides[0]), (sides[0], sides[1])

    def _cluster_names(self) -> list[tuple[str, bool]]:
        """The cluster of each scenario; one without a cluster is one of its own."""
        return [self.settled.unit(place) for place in self.places]

    def _needs_scenarios(self, ratio: Ratio) -> bool:
        """Whether scenarios of one key may differ in the ratio."""
        return any(
            term.column in self.settled.measures and self.settled.measures[term.column].numbers is not None
            for term, _ in (*ratio.z, *ratio.d)
        )

    def _side_of_scenarios(self, side: Linear) -> list[float]:
        key, of_key = self.settled.key, {at: self._parts_of_side(side, self.settled.keys[at]) for at in self.counts}
        found = []
        for place in self.places:
            fixed, terms = of_key[key[place]]
            found.append(fixed + sum([share(place) for share in terms]) if terms else fixed)
        return found

    def _side_of_key(self, side: Linear, key: ScenarioKind) -> float:
        return self._parts_of_side(side, key)[0]

    def _parts_of_side(self, side: Linear, key: ScenarioKind) -> tuple[float, list[Callable[[int], float]]]:
        """What a scenario adds to one side: what all of the key do, and functions for what depends on its numbers."""
        fixed, terms = 0.0, []
        for term, factor in side:
            if term.where and term.where not in key.wheres:
                continue
            weight = float(key.weight) if term.weighted else 1.0
            if term.column == "scenario":
                fixed += float(factor) * weight
                continue
            if is_repeated(term.column):
                share = pass_k(term.column, len(key.scenario.trials), key.scenario.passed_in(self.world))
                adds = share is not None if term.of == "count" else share or 0
                fixed += float(factor) * float(adds) * weight
                continue
            part = key.scenario.parts[term.column]
            if not part.trials:
                continue
            if term.of == "count":
                fixed += float(factor) * weight
            elif self.settled.measures[term.column].numbers is None:
                fixed += float(factor) * (float(part.end(self.world)) / part.trials) * weight
            else:
                terms.append(self._number_of(term, float(factor) * weight, part.end(self.world), part.trials))
        return fixed, terms

    def _number_of(self, term: Term, factor: float, fixed: Fraction | int, trials: int) -> Callable[[int], float]:
        amounts, divisor = self.settled.amounts(term.column), float(trials * sum_scale(term.column))
        return lambda place: factor * (float(fixed + amounts[place]) / divisor)

    def _trial_noise(self, ratio: Ratio, z: Fraction, d: Fraction) -> tuple[float, TrialNoise | None]:
        """If only trials vary: their effective number, and what repeated trials show of a mean of them."""
        heaviest, pair, within = 0.0, 0.0, []
        weighted = any(term.weighted for term, _ in ratio.d)
        sides = self._side_of_scenarios(ratio.z), self._side_of_scenarios(ratio.d)
        for place, above, below in zip(self.places, *sides, strict=True):
            n = self._trials_of(ratio, self.settled.keys[self.settled.key[place]])
            if below <= 0 or not n:
                continue
            # If the lower sum is random (precision), a trial can add its whole weight, whatever the mean is.
            weight = float(self.settled.keys[self.settled.key[place]].weight) if weighted else 1.0
            heaviest = max(heaviest, max(below, weight) / n)
            # A scenario with one trial does not show its variance: the largest counts.
            within.append(above * (below - above) / (n - 1) if n > 1 else below * below / 4)
            pair = max(pair, below * below / (n * (n - 1))) if n > 1 else pair
        trials = float(effective_trials(d, Fraction(heaviest))) if heaviest else 0.0
        if not (self.settled.repeated and is_mean_of_trials(ratio) and pair and d):
            return trials, None
        return trials, own_noise(z / d, trials, float(d), math.fsum(within), pair)

    def _trials_of(self, ratio: Ratio, key: ScenarioKind) -> int:
        """The number of a scenario's trials that a ratio rests on.

        For pass@k and pass^k this is how many groups of k trials there are that share no trial: the mean over all
        groups varies no more than the mean over these (Hoeffding 1963), and up to k times as much as a mean of trials.
        """
        column, n = ratio.z[0][0].column, len(key.scenario.trials)
        if is_repeated(column):
            return n // int(column.rpartition("_")[2])
        return n if column == "scenario" else key.scenario.parts[column].trials


def is_mean_of_trials(ratio: Ratio) -> bool:
    """Whether every scenario adds the mean of its trials, each from 0 to 1, times its weight."""
    if len(ratio.z) > 1 or len(ratio.d) > 1:
        return False
    (above, _), (below, _) = ratio.z[0], ratio.d[0]
    return above.of == "sum" and above.column in SHARES and (below.of == "count" or below.column == "scenario")
