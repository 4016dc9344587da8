"""A request → the SQL of the reduction, in three relations: trials, scenarios, profile.

    trials      one row per trial: scored, every number a whole number
    scenarios   one row per scenario: how many of its trials have a measure, and the sum over those
    profile     scenarios counted and summed by slice values and by denominators, so that shares such as 1/3 are exact

Only the columns that the request needs and the files have are included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from highbar.engine import ratios, scoring, trials
from highbar.engine.layout import Layout, layout_of
from highbar.engine.protocol import Database, Query, Request
from highbar.engine.quantities import EVERY_TRIAL, SCORE_DENOMINATOR, World, total_name
from highbar.engine.scenarios import ends_of, scenarios_sql
from highbar.engine.sources import SourcePart
from highbar.engine.sql import any_match, literal
from highbar.model import FailedScenario

WEIGHTED = tuple(total_name(name) for name in ("passed", "behavior_score", "correct", "error", "violated"))
"""The sums that are also taken with each scenario's own weight: those of the weighted measures in the catalogue."""


class ReductionPlan(Struct, frozen=True):
    """The relations, and how to read their columns."""

    layout: Layout
    described: bool  # whether `trials` is joined with the suite's descriptions and demands
    trials: Query
    scenarios: str
    profile: str
    profile_of_grave: str  # as `profile`, but only the gravest failures are in its `failed_list`
    failed_list: FailedList
    keys: tuple[str, ...]
    sums: tuple[str, ...]
    products: tuple[str, ...]
    world: World
    parse_once: bool  # text is parsed once and the trials stored; Parquet is cheaper to read again than to store

    # Undecided trials are counted twice, at their worst and at their best; scenarios without any are summed once.
    def decided_rows(self) -> str:
        """SQL for the rows of the profile at the worst in which nothing is undecided: they are the same at the best."""
        columns = [*self.keys, "has_undecided", "scenarios", *self.sums, *self.products]
        at_best = (f"0 AS {name}" if name.startswith("sum_undecided_") else name for name in columns)
        return f"SELECT {', '.join(at_best)} FROM profile WHERE NOT has_undecided"

    def undecided_scenarios(self) -> str:
        """SQL for all other scenarios; needs the relation `trials_of_undecided`."""
        return scenarios_sql(self.layout, self.failed_list.reason, self.world, of="trials_of_undecided")


def make_plan(
    parts: Sequence[SourcePart], request: Request, *, smallest: bool = True, world: World = "worst", fill: bool = False
) -> ReductionPlan:
    """The SQL for this request over these files.

    If the database has the aggregate of the `smallest` values, the failed scenarios to list are found in the same
    pass as the sums. `world` says how undecided trials count. `fill` copies a scenario's descriptions from one trial to
    the others, which costs a join.
    """
    layout = layout_of(parts, request)
    keys = _keys(layout)
    sums = _sums(layout, world)
    products = [] if layout.clustered else ratios.aggregates(layout, request, one_pass=True)
    parse_once = any(part.costly or any(file.format != "parquet" for file in part.files) for part in parts)
    # With several trials a scenario has several reasons: they are fetched later, for the listed scenarios alone.
    failed_list = FailedList(request, "" if layout.repeated else "why" if parse_once else "evidence")
    totals = [*(f"sum({sql}) AS {name}" for name, sql in sums), *(f"{sql} AS {name}" for name, sql in products)]
    at_worst = smallest and world == "worst"  # the best world reuses the list that is made here
    listed, grave = ("", "")
    if at_worst:
        listed, grave = f", {failed_list.aggregate()}", f", {failed_list.aggregate(failed_list.is_grave())}"
    # `has_undecided` is a key, so that the rows without anything undecided can be reused for the best world.
    head = f"SELECT {', '.join(keys)}, has_undecided, count(*) AS scenarios, {', '.join(totals)}"
    # Each side of a ratio is in many products: as a column it is parsed and planned once, which a small check notices.
    named = [] if layout.clustered else ratios.side_columns(layout, request)
    beside = "".join(f", {sql} AS {name}" for name, sql in named)
    scenarios = f"(SELECT *{beside} FROM scenarios) AS sided" if beside else "scenarios"
    # Rows in which nothing is undecided are taken over from the worst case: few scenarios are reduced a second time.
    scenarios += "" if world == "worst" else " WHERE has_undecided"
    before = "" if world == "worst" else "SELECT * FROM decided_rows UNION ALL "
    return ReductionPlan(
        layout=layout,
        described=trials.is_described(request.suite, trials.named_columns(layout)),
        trials=trials.trials_query(parts, request, layout, with_evidence=failed_list.reason == "evidence", fill=fill),
        scenarios=scenarios_sql(layout, failed_list.reason, world),
        profile=f"{before}{head}{listed} FROM {scenarios} GROUP BY ALL",
        profile_of_grave=f"{before}{head}{grave} FROM {scenarios} GROUP BY ALL",
        failed_list=failed_list,
        keys=keys,
        sums=tuple(name for name, _ in sums),
        products=tuple(name for name, _ in products),
        world=world,
        parse_once=parse_once,
    )


