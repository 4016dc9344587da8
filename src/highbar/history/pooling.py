"""Records of runs → counts for each scenario, read by DuckDB: pooled over runs, or run by run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import duckdb
from msgspec import Struct

from highbar.model.history import DamagedRecord, PooledScenario, PooledScenarios, RunRecord, ScenarioCounts
from highbar.store.history import (
    COLUMNS,
    MEASURES,
    MOST_TRIALS,
    escaped_path,
    first_line,
    open_cursor,
    paths,
    read_scenarios,
    refuse_changed_rows,
    refuse_other_rows,
)
from highbar.store.history_footer import SUFFIX, DamagedRecordError

ScenarioKey = tuple[str, str | None, str | None]
"""What is equal if two runs have the same scenario: the id, the digest of its text, and the suite if that is None."""
CountsByKey = Mapping[ScenarioKey, ScenarioCounts]
"""The scenarios of one run."""
_AT_ONCE = 500
"""Files in one query. If one of them is damaged, each file is read in a query of its own."""
_PARQUET_TYPES = {"VARCHAR": ("BYTE_ARRAY", "UTF8"), "BIGINT": ("INT64", "INT_64"), "DOUBLE": ("DOUBLE", None)}
_KNOWN_COLUMNS = frozenset((name, *_PARQUET_TYPES[type_]) for name, type_ in {**COLUMNS, MEASURES: "VARCHAR"}.items())
"""Name and types of each column as we write it. Files with others may be right, too: they are read one by one."""
_TYPES = "SELECT DISTINCT name, type, converted_type FROM parquet_schema(?) WHERE num_children IS NULL"
_COUNTED = "SELECT parse_filename(file_name, true), num_rows FROM parquet_file_metadata(?)"
_POOLED = """
CREATE TEMP TABLE pooled (
    id VARCHAR, digest VARCHAR, suite VARCHAR, category VARCHAR, runs HUGEINT, trials HUGEINT, passed HUGEINT,
    failed HUGEINT, undecided HUGEINT, passed_runs HUGEINT, failed_runs HUGEINT
)
"""
_ROWS = """
CREATE OR REPLACE TEMP TABLE batch AS
SELECT id, digest, category, trials, passed, failed, undecided, parse_filename(filename, true) AS record
FROM read_parquet(?, filename = true, hive_partitioning = false)
"""
# `coalesce(…, true)`: a comparison with NULL is NULL, and NULL in any of these columns is wrong, too.
_WRONG = f"""
SELECT count(*) FROM batch
WHERE id IS NULL
   OR coalesce(trials NOT BETWEEN 1 AND {MOST_TRIALS} OR passed < 0 OR failed < 0 OR undecided < 0, true)
   OR coalesce(passed + failed + undecided <> trials, true)
"""  # noqa: S608 - a number of ours
_TWICE = "SELECT 1 FROM batch GROUP BY record, id HAVING count(*) > 1 LIMIT 1"
_POOL = """
INSERT INTO pooled
SELECT id, digest, CASE WHEN digest IS NULL THEN suite END AS of_suite, max(category), count(*), sum(trials),
       sum(passed), sum(failed), sum(undecided), count_if(passed = trials), count_if(failed > 0)
FROM batch
JOIN (SELECT unnest(?::VARCHAR[]) AS record, unnest(?::VARCHAR[]) AS suite) AS runs USING (record)
GROUP BY id, digest, of_suite
"""
_ALL = """
SELECT id, digest, suite, max(category), sum(runs), sum(trials), sum(passed), sum(failed), sum(undecided),
       sum(passed_runs), sum(failed_runs)
