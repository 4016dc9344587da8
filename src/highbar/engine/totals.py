"""Profile rows → exact totals of each group: sums of one denominator are added first, then divided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec import Struct

from highbar.catalogue import is_repeated
from highbar.columns import BOUNDED, BY_NAME
from highbar.engine import ratios
from highbar.engine.layout import Layout
from highbar.engine.limits import MOST_SLICES
from highbar.engine.plan import ReductionPlan
from highbar.engine.protocol import Query, Request, Rows
from highbar.engine.quantities import EVERY_TRIAL, Contribution, contribution, pass_k_value
from highbar.engine.sql import group_names, literal
from highbar.model import FlakyScenario, Percentile, Term, Where
from highbar.model.reduction import Group, Rank, RepetitionSums, Total

Row = Mapping[str, Any]
Place = tuple[int | None, str | None]
"""Which group: the place of a slice and one of its values; None and None for the whole."""
Numbers = Sequence[Any]
_WEIGHT_SCALE = BY_NAME["weight"].scale


def largest_values(rows: Rows, place: int) -> str:
    """SQL for the value of a slice that has too many; NULL for any but the largest.

    A slice column of the user's own may have as many values as rows: all but these are never fetched.
    """
    largest = rows(
        Query(
            f"SELECT by_{place}, sum(scenarios) FROM profile WHERE by_{place} IS NOT NULL"
            f" GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {MOST_SLICES}",
            of_profile=True,
        )
    )
    return f"CASE WHEN by_{place} IN ({', '.join(literal(value) for value, _ in largest)}) THEN by_{place} END"


def profiles_of(rows: Rows, plan: ReductionPlan, by: Sequence[str]) -> dict[Place, Profile]:
    """The profile of the whole and of each value of each slice; `by` is the SQL for the value of each slice."""
    shape = [key for key in plan.keys if not key.startswith("by_")]
    names = [*shape, "scenarios", *plan.sums]
    found: dict[Place, list[Row]] = {}
    for at, numbers in _sum_profile(rows, by, shape, [f"sum({name})" for name in ("scenarios", *plan.sums)]):
        found.setdefault(at, []).append(dict(zip(names, (number or 0 for number in numbers), strict=True)))
    return {at: Profile(plan.layout, lines) for at, lines in found.items()}


def products_of(rows: Rows, plan: ReductionPlan, request: Request, by: Sequence[str]) -> dict[Place, Row]:
    """The sums of products of the same groups."""
    if plan.layout.clustered:
        names = [name for name, _ in ratios.aggregates(plan.layout, request, one_pass=False)]
        found = _of_clusters(rows, plan, request, by) if names else ()
    else:
        names = list(plan.products)
        found = _sum_profile(rows, by, (), [ratios.profile_aggregate(name) for name in names]) if names else ()
    return {at: dict(zip(names, numbers, strict=True)) for at, numbers in found}


def _sum_profile(
    rows: Rows, by: Sequence[str], keys: Sequence[str], sums: Sequence[str]
) -> Iterator[tuple[Place, Numbers]]:
    """Sums over the profile for each of the `keys`, in one query: to plan one per slice takes longer than to run it."""
    marked = [sql for value in by for sql in (f"grouping({value})", value)]
    sets = ", ".join(f"({', '.join((*value, *keys))})" for value in ((), *((value,) for value in by)))
    sql = f"SELECT {', '.join((*marked, *keys, *sums))} FROM profile GROUP BY GROUPING SETS ({sets})"
    for row in rows(Query(sql, of_profile=True)):
        place = next((i for i in range(len(by)) if row[2 * i] == 0), None)
        value = None if place is None else row[2 * place + 1]
        if place is None or value is not None:  # a scenario without a value is in no slice
            yield (place, value), row[len(marked) :]


def _of_clusters(
    rows: Rows, plan: ReductionPlan, request: Request, by: Sequence[str]
) -> Iterator[tuple[Place, Numbers]]:
    """Sums of products over clusters of scenarios, which the profile does not have."""
    for group, *numbers in rows(ratios.by_cluster(plan.layout, request, group_names(by))):
        place, _, value = group.partition(":")
        yield ((int(place), value) if place else (None, None)), numbers


class Profile(Struct, frozen=True):
    """The profile rows of one group."""

    layout: Layout
    rows: Sequence[Row]

    @property
    def scenarios(self) -> int:
        """How many scenarios the group has."""
        return sum(row["scenarios"] for row in self.rows)

    @property
    def trials(self) -> int:
        """How many trials the group has."""
        return sum(row["scenarios"] * row[EVERY_TRIAL] for row in self.rows)

    def total(self, term: Term) -> Total:
        """The sum of a term over the group's scenarios, exact."""
        rows = self._select_rows(term.where)
        # A filter that selects nothing gives a sum of 0 over 0 scenarios, which every metric reports as undefined.
        if is_repeated(term.column):
            return _repeated_total(rows, term)
        if term.column == "scenario":
            return self._add_up(rows, term, None)
        of_scenario = contribution(self.layout.quantities, term.column)
        if not self._any_given(rows, term.column):
            return Total(Fraction(0), 0)
        return self._add_up([row for row in rows if row.get(of_scenario.count, 0)], term, of_scenario)

    def _select_rows(self, where: Where) -> Sequence[Row]:
        return [row for row in self.rows if row[self.layout.flag(where)]] if where else self.rows

    def _add_up(self, rows: Sequence[Row], term: Term, of_scenario: Contribution | None) -> Total:
        """The sum over some rows: the totals of one denominator and weight are added first, and divided once."""
        # Whole numbers are added before anything is divided: a sum of many Fractions is slow, and one of floats rounds.
        amounts: dict[tuple[int, int], int] = {}
        for row in rows:
            amount, denominator = self._amount(row, term, of_scenario)
            key = (denominator, row.get("weight_index", 0) if term.weighted else -1)
            amounts[key] = amounts.get(key, 0) + amount
        value = sum(
            (Fraction(amount, denominator) * (self.layout.weights[weight] if weight >= 0 else 1))
            for (denominator, weight), amount in amounts.items()
        )
        scenarios = sum([row["scenarios"] for row in rows])
        return Total(Fraction(value), scenarios, *self._count_unknown(rows, of_scenario.total if of_scenario else ""))

    def _count_unknown(self, rows: Sequence[Row], total: str) -> tuple[int, int, int]:
        """How many trials are undecided; how many scenarios have a trial without a value, and one beyond the end."""
        undecided, valueless, beyond = f"sum_undecided_{total}", f"sum_valueless_{total}", f"sum_beyond_{total}"
        # All rows of a group have the same columns.
        named = [name for name in (undecided, valueless, beyond) if rows and name in rows[0]]
        found = {name: sum([row[name] for row in rows]) for name in named}
        return found.get(undecided, 0), found.get(valueless, 0), found.get(beyond, 0)

    def _any_given(self, rows: Sequence[Row], column: str) -> bool:
        """Whether some scenario has the quantity by more than errors, violations and open trials."""
        one, bit = self.layout.quantities[column], self.layout.lone_bits[column]
        return one.of_every_trial or any(row[one.count] and not row["lone"] & bit for row in rows)

    def ranked(self, column: str, where: Where) -> tuple[int, int, int]:
        """How many trials a percentile ranks, how many of these are errors, and how many are undecided.

        For scenarios of one trial each. If lower is better, an error ranks above every number, known or not.
        """
        one, rows = self.layout.quantities[column], self._select_rows(where)
        if not self._any_given(rows, column):
            return 0, 0, 0
        ranked = sum(row["scenarios"] for row in rows if row[one.count])
        # In a column from 0 to 1 a crash counts as 0, which is a number like any other.
        errors = sum(row["sum_crashed_trials"] for row in rows) if column not in BOUNDED else 0
        return ranked, errors, sum(row.get(f"sum_undecided_{one.total}", 0) for row in rows)

    def trial_range(self, column: str, where: Where) -> tuple[int, int]:
        """The fewest and the most trials of a scenario that has the column."""
        count = self.layout.quantities[column].count
        counts = [row[count] for row in self._select_rows(where) if row[count]]
        return min(counts, default=0), max(counts, default=0)

    def _amount(self, row: Row, term: Term, of_scenario: Contribution | None) -> tuple[int, int]:
        """What the scenarios of a row add to a term: a numerator and its denominator."""
        own = term.weighted and self.layout.own_weight
        if term.of == "count" or of_scenario is None:
            return (row["sum_weight"], _WEIGHT_SCALE) if own else (row["scenarios"], 1)
        denominator = of_scenario.denominator(row)
        if own:
            return row[f"sum_weighted_{of_scenario.total}"], denominator * _WEIGHT_SCALE
        return row.get(f"sum_{of_scenario.total}", 0), denominator