class FailedList(Struct, frozen=True):
    """The failed scenarios that a verdict lists, the gravest first: the SQL for them, and how to read what it finds.

    Of each: its id, whether it is required, and why it failed. `reason` is the column with the last: `why`, in words;
    `evidence`, from which the words are made later (it costs nothing if `trials` is a view); or empty.
    """

    request: Request
    reason: str

    def _order(self) -> dict[str, str]:
        # The id comes last, so that the list does not depend on the order of the rows.
        required = any_match(self.request.required)
        return {
            "optional": f"NOT ({required})",
            "harmless": "violating_trials = 0",
            "completed": "crashed_trials = 0",
            "pass_rate": "passed_trials / trial_count",
            "score": f"behavior_score_sum / {SCORE_DENOMINATOR}",
            "id": "id",
        }

    def is_grave(self) -> str:
        """Whether a scenario is one of the gravest failures: required, violated, or crashed."""
        return f"violating_trials > 0 OR crashed_trials > 0 OR {any_match(self.request.required)}"

    def aggregate(self, of: str = "true") -> str:
        """The gravest scenarios of each profile row, as a list in an additional column."""
        order = f"{{{', '.join(f'{name!r}: {sql}' for name, sql in self._order().items())}}}"
        about = f", 'category': category, 'reason': {self.reason}" if self.reason else ""
        gravest = f"arg_min({{'by': {order}{about}}}, {order}, {self.request.failed_limit})"
        return f"{gravest} FILTER (failed_trials > 0 AND ({of})) AS failed_list"

    def from_profile(self) -> str:
        """The gravest scenarios of all profile rows."""
        limit = f"ORDER BY w.by LIMIT {self.request.failed_limit}"
        each = "(SELECT unnest(failed_list) AS w FROM profile)"
        if not self.reason:
            return f"SELECT w.by.id, NOT w.by.optional FROM {each} {limit}"
        if self.reason == "why":
            return f"SELECT w.by.id, NOT w.by.optional, w.category, w.reason FROM {each} {limit}"
        # Words are made for the listed scenarios alone: for every failed trial they would cost more than the sums.
        evidence = (
            f"SELECT w.by.id AS id, NOT w.by.optional AS required, w.category, unnest(w.reason) FROM {each} {limit}"
        )
        return f"SELECT id, required, category, {scoring.why_column()} FROM ({evidence})"

    def by_sorting(self, violated: int) -> str:
        """The same for a database without that aggregate; `violated` is the number of scenarios with a violation.

        Only required scenarios rank before violated ones. If the two fill the list, no other scenario is sorted.
        """
        columns = ", ".join(f"{sql} AS {name}_" for name, sql in self._order().items())
        order = ", ".join(f"{name}_" for name in self._order())
        about = f", category, {self.reason}" if self.reason else ""
        limit = self.request.failed_limit
        bad_enough = f"violating_trials > 0 OR {any_match(self.request.required)}" if violated >= limit else "true"
        found = f"SELECT {columns}{about} FROM scenarios WHERE ({bad_enough}) AND failed_trials > 0"
        gravest = f"SELECT id_, NOT optional_ AS required{about} FROM ({found}) ORDER BY {order} LIMIT {limit}"
        if self.reason != "evidence":
            return gravest
        evidence = f"SELECT id_, required, category, evidence.* FROM ({gravest})"
        return f"SELECT id_, required, category, {scoring.why_column()} FROM ({evidence})"

    def read(self, database: Database, at_least: int, violated: int) -> tuple[FailedScenario, ...]:
        """The scenarios, with the reasons that their trials give; there are `at_least` so many to list.

        `violated` is the number of scenarios with a violation.
        """
        gravest: list[Any] = []
        if database.has_smallest:
            gravest = database.rows(Query(self.from_profile(), of_profile=True))
        if len(gravest) < at_least:
            gravest = database.rows(self.by_sorting(violated if self.reason else 0))
        if self.reason:
            return tuple(_failed_scenario(id_, category, 1, 0, why, required=r) for id_, r, category, why in gravest)
        # A list, not a join: only a list is pushed down to the files.
        ids = ", ".join(literal(id_) for id_, _ in gravest)
        alike = (
            "SELECT id, why, any_value(category) AS category, count(*) AS trial_count, count_if(is_passed) AS passed"
            f" FROM trials WHERE id IN ({ids}) GROUP BY id, why"
        )
        in_order = f"SELECT *, row_number() OVER (PARTITION BY id ORDER BY why) AS place FROM ({alike})"
        reasons = "array_to_string(list_sort(list(why) FILTER (place <= 3 AND why IS NOT NULL)), ' / ')"
        rows = database.rows(
            f"SELECT id, any_value(category), sum(trial_count), sum(passed), {reasons} FROM ({in_order}) GROUP BY id"
        )
        found = {row[0]: row[1:] for row in rows}
        return tuple(_failed_scenario(id_, *found[id_], required=required) for id_, required in gravest)


