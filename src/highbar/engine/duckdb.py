"""The embedded engine: DuckDB in this process, locked down to the files that were named."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from highbar.engine import checks, plan, ranks, ratios
from highbar.engine.protocol import Group, Matched, Rank, Reduction, RepetitionSums, Request
from highbar.engine.sources import Part, parts, table_part
from highbar.engine.sql import literals, matches
from highbar.engine.totals import Profile, cross_totals, ratio_totals, repetition
from highbar.model import FailedScenario, FlakyScenario, Percentile, ResultsFile

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_SLICES = 1000
"""Slice values beyond these, the largest first, are counted and warned of, not measured."""


def connect(paths: Sequence[str]) -> DuckDBPyConnection:
    """A connection that can read the named files and nothing else, whose configuration cannot be changed any more."""
    import duckdb  # 0.1 s to import: only where rows are read

    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "python_enable_replacements": "false",
            "preserve_insertion_order": "false",
        },
    )
    connection.execute(f"SET allowed_paths = {literals(list(paths))}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


class DuckDBEngine:
    """Reduces files, or a table that is registered as `results`, to sums."""

    def __init__(self, files: Sequence[ResultsFile] = (), table: object | None = None) -> None:
        """Open the files, or the table, and find their columns. Raises InputError where that fails."""
        self._files = tuple(files)
        self._connection = connect([file.path for file in files])
        self._parts: tuple[Part, ...]
        if table is None:
            self._parts = parts(self._connection, files)
        else:
            self._connection.register("results", table)
            self._parts = (table_part(self._connection, "results"),)

    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in a stable order."""
        return tuple(sorted({name for part in self._parts for name in part.columns}))

    def close(self) -> None:
        """Let the files go."""
        self._connection.close()

    def interrupt(self) -> None:
        """Stop what runs now; it raises."""
        self._connection.interrupt()

    @contextmanager
    def watched(self, progress: Callable[[float], None] | None) -> Iterator[None]:
        """Tell `progress` now and then how much of the running query is done, from 0 to 1."""
        if progress is None:
            yield
            return
        done = threading.Event()

        def watch() -> None:
            while not done.wait(0.2):
                progress(max(0.0, float(self._connection.query_progress()) / 100))

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def reduce(self, request: Request) -> Reduction:
        """Score, sum and group the trials."""
        made = plan.make(self._parts, request)
        self._define("trials", made.trials, kept=made.parse_once)
        self._define("scenarios", made.scenarios, kept=made.repeated)
        self._define("profile", made.profile, kept=True)
        counts = self._rows(
            "SELECT coalesce(sum(scenarios * n), 0), sum(bad), sum(sum_ke), sum(sum_ku), sum(failed) FROM profile"
        )[0]
        checks.refuse_bad_rows(trials=counts[0], bad=counts[1])
        warnings = checks.refuse_or_warn_of_ids(self._rows, made.repeated)
        checks.refuse_disagreement(self._rows, request.slices, made)
        whole, slices, more = self._groups(made, request)
        return Reduction(
            whole=whole,
            slices=slices,
            errors=counts[2],
            unjudged=counts[3],
            failed=counts[4],
            scenarios_failed=self._failed(request) if counts[4] else (),
            patterns=self._patterns(request),
            suite=None
            if request.suite is None
            else checks.compare_with_suite(self._connection, request.suite, request.optional),
            repetition=self._repetition(made),
            clustered=made.clustered,
            agent_version=checks.one_agent_version(self._rows) if "agent_version" in self.columns() else None,
            columns=self.columns(),
            categories=self._categories(),
            warnings=(*warnings, *more),
        )

    def _define(self, name: str, sql: str, *, kept: bool) -> None:
        self._connection.execute(f"CREATE OR REPLACE TEMP {'TABLE' if kept else 'VIEW'} {name} AS {sql}")

    def _categories(self) -> tuple[str, ...]:
        rows = self._rows("SELECT DISTINCT category FROM trials WHERE category IS NOT NULL ORDER BY 1 LIMIT 1000")
        return tuple(row[0] for row in rows)

    def _rows(self, sql: str) -> list[Any]:
        return self._connection.execute(sql).fetchall()

    def _groups(self, made: plan.Plan, request: Request) -> tuple[Group, tuple[Group, ...], list[str]]:
        """The whole, every slice, and what to warn of."""
        profiles, ranked = self._profiles(made, None), self._ranks(made, request, None)
        products = self._products(made, request, None)
        whole = _group(None, profiles[None], ranked.get(None), products.get(None), request)
        groups: list[Group] = []
        warnings: list[str] = []
        for place, column in enumerate(request.slices):
            profiles, ranked = self._profiles(made, place), self._ranks(made, request, place)
            products = self._products(made, request, place)
            if not profiles:
                warnings.append(f"no result has a value for the slice {column}")
            if len(profiles) > MOST_SLICES:
                warnings.append(f"the slice {column} has more than {MOST_SLICES} values; only the largest are shown")
            for value in sorted(value for value in list(profiles)[:MOST_SLICES] if value is not None):
                groups.append(_group((column, value), profiles[value], ranked.get(value), products.get(value), request))
        return whole, tuple(groups), warnings

    def _profiles(self, made: plan.Plan, place: int | None) -> dict[str | None, Profile]:
        """The profile of the whole (under None), or of each value of a slice, the largest first."""
        shape = [key for key in made.keys if not key.startswith("by_")]
        added = [name for name in made.sums if not ratios.is_product(name)]
        names = [*shape, "scenarios", *added]
        sums = ", ".join(f"sum({name}) AS {name}" for name in ("scenarios", *added))
        by = "NULL" if place is None else f"by_{place}"
        there = "true" if place is None else f"{by} IS NOT NULL"
        largest = f"SELECT {by} AS value, sum(scenarios) AS size FROM profile WHERE {there} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {MOST_SLICES + 1}"
        rows = self._rows(
            f"SELECT value, {', '.join(names)} FROM (SELECT {by} AS value, {', '.join(shape)}, {sums} FROM profile"
            f" WHERE {there} GROUP BY ALL) JOIN ({largest}) AS largest USING (value) ORDER BY size DESC, value"
            if place is not None
            else f"SELECT NULL AS value, {', '.join(shape)}, {sums} FROM profile GROUP BY ALL"
        )
        found: dict[str | None, list[dict[str, int]]] = {}
        for value, *numbers in rows:
            found.setdefault(value, []).append(dict(zip(names, (number or 0 for number in numbers), strict=True)))
        return {value: Profile(made, lines) for value, lines in found.items()}

    def _products(self, made: plan.Plan, request: Request, place: int | None) -> dict[str | None, dict[str, Any]]:
        """The sums of products of the whole (under None), or of each value of a slice."""
        by, there = ("NULL", "true") if place is None else (f"by_{place}", f"by_{place} IS NOT NULL")
        if made.clustered:
            names = [name for name, _ in ratios.aggregates(made.sides, request.ratios, request.crosses, one_pass=False)]
            sql = ratios.by_cluster(made.sides, request.ratios, request.crosses, by, there)
        else:
            names = [name for name in made.sums if ratios.is_product(name)]
            sums = ", ".join(f"{ratios.combined(name)} AS {name}" for name in names)
            sql = f"SELECT {by} AS value, {sums} FROM profile WHERE {there} GROUP BY value"
        if not names:
            return {}
        return {value: dict(zip(names, numbers, strict=True)) for value, *numbers in self._rows(sql)}

    def _repetition(self, made: plan.Plan) -> RepetitionSums | None:
        if not made.repeated:
            return None
        rows = self._rows("SELECT n, scenarios, sum_kp, sum_kp_kp, flaky FROM profile")
        names = ("n", "scenarios", "sum_kp", "sum_kp_kp", "flaky")
        flaky = self._rows(
            "SELECT id, n, kp FROM scenarios WHERE kp > 0 AND kp < n ORDER BY abs(kp / n - 0.5), id LIMIT 100"
        )
        listed = tuple(FlakyScenario(*row) for row in flaky)
        return repetition([dict(zip(names, row, strict=True)) for row in rows], listed)

    def _ranks(self, made: plan.Plan, request: Request, place: int | None) -> dict[str | None, dict[Percentile, Rank]]:
        """The percentiles of the whole (under None), or of each value of a slice, with their bounds."""
        if not request.percentiles:
            return {}
        layout = ranks.Layout(made.extras, made.wheres, made.repeated, made.clustered)
        return ranks.find(self._rows, layout, request.percentiles, request.alpha, place)

    def _failed(self, request: Request) -> tuple[FailedScenario, ...]:
        required = " OR ".join(matches(pattern) for pattern in request.required) or "false"
        worst = (
            f"SELECT id, category, n, kp, ({required}) AS required FROM scenarios WHERE kp < n"
            " ORDER BY required DESC, kv > 0 DESC, ke > 0 DESC, kp / n, k_score / s_den, id"
            f" LIMIT {request.failed_limit}"
        )
        self._connection.execute(
            f"CREATE OR REPLACE TEMP TABLE worst AS SELECT *, row_number() OVER () AS place FROM ({worst})"
        )
        reasons = (
            "SELECT id, array_to_string(list_slice(list_sort(list(DISTINCT why)), 1, 3), ' / ') AS why"
            " FROM trials WHERE why IS NOT NULL AND id IN (SELECT id FROM worst) GROUP BY id"
        )
        rows = self._rows(
            f"SELECT id, category, n, kp, required, why FROM worst LEFT JOIN ({reasons}) USING (id) ORDER BY place"
        )
        return tuple(
            FailedScenario(
                id=id_,
                category=category,
                reason=why if n == 1 else f"{passed} of {n} trials passed; {why}",
                trials=n,
                passed_trials=passed,
                required=required_,
            )
            for id_, category, n, passed, required_, why in rows
        )

    def _patterns(self, request: Request) -> dict[str, Matched]:
        patterns = tuple(dict.fromkeys((*request.required, *request.optional)))
        if not patterns:
            return {}
        columns = []
        for pattern in patterns:
            matched = matches(pattern)
            columns += [
                f"count(*) FILTER ({matched})",
                f"count(*) FILTER ({matched} AND kp < n)",
                f"min(id, 5) FILTER ({matched} AND kp < n)",
            ]
        row = self._rows(f"SELECT {', '.join(columns)} FROM scenarios")[0]
        return {
            pattern: Matched(row[3 * i], row[3 * i + 1], tuple(row[3 * i + 2] or ()))
            for i, pattern in enumerate(patterns)
        }


def _group(
    by: tuple[str, str] | None,
    profile: Profile,
    ranked: dict[Percentile, Rank] | None,
    products: dict[str, Any] | None,
    request: Request,
) -> Group:
    totals = {term: profile.total(term) for term in request.terms}
    sides, clustered, row = profile.plan.sides, profile.plan.clustered, products or {}
    return Group(
        by=by,
        scenarios=profile.scenarios,
        trials=profile.trials,
        totals=totals,
        ranks={wanted: (ranked or {}).get(wanted, Rank(None, 0, 0, 0)) for wanted in request.percentiles},
        ratios={
            ratio: ratio_totals(place, ratio, totals, row, sides.is_plain(ratio) and not clustered)
            for place, ratio in enumerate(request.ratios)
        },
        crosses={pair: cross_totals(place, row) for place, pair in enumerate(request.crosses)},
    )