FROM pooled GROUP BY id, digest, suite ORDER BY id, digest, suite
"""


def each_result_once(runs: Sequence[RunRecord]) -> tuple[RunRecord, ...]:
    """The runs without those whose results are all in another record; of records with equal results the last is kept.

    Such results were judged again, not run again. A run that was resumed after it was added has several records, and
    only the last one counts. Sharing some files is not enough: one file that many runs share would otherwise hide all
    but the last of them. A file without a digest is never taken for another one.
    """
    places: dict[str | None, set[int]] = {}
    for place, run in enumerate(runs):
        for digest in run.results:
            places.setdefault(digest, set()).add(place)
    # All records of a resumed run share `begun`, although each has other results: the last of them counts.
    ends = {run.begun: place for place, run in enumerate(runs)}
    return tuple(
        run
        for place, run in enumerate(runs)
        if (run.begun is None or ends[run.begun] == place) and not _is_repeated(place, run, runs, places)
    )


def _is_repeated(
    place: int, run: RunRecord, runs: Sequence[RunRecord], places: Mapping[str | None, Collection[int]]
) -> bool:
    own = set(run.results)
    if not own or None in own:
        return False
    fewest, *more = sorted((places[digest] for digest in own), key=len)
    others = (other for other in fewest if other != place and all(other in one for one in more))
    return any(len(set(runs[other].results)) > len(own) or other > place for other in others)


def pool_scenarios(folder: str, runs: Sequence[RunRecord]) -> PooledScenarios:
    """Every text of a scenario over the runs; if its digest is not known, over the runs of the same suite."""
    chosen = each_result_once([run for run in runs if run.listed])
    with open_cursor() as connection:
        connection.execute(_POOLED)
        pool = _Pool(connection, folder, [], [])
        for start in range(0, len(chosen), _AT_ONCE):
            pool.add(chosen[start : start + _AT_ONCE])
        rows = connection.execute(_ALL).fetchall()
    return PooledScenarios(tuple(PooledScenario(*row) for row in rows), tuple(pool.used), tuple(pool.damaged))


class _Pool(Struct, eq=False):
    """The table of pooled scenarios, the records that were added to it, and the damaged ones."""

    connection: duckdb.DuckDBPyConnection
    folder: str
    used: list[RunRecord]
    damaged: list[DamagedRecord]

    def add(self, runs: Sequence[RunRecord]) -> None:
        """Add the scenarios of runs in one query; if that fails, run by run, to find the damaged records."""
        try:
            self._insert(runs)
        except (DamagedRecordError, duckdb.Error) as error:
            if len(runs) > 1:
                for run in runs:
                    self.add([run])
            else:
                self.damaged.append(DamagedRecord(f"{runs[0].record}{SUFFIX}", first_line(error)))

    def _insert(self, runs: Sequence[RunRecord]) -> None:
        files = paths(self.folder, runs)
        names = [escaped_path(file) for file in files]
        # Only a file on its own is described in full, to say what is wrong with it: that takes two queries.
        if len(files) == 1:
            refuse_other_rows(self.connection, files[0], runs[0])
        elif not _KNOWN_COLUMNS.issuperset(self.connection.execute(_TYPES, [names]).fetchall()):
            raise DamagedRecordError("a type that would be cast, because other files have the right one")
        for file, run in zip(files, runs, strict=True):
            refuse_changed_rows(file, run)
        # Before any row is read: a few bytes of a hostile file can unpack to billions of rows.
        counted = self.connection.execute(_COUNTED, [names]).fetchall()
        if dict(counted) != {run.record: run.listed or 0 for run in runs}:
            raise DamagedRecordError("another number of rows than its footer says")
        self.connection.execute(_ROWS, [names])
        wrong = self.connection.execute(_WRONG).fetchone()
        if wrong is None or wrong[0] or self.connection.execute(_TWICE).fetchone():
            raise DamagedRecordError("a scenario is there twice, or its counts do not fit")
        self.connection.execute(_POOL, [[run.record for run in runs], [run.suite for run in runs]])
        self.used.extend(runs)


def counts_by_run(
    folder: str, runs: Sequence[RunRecord]
) -> tuple[list[tuple[RunRecord, CountsByKey]], tuple[DamagedRecord, ...]]:
    """Each run with its scenarios, without the damaged records; and those."""
    found: list[tuple[RunRecord, CountsByKey]] = []
    damaged: list[DamagedRecord] = []
    for run, path in zip(runs, paths(folder, runs), strict=True):
        try:
            found.append((run, {_key(run, one): one for one in read_scenarios(path, run)}))
        except (DamagedRecordError, OSError) as error:
            damaged.append(DamagedRecord(f"{run.record}{SUFFIX}", str(error)))
    return found, tuple(damaged)


def _key(run: RunRecord, one: ScenarioCounts) -> ScenarioKey:
    return one.id, one.digest, None if one.digest is not None else run.suite


def scenarios_of_runs(folder: str, runs: Sequence[RunRecord]) -> Iterator[tuple[RunRecord, ScenarioCounts]]:
    """Every scenario of every run; damaged records are skipped."""
    for run, path in zip(runs, paths(folder, runs), strict=True):
        if run.listed:
            try:
                found = read_scenarios(path, run)
            except DamagedRecordError:
                continue
            yield from ((run, one) for one in found)