def _failed_scenario(
    id_: str, category: str | None, trials: int, passed: int, why: str, *, required: bool
) -> FailedScenario:
    reason = why if trials == 1 else f"{passed} of {trials} trials passed; {why}"
    return FailedScenario(id_, category, reason, trials, passed, required=required)


def _keys(layout: Layout) -> tuple[str, ...]:
    """What the scenarios of one profile row have in common: slice values, filters, denominators and weight."""
    keys = [f"by_{i}" for i in range(len(layout.slices))] + [layout.flag(where) for where in layout.wheres]
    # Scenarios of one row have the same denominators, so that a sum of numerators is divided once, and exactly.
    keys += [EVERY_TRIAL, SCORE_DENOMINATOR, "lone"]
    keys += dict.fromkeys(one.count for one in layout.quantities.values() if not one.of_every_trial)
    keys += ["weight_index"] if len(layout.weights) > 1 else []
    keys += ["passed_trials"] if layout.per_k else []
    return tuple(keys)


def _sums(layout: Layout, world: World) -> list[tuple[str, str]]:
    """The sums of a profile row: their names, and SQL for what each scenario adds."""
    added_up = ("bad_trials", "failed_trials", "crashed_trials", "violating_trials", "blank_trials")
    sums = [(f"sum_{name}", name) for name in added_up]
    sums += [("failed", "CAST(failed_trials > 0 AS INTEGER)"), ("undecided", "CAST(has_undecided AS INTEGER)")]
    for one in layout.quantities.values():
        sums.append((f"sum_{one.total}", one.total))
        sums += [(f"sum_{name}", f"CAST({name} > 0 AS INTEGER)") for name in ends_of(one)]
        sums += [(f"sum_undecided_{one.total}", f"undecided_{one.total}")] if world == "best" else []
    if layout.repeated:
        sums.append(("flaky", "CAST(passed_trials > 0 AND failed_trials > 0 AS INTEGER)"))
        sums.append(("sum_passed_squares", "passed_trials * passed_trials"))
    # Each scenario may bring another weight, so weights cannot be a key of the profile as those of the policy are.
    if layout.own_weight:
        sums.append(("sum_weight", "own_weight"))
        sums += [(f"sum_weighted_{name}", f"own_weight * {name}") for name in WEIGHTED]
    return sums
