"""Percentiles by nearest rank, over trials, with the values that bound them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from highbar.columns import BOUNDED, EXTRA, EXTRA_SCALE, MEASURED, UNBOUNDED_NAMES, sum_scale
from highbar.core.score.measures import NO_ENDS, World, scaled
from highbar.core.score.scenario import has
from highbar.core.score.settled import Settled
from highbar.model import Percentile
from highbar.model.reduction import Rank
from highbar.statistics.bounds import (
    Ranks,
    Sums,
    first_rank_index,
    nearest_rank,
    percentile_ranks,
    ranks_within,
    standard_error,
    unseen_weight,
)

MOST_IN_ORDER = 50_000
"""Trials of a group that are put in one order; for more, their effective number at the percentile itself is used."""
LOW, HIGH = 0, 1
Unit = tuple[str, bool]
"""A cluster, or a scenario."""
Counts = Callable[[Percentile], "tuple[int, int, int, int] | None"]


class RankReader:
    """The ranks of groups of one run, in one world."""

    def __init__(self, settled: Settled, world: World) -> None:
        self.settled, self.world = settled, world
        self._numbers: dict[str, list[list[float]]] = {}

    def ranks(self, places: Sequence[int], percentiles: Sequence[Percentile], counts: Counts) -> dict[Percentile, Rank]:
        """The value at each percentile's rank, and its bounds."""
        found: dict[Percentile, Rank] = {}
        ordered: dict[object, tuple[list[float], list[Unit], int]] = {}
        for percentile in percentiles:
            told = counts(percentile)
            if told is None:
                found[percentile] = Rank(None, 0, 0, 0)
                continue
            undecided, errors, fewest, most = told
            of = percentile.column, percentile.where
            if of not in ordered:
                ordered[of] = self._ordered(places, percentile)
            numbers, units, scenarios = ordered[of]
            n = len(numbers)
            low, high = self._bounds(numbers, units, percentile)
            if self.settled.repeated:
                errors = sum(map(math.isinf, numbers))
            elif percentile.column in BOUNDED:
                errors = 0
            found[percentile] = Rank(
                _exact(numbers[nearest_rank(n, percentile.share) - 1]) if n else None,
                n,
                errors,
                scenarios,
                None if low is None else _exact(numbers[low - 1]),
                None if high is None else _exact(numbers[high - 1]),
                undecided,
                fewest,
                most,
            )
        return found

    def _ordered(self, places: Sequence[int], percentile: Percentile) -> tuple[list[float], list[Unit], int]:
        """The numbers in order, the units that they are of, and how many scenarios have any."""
        settled, of = self.settled, self.numbers(percentile.column)
        if percentile.where:
            places = [place for place in places if percentile.where in settled.keys[settled.key[place]].wheres]
        if not (settled.repeated or settled.clustered):
            numbers = sorted([of[place][0] for place in places if of[place]])
            return numbers, [], len(numbers)
        ranked = sorted([(number, settled.unit(place)) for place in places for number in of[place]])
        return [one for one, _ in ranked], [unit for _, unit in ranked], sum([bool(of[place]) for place in places])

    # --- the numbers of trials ---------------------------------------------------------------

    def numbers(self, column: str) -> list[list[float]]:
        """By scenario: the number by which a percentile ranks each of its trials that is ranked.

        If lower is better, a crashed trial ranks above every number. A trial without the number counts if its scenario
        has it, or if it is open.
        """
        if column not in self._numbers:
            settled = self.settled
            if self._is_plain(column):
                self._numbers[column] = [[value] for value in settled.scores.numbers[0]]
            else:
                self._numbers[column] = [self._of_scenario(column, place) for place in settled.places()]
        return self._numbers[column]

    def _is_plain(self, column: str) -> bool:
        """Whether every trial of a run has one known latency, and each scenario one trial."""
        settled = self.settled
        single = len(settled.ids) == len(settled.scores)
        return column == "latency_ms" and single and all(t.facts.numbers & 1 and not t.error for t in settled.trials)

    def _of_scenario(self, column: str, place: int) -> list[float]:
        settled = self.settled
        scenario, measure = settled.scenario(place), settled.measures[column]
        ends = settled.request.ends.get(column, NO_ENDS)
        never = -math.inf if ends.higher else math.inf
        absent = self._undecided_number(column, never)
        in_scenario = has(measure, scenario.trials, scenario.demanded)
        found = []
        for at in settled.positions[place]:
            trial = settled.trial(at)
            number = self._number(column, at)
            if column not in BOUNDED and trial.error:
                number = never
            elif column in BOUNDED and trial.error and number is not None:
                number = 0.0
            if number is None and (in_scenario or trial.open):
                number = absent
            if number is not None:
                found.append(number)
        return found

    def _number(self, column: str, at: int) -> float | None:
        """The recorded number of a trial; a latency as it was recorded, others as they are summed."""
        numbers = self.settled.measures[column].numbers
        if numbers is None:
            return None
        value = self.settled.scores.numbers[numbers.place][at]
        if value != value or (value < 0 and _is_whole(column)):  # noqa: PLR0124 - not a number
            return None
        if column == "latency_ms":
            return float(value)
        scale = EXTRA_SCALE if column.startswith(EXTRA) else sum_scale(column)
        return scaled(value, scale, up=numbers.up) / scale if scale > 1 else float(value)

    def _undecided_number(self, column: str, never: float) -> float:
        """The number at which an undecided trial ranks."""
        if column in BOUNDED:
            return 0.0 if self.world == "worst" else 1.0
        if column in UNBOUNDED_NAMES:
            return never if self.world == "worst" else 0.0  # it may not have completed, whatever the limit
        ends = self.settled.request.ends.get(column, NO_ENDS)
        if ends.worst is None or ends.best is None:
            return never if self.world == "worst" else -never
        return float(ends.worst if self.world == "worst" else ends.best)

    # --- bounds ------------------------------------------------------------------------------

    def _bounds(self, numbers: Sequence[float], units: Sequence[Unit], percentile: Percentile) -> Ranks:
        """The ranks that bound a percentile."""
        n, alpha = len(numbers), self.settled.request.alpha
        if not units:
            return percentile_ranks(n, percentile.share, alpha)
        if n > MOST_IN_ORDER:
            return self._by_design_effect(numbers, units, percentile)
        sizes = Counter(units)
        sums = _sums_in_order(units, sizes)
        pseudo = unseen_weight(min(sizes.values()), max(sizes.values()))
        low, high = (
            first_rank_index(range(n + 1), end, percentile.share, alpha, sums.__getitem__, pseudo)
            for end in (LOW, HIGH)
        )
        return ranks_within(n, low, high)

    def _by_design_effect(self, numbers: Sequence[float], units: Sequence[Unit], percentile: Percentile) -> Ranks:
        """For many trials: the ranks for their effective number at the percentile itself, scaled up."""
        n, alpha = len(numbers), self.settled.request.alpha
        limit = numbers[nearest_rank(n, percentile.share) - 1]
        sizes = Counter(units)
        inside = Counter([unit for unit, number in zip(units, numbers, strict=True) if number <= limit])
        sums = Sums(
            len(sizes),
            n,
            inside.total(),
            sum([z * z for z in inside.values()]),
            sum([z * sizes[unit] for unit, z in inside.items()]),
            sum([d * d for d in sizes.values()]),
        )
        error, share = standard_error(sums), float(percentile.share)
        # Correlated trials say less than their number: bounds are found for as many independent ones as they are worth.
        effective = min(n, max(1, int(share * (1 - share) / (error * error)))) if error else n
        low, high = percentile_ranks(effective, percentile.share, alpha)
        return Ranks(
            None if low is None else max(1, low * n // effective),
            None if high is None else min(n, -(-high * n // effective)),
        )


def _sums_in_order(units: Sequence[Unit], sizes: Mapping[Unit, int]) -> list[Sums]:
    """The sums of "is among the smallest" at each rank, from 0 on."""
    n, dd = len(units), sum([size * size for size in sizes.values()])
    seen: Counter[Unit] = Counter()
    zz = zd = 0
    found = [Sums(len(sizes), n, 0, 0, 0, dd)]
    for rank, unit in enumerate(units, 1):
        # The j-th trial of a unit adds j² - (j - 1)² to the sum of squares.
        seen[unit] += 1
        zz += 2 * seen[unit] - 1
        zd += sizes[unit]
        found.append(Sums(len(sizes), n, rank, zz, zd, dd))
    return found


def _is_whole(column: str) -> bool:
    return any(one.name == column and one.form == "whole" for one in MEASURED)


def _exact(value: float) -> Fraction | None:
    """The exact number of a value; None for an infinity, as which a crashed trial ranks."""
    return None if math.isinf(value) else Fraction(str(value))
