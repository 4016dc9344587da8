"""The embedded engine: DuckDB in this process, restricted to the named files."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from highbar.engine import ranks, row_checks
from highbar.engine.limits import (
    LARGE_BYTES,
    MOST_VALUES_AT_ONCE,
    MOST_VALUES_TOGETHER,
    MOST_VALUES_WITHIN_LIMIT,
    SMALL_BYTES,
)
from highbar.engine.protocol import Found, Query, Request, Sizes, Wanted
from highbar.engine.reducing import Reducer, columns_of
from highbar.engine.sources import SourcePart, file_relation, source_parts, table_part
from highbar.engine.sql import literal, literals
from highbar.errors import InputError, Problem
from highbar.interrupts import RUNNING
from highbar.model import ResultsFile
from highbar.model.job import EngineChoice, Table
from highbar.model.reduction import Records, Reduction

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SAFE_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    # A table name in a query must never resolve to a variable of this process.
    "python_enable_replacements": "false",
    # Sums do not depend on the order of rows, and to preserve it takes memory.
    "preserve_insertion_order": "false",
}
SMALL = ("threads = 1", "disabled_optimizers = 'statistics_propagation'")
SMALL_TEXT = ("threads = 1", "enable_optimizer = false")
"""For small files planning costs more than running. A packed file may have enough rows that a better plan pays."""


def connect_to_files(
    paths: Sequence[str], *, tuning: Sequence[str] = (), memory_limit: str | None = None
) -> DuckDBPyConnection:
    """A connection that can read the named files and nothing else; its configuration is locked."""
    import duckdb  # takes 0.1 s: only if rows are read

    # The order matters: no path can be allowed once external access is off, and nothing can be set after the lock.
    settings = (
        f"allowed_paths = {literals(list(paths))}",
        "enable_progress_bar = true",  # without it the progress of a query is not counted
        "enable_progress_bar_print = false",
        *tuning,
        *_memory_settings(memory_limit),
        "enable_external_access = false",
        "lock_configuration = true",
    )
    try:
        connection = duckdb.connect(":memory:", config={**SAFE_SETTINGS})
        for setting in settings:
            connection.execute(f"SET {setting}")
    except duckdb.Error as error:
        raise EngineError(f"DuckDB {duckdb.__version__} could not be set up: {error}") from error
    return connection


def _memory_settings(memory_limit: str | None) -> tuple[str, ...]:
    """Settings for a memory limit, DuckDB's own if None; what exceeds it is spilled to a temporary folder.

    By default DuckDB spills to the working folder, where a check must not write. Queries can read and write everything
    below the spill folder, so it is a new one; DuckDB creates it when needed and removes it.
    """
    folder = Path(tempfile.gettempdir()) / f"highbar-{os.urandom(8).hex()}"
    spilled = f"temp_directory = {literal(str(folder))}"
    if memory_limit is None:
        return (spilled,)
    wanted = "wanted a number with a unit, such as 600MB or 2GB"
    if not re.fullmatch(r"[1-9][0-9]*(\.[0-9]+)?\s*(KB|MB|GB|TB|KiB|MiB|GiB|TiB)", memory_limit):
        raise InputError(Problem("option.bad-value", f"the memory limit is {memory_limit!r}", hint=wanted))
    return (f"memory_limit = {literal(memory_limit)}", spilled)


@contextmanager
def over_results(files: Sequence[ResultsFile], table: Table | None, choice: EngineChoice) -> Iterator[DuckDBEngine]:
    """An engine over files, or over a table."""
    if table is None:
        engine = DuckDBEngine(files, memory_limit=choice.memory_limit)
    else:
        engine = DuckDBEngine((), table.rows, as_json=table.as_json, memory_limit=choice.memory_limit)
    # Otherwise the other threads of DuckDB go on until the query is finished, and closing waits for them.
    RUNNING.append(engine.interrupt)
    try:
        yield engine
    finally:
        RUNNING.remove(engine.interrupt)
        engine.close()


class EngineError(RuntimeError):
    """The engine itself could not be set up; this is no fault of the results."""


class DuckDBEngine:
    """Reduces files, or a table that is registered as `results`, to sums."""

    has_smallest = True

    def __init__(
        self,
        files: Sequence[ResultsFile] = (),
        table: object | None = None,
        *,
        as_json: Collection[str] = (),
        memory_limit: str | None = None,
    ) -> None:
        """Open the files, or the table, and find their columns. Raises InputError if that fails.

        Columns of the table that `as_json` names hold JSON text.
        """
        self._files = tuple(files)
        # By size, not by the number of rows: counting them would take a pass of its own.
        size = sum(Path(file.path).stat().st_size for file in files)
        packed = any(file.format == "parquet" or file.compression for file in files)
        small = table is None and size < SMALL_BYTES
        tuning = (SMALL if packed else SMALL_TEXT) if small else ()
        self._connection = connect_to_files([file.path for file in files], tuning=tuning, memory_limit=memory_limit)
        self._plan_once = small and not packed
        self._limited = memory_limit is not None
        self._many = size > LARGE_BYTES
        self._parts: tuple[SourcePart, ...]
        if table is None:
            self._parts = source_parts(self._connection, files, alike=self._many)
        else:
            self._connection.register("results", table)
            self._parts = (table_part(self._connection, "results", as_json),)
        self._alike = any(part.alike for part in self._parts)
        if not self.columns():
            raise row_checks.BadRows(row_checks.NO_ROW)

    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in a stable order."""
        return columns_of(self._parts)

    def rows_of(self, file: ResultsFile) -> int:
        """The number of rows that are read from one file, for the message about a total that differs."""
        part = next((part for part in self._parts if file in part.files), None)
        if part is None:
            return 0
        relation = file_relation(part, file)
        return int(self._connection.execute(f"SELECT count(*) FROM {relation}").fetchall()[0][0])

    def close(self) -> None:
        """Close the connection, and with it the files."""
        self._connection.close()

    def interrupt(self) -> None:
        """Stop the running query; it raises."""
        self._connection.interrupt()

    @contextmanager
    def watched(self, progress: Callable[[float], None] | None) -> Iterator[None]:
        """While the context is open, report the finished share of the running query to `progress`, from 0 to 1."""
        if progress is None:
            yield
            return
        from highbar.engine.query_progress import report_progress  # only if somebody watches

        with report_progress(progress, lambda: max(0.0, float(self._connection.query_progress()) / 100)):
            yield

    def reduce(self, request: Request) -> Reduction:
        """Score, sum and group the trials."""
        import duckdb  # loaded already

        try:
            return Reducer(self, self._parts, many=self._many).reduce(request)
        except (row_checks.BadRows, duckdb.Error) as error:
            if not self._alike or isinstance(error, duckdb.InterruptException):
                raise
        # The rows were only assumed to be alike, to save a pass, so this refusal may be a false alarm. Only the slower
        # reading, which assumes nothing, may refuse a file.
        self._alike = False
        self._parts = source_parts(self._connection, self._files)
        return Reducer(self, self._parts, many=self._many).reduce(request)

    def records(self, request: Request) -> Records:
        """A record of every scenario; call `reduce` first, which refuses what cannot be judged."""
        return Reducer(self, self._parts).records(request)

    def define(self, name: str, query: str | Query, *, materialized: bool) -> None:
        """Name a query: as a table if `materialized`, else as a view.

        Every query plans a view again, which takes longer than storing the rows of a small file.
        """
        kind = "TABLE" if materialized or self._plan_once else "VIEW"
        self._connection.execute(f"CREATE OR REPLACE TEMP {kind} {name} AS {_sql(query)}")

    def list_texts(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> None:
        """Name a table of texts; each column is passed as one JSON text."""
        import json  # only with a suite

        # As bound values: a suite has thousands of texts, some hostile, and none may become part of the SQL.
        declared = ", ".join(f"{column} VARCHAR" for column in columns)
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} ({declared})")
        if rows:
            lists = ", ".join("""unnest(from_json(?, '["VARCHAR"]'))""" for _ in columns)
            texts = [json.dumps(column) for column in zip(*rows, strict=True)]
            self._connection.execute(f"INSERT INTO {name} SELECT {lists}", texts)

    def rows(self, query: str | Query) -> list[Any]:
        """All rows of a query."""
        return self._connection.execute(_sql(query)).fetchall()

    def values_at(self, ranked: str, wanted: Wanted, sizes: Sizes) -> Found:
        """The values at the wanted ranks of each group: by DuckDB's exact quantiles if all values fit into memory."""
        groupings: dict[str, int] = {}
        for group, size in sizes.items():
            groupings[ranks.grouping(group)] = groupings.get(ranks.grouping(group), 0) + size
        if max(groupings.values(), default=0) > (MOST_VALUES_WITHIN_LIMIT if self._limited else MOST_VALUES_AT_ONCE):
            from highbar.engine import brackets  # only if there are too many values for the memory

            return brackets.values_at(self.rows, ranked, wanted, sizes, brackets.BY_RESERVOIR)
        if sum(groupings.values()) > MOST_VALUES_TOGETHER:
            return ranks.values_one_by_one(self.rows, ranked, wanted, sizes)
        return ranks.values_by_quantile(self.rows, ranked, wanted, sizes)


def _sql(query: str | Query) -> str:
    """The SQL of a query, whose hints DuckDB does not need."""
    return query if isinstance(query, str) else query.sql
