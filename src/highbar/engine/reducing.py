"""The reduction itself, in SQL that every engine runs: trials → scenarios → profile → a few kilobytes of sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from highbar.engine import ranks, row_checks, scenario_lists, trials
from highbar.engine.layout import narrow_request, with_zeros
from highbar.engine.limits import (
    MOST_EXAMPLES,
    MOST_FLAKY,
    MOST_IDS_AT_ONCE,
    MOST_SLICES,
    MOST_STORED_SCENARIOS,
    SOME_ROWS,
)
from highbar.engine.plan import ReductionPlan, make_plan
from highbar.engine.protocol import Database, Query, Request
from highbar.engine.quantities import EVERY_TRIAL
from highbar.engine.scenarios import trials_of_undecided
from highbar.engine.sources import SourcePart
from highbar.engine.sql import any_match, matches_sql
from highbar.engine.totals import Place, Profile, group_of, largest_values, products_of, profiles_of, repetition_sums
from highbar.model import FailedScenario, FlakyScenario, Percentile
from highbar.model.reduction import (
    Group,
    Matched,
    MissingTrials,
    Rank,
    Records,
    Reduction,
    RepetitionSums,
    SuiteMatch,
    UnevenTrials,
)
from highbar.policy.scenario_ids import is_pattern

if TYPE_CHECKING:
    from highbar.model.details import Details, TrialDetail

_FAILED = "failed_trials > 0"
_UNDECIDED = "failed_trials = 0 AND passed_trials < trial_count"
"""Whether a scenario failed a trial; whether it failed none and did not pass them all."""


class _Groups(Struct, frozen=True):
    """The sums of the whole and of every slice, warnings about the slices, and the percentiles of each group."""

    whole: Group
    slices: tuple[Group, ...]
    warnings: tuple[str, ...]
    ranks: Mapping[str, dict[Percentile, Rank]]
    by: tuple[str, ...]  # SQL for the value of each slice


class Reducer(Struct, frozen=True):
    """Reduces the trials of some parts to sums."""

    database: Database
    parts: Sequence[SourcePart]
    many: bool = False  # whether there are so many rows that a first look at some of them pays

    def reduce(self, request: Request) -> Reduction:
        """Score, sum and group the trials. Raises InputError if a row cannot be judged."""
        if request.within_suite and not request.select:
            from highbar.engine import selecting  # only against a git ref

            taken, outside, left_out = selecting.within_suite(self.database, self.parts, request)
            found = replace(self, parts=taken).reduce(replace(request, within_suite=False))
            return replace(found, outside=outside, left_out=left_out)
        if not request.select:
            reducer, missing = self._with_missing(request)
            found = reducer.reduce_filled(request)
            if missing is None:
                return found
            # No row of the results says `unjudged` for these.
            unjudged = found.unjudged - missing.trials
            origins = row_checks.origins(self.database.rows, self.parts)
            return replace(found, missing=missing, unjudged=unjudged, columns=columns_of(self.parts), origins=origins)
        from highbar.engine import selecting  # most checks judge every row

        taken, left = selecting.choose_rows(self.database, self.parts, request.select)
        selection = selecting.left_out(self.database.rows, self.parts, taken, left, request)
        return replace(replace(self, parts=taken).reduce(replace(request, select=())), selection=selection)

    def _with_missing(self, request: Request) -> tuple[Reducer, MissingTrials | None]:
        """The reducer with a row for each planned trial that has none, and what to say of these."""
        if request.planned is None:
            return self, None
        from highbar.engine import planned  # few results say how many trials there were to be

        found = planned.missing_trials(self.database, self.parts, request.planned)
        if found is None:
            return self, None
        part, missing = found
        return replace(self, parts=(*self.parts, part)), missing

    def reduce_filled(self, request: Request) -> Reduction:
        """The reduction of all rows; also of first trials alone, if others may be failures that were tried again."""
        found = with_zeros(self._reduce_all_rows(narrow_request(request, self.parts)), request)
        if not (request.first_trials and found.uneven and found.uneven.ends_in_a_pass):
            return found
        from highbar.engine import planned  # most results have one trial of each scenario

        alone = replace(self, parts=planned.first_trials(self.database, self.parts))
        plain = replace(request, first_trials=False, planned=None, details=False, scenario_limit=0, trials_of=())
        return replace(found, uneven=replace(found.uneven, first=alone.reduce_filled(plain)))

    def _uneven(self, request: Request) -> UnevenTrials | None:
        from highbar.engine import planned  # most results have one trial of each scenario

        return planned.uneven_trials(self.database.rows, request.planned)

    def _reduce_all_rows(self, request: Request) -> Reduction:
        rows = self.database.rows
        plan, fill = self._define_relations(request)
        values = "".join(f", count(DISTINCT by_{place})" for place in range(len(request.slices)))
        trials, bad, errors, unjudged, undecided, failed, violated, blanks, undecided_scenarios, *many_values = rows(
            Query(
                "SELECT coalesce(sum(scenarios * trial_count), 0), sum(sum_bad_trials), sum(sum_crashed_trials),"
                " sum(sum_unjudged_trials), sum(scenarios * trial_count - sum_passed_trials - sum_failed_trials),"
                f" sum(failed), sum(sum_violating_trials), sum(sum_blank_trials), sum(undecided){values}"
                " FROM profile",
                of_profile=True,
            )
        )[0]
        # Every refusal comes before the first metric: no sum over rows that were refused may reach a verdict.
        warnings = self._check_rows(plan, request, trials=trials, bad=bad)
        by = [largest_values(rows, i) if many > MOST_SLICES else f"by_{i}" for i, many in enumerate(many_values)]
        groups = self._groups(plan, request, by, any_undecided=undecided_scenarios > 0)
        listed = self._list_failed(plan, min(failed, request.failed_limit), violated) if failed else ()
        reduction = Reduction(
            whole=groups.whole,
            slices=groups.slices,
            errors=errors,
            unjudged=unjudged,
            undecided=undecided,
            blank=blanks,
            failed=failed,
            scenarios_failed=listed,
            patterns=self._patterns(request),
            suite=self._suite(request) if request.suite else None,
            repetition=self._repetition() if plan.layout.repeated else None,
            clustered=plan.layout.clustered,
            agent_version=row_checks.one_agent_version(rows) if "agent_version" in plan.layout.columns else None,
            columns=columns_of(self.parts),
            origins=row_checks.origins(rows, self.parts),
            categories=self._categories(request.slices, groups),
            warnings=(*warnings, *groups.warnings),
            scenarios=scenario_lists.list_scenarios(rows, request) if request.scenario_limit else (),
            details=self._details(listed) if request.details else None,
            trials=self._trials_of(request.trials_of) if request.trials_of else {},
            uneven=self._uneven(request) if plan.layout.repeated else None,
        )
        # With nothing undecided the worst case and the best case are the same: a second reduction would change nothing.
        if not undecided_scenarios:
            return reduction
        return self._with_best(
            reduction, plan, request, groups, few=undecided_scenarios <= MOST_STORED_SCENARIOS, fill=fill
        )

    def _check_rows(self, plan: ReductionPlan, request: Request, *, trials: int, bad: int) -> tuple[str, ...]:
        """Refuse rows that no sum may be trusted over; return warnings about the others."""
        rows, layout = self.database.rows, plan.layout
        row_checks.refuse_bad_rows(trials=trials, bad=bad)
        row_checks.refuse_mixed_ids(rows, self.parts)
        tags = [column for where in layout.wheres for column, _ in where if column.startswith("tags.")]
        if tags:
            row_checks.refuse_agent_tags(rows, self.parts, tags)
        turns = 2 if self.many and trials > MOST_IDS_AT_ONCE else 1
        warnings = row_checks.refuse_or_warn_of_ids(rows, repeated=layout.repeated, turns=turns, parts=self.parts)
        row_checks.refuse_disagreement(rows, layout)
        warnings += row_checks.contradictions(rows, layout)
        warnings += row_checks.near_values(rows, self.parts, layout, request)
        warnings += row_checks.required_and_optional(rows, request)
        return warnings + (self._variants_warning(plan) if layout.repeated or layout.clustered else ())

    def _define_relations(self, request: Request) -> tuple[ReductionPlan, bool]:
        """Define the three relations of a request; return the plan, and whether descriptions were filled in."""
        plan, fill = self._define_trials(request, smallest=self.database.has_smallest)
        self.database.define("scenarios", plan.scenarios, materialized=plan.layout.repeated)
        grave = self._grave_fill_list(plan, request)
        self.database.define("profile", plan.profile_of_grave if grave else plan.profile, materialized=True)
        return plan, fill

    def _define_best(self, request: Request, *, fill: bool) -> ReductionPlan:
        """Define them with undecided trials at their best; only scenarios with undecided trials are computed again."""
        plan = make_plan(self.parts, request, smallest=self.database.has_smallest, world="best", fill=fill)
        # The sums of a cluster need all of its scenarios, decided or not.
        scenarios = plan.scenarios if plan.layout.clustered else plan.undecided_scenarios()
        self.database.define("decided_rows", plan.decided_rows(), materialized=True)
        self.database.define("scenarios", scenarios, materialized=plan.layout.repeated)
        self.database.define("profile", plan.profile, materialized=True)
        return plan

    def _define_trials(self, request: Request, *, smallest: bool) -> tuple[ReductionPlan, bool]:
        """Define the trials; again with descriptions filled in if a trial omits what another of its scenario says."""
        fill = any(part.is_missing for part in self.parts)  # a trial that is not there describes nothing
        while True:
            plan = make_plan(self.parts, request, smallest=smallest, fill=fill)
            if plan.described and request.suite:
                trials.define_described(self.database, request.suite, trials.named_columns(plan.layout))
            self.database.define("trials", plan.trials, materialized=plan.parse_once)
            # To fill in descriptions takes a join, and few results need it.
            if fill or not row_checks.omits_descriptions(self.database.rows, plan.layout):
                return plan, fill
            fill = True

    def _with_best(
        self, reduction: Reduction, plan: ReductionPlan, request: Request, worst: _Groups, *, few: bool, fill: bool
    ) -> Reduction:
        """The reduction, with undecided trials listed and with the sums at their best."""
        self.database.define("trials_of_undecided", trials_of_undecided(plan.layout), materialized=few)
        named = scenario_lists.undecided_trials(self.database.rows, plan.layout, request)
        listed = scenario_lists.list_undecided(self.database.rows, request)
        best = self._groups(self._define_best(request, fill=fill), request, worst.by, any_undecided=True, worst=worst)
        return replace(
            reduction, best=best.whole, best_slices=best.slices, scenarios_undecided=listed, undecided_trials=named
        )

    def records(self, request: Request) -> Records:
        """A record of every scenario; call `reduce` first, which refuses what cannot be judged."""
        from highbar.engine import records  # only for a baseline or a comparison

        if request.select:
            from highbar.engine import selecting  # most checks judge every row

            taken, _ = selecting.choose_rows(self.database, self.parts, request.select)
            return replace(self, parts=taken).records(replace(request, select=()))
        if request.within_suite:
            from highbar.engine import selecting  # as above

            taken, _, _ = selecting.within_suite(self.database, self.parts, request)
            return replace(self, parts=taken).records(replace(request, within_suite=False))
        reducer, _ = self._with_missing(request)
        if reducer is not self:
            texts = records.scenario_digests(self.database.rows, self.parts) if request.record_texts else {}
            return replace(reducer.records(replace(request, planned=None, record_texts=False)), texts=texts)
        plan, fill = self._define_trials(request, smallest=True)
        self.database.define("scenarios", plan.scenarios, materialized=plan.layout.repeated)
        found = records.find_records(self.database.rows, plan.layout, request)
        if request.record_texts:
            found = replace(found, texts=records.scenario_digests(self.database.rows, self.parts))
        if not self.database.rows("SELECT count_if(has_undecided) FROM scenarios")[0][0]:
            return found
        plan = make_plan(self.parts, request, world="best", fill=fill)
        self.database.define("scenarios", plan.scenarios, materialized=plan.layout.repeated)
        return replace(found, best=records.scenario_records(self.database.rows, plan.layout, request, "best"))

    def _variants_warning(self, plan: ReductionPlan) -> tuple[str, ...]:
        """A warning if the results of several agents are judged together."""
        from highbar.engine import variants  # most results have one trial of each scenario

        found = variants.pooled_variants(self.database.rows, self.parts, clustered=plan.layout.clustered)
        return (variants.variants_warning(found),) if found else ()

    def _categories(self, slices: Sequence[str], groups: _Groups) -> tuple[str, ...]:
        if "category" in slices and f"by_{slices.index('category')}" in groups.by:  # then all of them are shown
            return tuple(group.by[1] for group in groups.slices if group.by and group.by[0] == "category")
        rows = self.database.rows("SELECT DISTINCT category FROM trials WHERE category IS NOT NULL ORDER BY 1")
        return tuple(row[0] for row in rows)

    def _groups(
        self,
        plan: ReductionPlan,
        request: Request,
        by: Sequence[str],
        *,
        any_undecided: bool,
        worst: _Groups | None = None,
    ) -> _Groups:
        """The whole and every slice; at the best, percentiles that are the same as at the `worst` are reused.

        `by` is the SQL for the value of each slice.
        """
        profiles = profiles_of(self.database.rows, plan, by)
        warnings: list[str] = []
        for place, column in enumerate(request.slices):
            if all(of != place for of, _ in profiles):
                warnings.append(f"no result has a value for the slice {column}")
            if by[place] != f"by_{place}":
                warnings.append(f"the slice {column} has more than {MOST_SLICES} values; only the largest are shown")
        # The profile counts undecided values only for scenarios of one trial each: with several it cannot say that the
        # percentile is the same.
        known = worst.ranks if worst and not plan.layout.repeated else None
        ranked = self._ranks(profiles, plan, request, any_undecided=any_undecided, at_worst=known)
        products = products_of(self.database.rows, plan, request, by)
        groups = {
            (place, value): group_of(
                None if place is None or value is None else (request.slices[place], value),
                profile,
                ranked.get(ranks.group_name(place, value)),
                products.get((place, value)),
                request,
            )
            for (place, value), profile in profiles.items()
        }
        whole = groups.pop((None, None))
        slices = tuple(groups[at] for at in sorted(groups, key=lambda at: (at[0] or 0, at[1] or "")))
        return _Groups(whole, slices, tuple(warnings), ranked, tuple(by))

    def _repetition(self) -> RepetitionSums:
        names = (EVERY_TRIAL, "scenarios", "sum_passed_trials", "sum_passed_squares", "flaky")
        rows = self.database.rows(Query(f"SELECT {', '.join(names)} FROM profile", of_profile=True))
        flaky = self.database.rows(
            "SELECT id, trial_count, passed_trials FROM scenarios WHERE passed_trials > 0 AND failed_trials > 0"
            f" ORDER BY abs(passed_trials / trial_count - 0.5), id LIMIT {MOST_FLAKY}"
        )
        listed = tuple(FlakyScenario(*row) for row in flaky)
        return repetition_sums([dict(zip(names, row, strict=True)) for row in rows], listed)

    def _ranks(
        self,
        profiles: Mapping[Place, Profile],
        plan: ReductionPlan,
        request: Request,
        *,
        any_undecided: bool,
        at_worst: Mapping[str, dict[Percentile, Rank]] | None,
    ) -> dict[str, dict[Percentile, Rank]]:
        """The percentiles of every group, with their bounds."""
        if not request.percentiles:
            return {}
        named = {ranks.group_name(*at): profile for at, profile in profiles.items()}
        return ranks.find_percentiles(
            self.database, named, plan.layout, request, plan.world, any_undecided=any_undecided, at_worst=at_worst
        )

    def _grave_fill_list(self, plan: ReductionPlan, request: Request) -> bool:
        """Whether a sample of the rows suggests that the gravest failures alone fill the list.

        To collect all others too costs a fifth of a check. If the sample is wrong, the list is too short, and
        `FailedList.read` falls back to a sort.
        """
        if not (self.many and self.database.has_smallest and plan.failed_list.reason == "evidence"):
            return False
        grave, seen = self.database.rows(
            f"SELECT count_if({plan.failed_list.is_grave()}), count(*)"
            f" FROM (SELECT id, violating_trials, crashed_trials FROM scenarios LIMIT {SOME_ROWS})"
        )[0]
        all_ = self.database.rows("SELECT count(*) FROM scenarios")[0][0]
        return bool(grave * all_ >= 2 * request.failed_limit * seen)

    def _list_failed(self, plan: ReductionPlan, at_least: int, violated: int) -> tuple[FailedScenario, ...]:
        listed = plan.failed_list.read(self.database, at_least, violated)
        if "missed" not in plan.layout.columns:
            return listed
        from highbar.engine.details import with_expected_answers  # only for the results of a run

        return with_expected_answers(self.database.rows, self.parts, listed)

    def _details(self, failed: tuple[FailedScenario, ...]) -> Details:
        from highbar.engine import details  # few reports need it

        return details.read_details(self.database, self.parts, failed)

    def _trials_of(self, ids: tuple[str, ...]) -> Mapping[str, tuple[TrialDetail, ...]]:
        from highbar.engine import details  # few reports need it

        return details.trials_of(self.database.rows, self.parts, ids)

    def _suite(self, request: Request) -> SuiteMatch:
        """How the results and the suite of the policy fit together."""
        from highbar.engine.suite_match import match_suite  # few policies name a suite

        return match_suite(self.database, request, self.parts)

    def _patterns(self, request: Request) -> dict[str, Matched]:
        """What each id or pattern of the request matches; all plain ids in one query, however many there are."""
        wanted = dict.fromkeys((*request.required, *request.optional))
        ids = [text for text in wanted if not is_pattern(text)]
        sql = f"SELECT id, CAST({_FAILED} AS INTEGER), CAST({_UNDECIDED} AS INTEGER) FROM scenarios"
        found = dict.fromkeys(ids, Matched(0, 0, ()))
        for id_, failed, undecided in self.database.rows(f"{sql} WHERE {any_match(ids)}") if ids else ():
            found[id_] = Matched(1, failed, (id_,) if failed else (), undecided, (id_,) if undecided else ())
        return found | {pattern: self._match_pattern(pattern) for pattern in wanted if is_pattern(pattern)}

    def _match_pattern(self, pattern: str) -> Matched:
        there = f"FROM scenarios WHERE ({matches_sql(pattern)})"
        scenarios, failed, undecided = self.database.rows(
            f"SELECT count(*), coalesce(count_if({_FAILED}), 0), coalesce(count_if({_UNDECIDED}), 0) {there}"
        )[0]

        def some(condition: str, number: int) -> tuple[str, ...]:
            ids = f"SELECT id {there} AND {condition} ORDER BY id LIMIT {MOST_EXAMPLES}"
            return tuple(id_ for (id_,) in self.database.rows(ids)) if number else ()

        return Matched(scenarios, failed, some(_FAILED, failed), undecided, some(_UNDECIDED, undecided))


def columns_of(parts: Sequence[SourcePart]) -> tuple[str, ...]:
    """The names of all columns, in a stable order."""
    return tuple(sorted({name for part in parts for name in part.columns}))