def group_of(
    by: tuple[str, str] | None,
    profile: Profile,
    ranked: dict[Percentile, Rank] | None,
    products: Mapping[str, Any] | None,
    request: Request,
) -> Group:
    """The sums of one group."""
    totals = {term: profile.total(term) for term in request.terms}
    row = products or {}
    return Group(
        by=by,
        scenarios=profile.scenarios,
        trials=profile.trials,
        totals=totals,
        ranks={percentile: (ranked or {}).get(percentile, Rank(None, 0, 0, 0)) for percentile in request.percentiles},
        ratios={
            ratio: ratios.ratio_totals(profile.layout, place, ratio, totals, row)
            for place, ratio in enumerate(request.ratios)
        },
        crosses={pair: ratios.cross_totals(place, row) for place, pair in enumerate(request.crosses)},
    )


def repetition_sums(rows: Sequence[Row], scenarios_flaky: tuple[FlakyScenario, ...]) -> RepetitionSums:
    """Sums over the pass rates of scenarios; all scenarios of a profile row have the same number of trials."""

    def added(amounts: Iterator[Fraction]) -> Fraction:
        return sum(amounts, Fraction(0))

    # By row: how many scenarios, of how many trials each, and Σc and Σc² of their passed trials c.
    each = [(row["scenarios"], row[EVERY_TRIAL], row["sum_passed_trials"], row["sum_passed_squares"]) for row in rows]
    return RepetitionSums(
        fewest=min(trials for _, trials, _, _ in each),
        freedom=sum((trials - 1) * scenarios for scenarios, trials, _, _ in each),
        within=added(passed - Fraction(squares, trials) for _, trials, passed, squares in each),
        rate=added(Fraction(passed, trials) for _, trials, passed, _ in each),
        rate_squares=added(Fraction(squares, trials**2) for _, trials, _, squares in each),
        inverse_trials=added(Fraction(scenarios, trials) for scenarios, trials, _, _ in each),
        flaky=sum(row["flaky"] for row in rows),
        scenarios_flaky=scenarios_flaky,
    )


def _repeated_total(rows: Sequence[Row], term: Term) -> Total:
    """The sum of pass@k or pass^k; a scenario of fewer than k trials has none."""
    value, scenarios = Fraction(0), 0
    for row in rows:
        share = pass_k_value(term.column, row[EVERY_TRIAL], row["passed_trials"])
        if share is not None:
            scenarios += row["scenarios"]
            value += share * row["scenarios"]
    undecided = sum(row.get("sum_undecided_passed_trials", 0) for row in rows)
    return Total(value if term.of == "sum" else Fraction(scenarios), scenarios, undecided)
