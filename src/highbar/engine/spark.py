"""The distributed engine: the same reduction, run by Spark on the machines that have the data.

Rows never reach this process: only sums, the values at ranks and a bounded number of failed scenarios do.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from highbar.columns import of_form
from highbar.engine import brackets, row_checks
from highbar.engine.column_readers import Raw
from highbar.engine.limits import MOST_FETCHED
from highbar.engine.protocol import NO_LARGE_NUMBERS, Found, Query, Request, Sizes, Wanted, as_query
from highbar.engine.query_progress import report_progress
from highbar.engine.reducing import Reducer, columns_of
from highbar.engine.sources import SourcePart, csv_cell, kinds_of_ids
from highbar.engine.spark_connect import FAREWELL, within
from highbar.engine.spark_sql import translate
from highbar.engine.trials import TYPED
from highbar.errors import InputError, Problem
from highbar.load import hints
from highbar.load.duplicate_names import refuse_duplicate_columns
from highbar.model.reduction import Records, Reduction

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyspark.sql import Column, DataFrame, SparkSession  # an optional extra

RELATIONS = (
    "results", "trials", "scenarios", "profile", "decided_rows", "trials_of_undecided", "ordered", "suite", "demanded",
    "listed", "described", "inherited", "seen_trials", "planned_trials", "lacking_trials", "trial_numbers",
    "missing_trials", "first_trials", "known",
)  # fmt: skip
TYPES = {
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "array<string>": "VARCHAR[]",
}
"""Spark types that are read as they are; values of any other type are read as JSON text."""
SETTINGS = {
    "spark.sql.codegen.hugeMethodLimit": "8000",  # Java never compiles a longer method: it would take ten times as long
    "spark.sql.ansi.enabled": "true",  # a sum that overflows is an error, never another number
}
"""The settings of the session while a check runs; afterwards it has its own again."""
WHOLE = of_form("id", "whole", "count")
"""Columns in which 3.0 is not a whole number."""
APPROXIMATION = brackets.Approximation("approx_quantiles(number, {shares}, 10000)", slack=2e-4, of_sample=True)
"""Spark's own approximation, which is accurate to one in 10,000; the slack is twice that."""
OF_THE_RESULTS = (
    "ARITHMETIC_OVERFLOW", "CANNOT_MERGE", "CANNOT_READ_FILE", "CAST_OVERFLOW", "COLUMN_ALREADY_EXISTS",
    "DUPLICATED_MAP_KEY", "FAILED_MERGING_SCHEMAS", "FAILED_READ_FILE", "FAILED_TO_PARSE", "INVALID_JSON",
    "INVALID_VARIANT", "MALFORMED", "PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA", "USER_RAISED_EXCEPTION", "VARIANT_",
)  # fmt: skip
"""Prefixes of the names of Spark errors that the results can cause."""
CONDITION = re.compile(r"\[(?P<name>[A-Z_]+)[A-Z_.]*\][^\n]*")


@contextmanager
def refuse_spark_errors() -> Iterator[None]:
    """Turn Spark's errors about rows or paths that cannot be read into refusals; any other is a fault of ours."""
    from py4j.protocol import Py4JError  # for errors that pyspark does not convert into its own
    from pyspark.errors import PySparkException  # an optional extra

    try:
        yield
    except (PySparkException, Py4JError) as error:
        condition = CONDITION.search(str(error))
        # Any other error is ours or the cluster's: to blame the results would send the user to look for a fault there.
        if condition is None or not condition["name"].startswith(OF_THE_RESULTS):
            raise
        raise InputError(Problem("spark.cannot-read", f"cannot be read by Spark: {condition[0]}")) from error


class SparkEngine:
    """Reduces a DataFrame, or files that a Spark session can read, to sums."""

    has_smallest = False

    def __init__(self, frame: DataFrame, *, format_: str = "parquet") -> None:
        """Take the rows: typed columns, as in Parquet, or lines of text in `format_` (jsonl, csv)."""
        self._session: SparkSession = frame.sparkSession
        self._source, self.format = frame, format_
        _refuse_loose_settings(self._session)
        own = uuid.uuid4().hex[:12]  # the session may be the caller's, with views of its own
        self._names = {name: f"highbar_{own}_{name}" for name in RELATIONS}
        self._tag = f"highbar-{own}"
        # A session's tags belong to a thread and cannot be canceled from another one, so the context has the tag. A
        # Connect server has no context.
        self._context = self._session.sparkContext if hasattr(self._session, "_jsparkSession") else None
        (self._context.addJobTag if self._context else self._session.addTag)(self._tag)
        self._stored: list[DataFrame] = []
        self._profile: DuckDBPyConnection | None = None
        self._large = NO_LARGE_NUMBERS
        self._doubles: frozenset[str] = frozenset()
        self._settings = {name: self._session.conf.get(name, None) for name in SETTINGS}
        for name, value in SETTINGS.items():
            self._session.conf.set(name, value)
        try:
            self._parts = (self._name_rows(frame, format_),)
        except BaseException as error:
            self.leave(error)
            raise

    def _name_rows(self, frame: DataFrame, format_: str) -> SourcePart:
        """Name the rows, and say what their columns contain."""
        with refuse_spark_errors():
            rows, columns = _READERS[format_](frame)
        if not columns:
            raise row_checks.BadRows(row_checks.NO_ROW)
        # Names from the results never become part of a query: Spark treats case, dots and ${…} in them in its own way.
        rows.toDF(*(_own_name(place) for place in range(len(columns)))).createOrReplaceTempView(self._names["results"])
        kinds = frozenset({"text"}) if format_ == "csv" else kinds_of_ids(columns)
        return SourcePart(columns, (), table="results", costly=format_ != "parquet", id_kinds=kinds)

    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in a stable order."""
        return columns_of(self._parts)

    def addresses(self) -> tuple[str, ...]:
        """The addresses of all files that the engine reads."""
        return tuple(self._source.inputFiles())

    def count(self) -> int:
        """The number of results, counted by an independent query."""
        from pyspark.sql import functions as spark  # an optional extra

        rows = self._source.where(spark.trim("value") != "") if self.format == "jsonl" else self._source
        with refuse_spark_errors():
            return int(self._waiting_for(lambda: [rows.count()])[0])

    def reduce(self, request: Request) -> Reduction:
        """Score, sum and group the trials."""
        try:
            return Reducer(self, self._parts).reduce(request)
        except row_checks.BadRows as error:
            raise self._bad_rows(error) from None

    def _bad_rows(self, error: row_checks.BadRows) -> InputError:
        """The same refusal, naming a few of the scenarios: Spark has no lines to point at."""
        named = Query(f"SELECT id FROM {error.among} WHERE bad ORDER BY id LIMIT 5", stages=(TYPED,))
        ids = [repr(row[0]) for row in self.rows(named)]
        found = f"among them {', '.join(ids)}" if ids else "none of which has an id"
        hint = "check one of the files without --engine spark: every fault is named there, with its line"
        return InputError(*(Problem(one.code, f"{one.message}, {found}", hint=hint) for one in error.problems))

    def records(self, request: Request) -> Records:
        """A record of every scenario; call `reduce` first, which refuses what cannot be judged."""
        return Reducer(self, self._parts).records(request)

    def rows(self, query: str | Query) -> list[Any]:
        """All rows of a query."""
        asked = as_query(query)
        if self._profile is not None and asked.of_profile:
            return self._profile.execute(asked.sql).fetchall()
        with refuse_spark_errors():
            sql, limited = self._translated(asked)
            frame = self._frame(sql)
            if limited:  # with the limit as the last step, Spark would fetch the first rows of every task
                frame = frame.coalesce(1)
            return [tuple(_as_int(value) for value in row) for row in self._waiting_for(frame.collect)]

    def _waiting_for(self, work: Callable[[], list[Any]]) -> list[Any]:
        """Run work in another thread, so that a signal reaches this thread at once and can interrupt the work.

        In this thread, pyspark would block until the query ends.
        """
        from pyspark import inheritable_thread_target  # an optional extra

        done: Future[list[Any]] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
                done.set_exception(error)

        threading.Thread(target=inheritable_thread_target(self._session)(run), daemon=True).start()
        return done.result()

    def define(self, name: str, query: str | Query, *, materialized: bool) -> None:
        """Name a query; a `materialized` one runs once, and its rows stay in memory, or on disk if memory is full."""
        asked = as_query(query)
        if asked.large != NO_LARGE_NUMBERS:
            self._large = asked.large
        frame = self._frame(self._translated(asked)[0])
        if materialized:
            frame = frame.persist()
            self._stored.append(frame)
        frame.createOrReplaceTempView(self._names[name])
        # Large numbers of single trials are passed on as doubles: their sums in the profile must be exact too.
        if name == "scenarios":
            self._doubles = frozenset(column for column, type_ in frame.dtypes if type_ == "double")
        if name == "profile":
            self._profile = None  # otherwise the profile of the worst world would answer for the best one
            self._profile = _fetch_profile(frame, self.rows(f"SELECT * FROM profile LIMIT {MOST_FETCHED + 1}"))

    def list_texts(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> None:
        """Name a table of texts."""
        schema = ", ".join(f"{column} string" for column in columns)
        frame = self._session.createDataFrame([tuple(row) for row in rows], schema).persist()
        self._stored.append(frame)
        frame.createOrReplaceTempView(self._names[name])

    def values_at(self, ranked: str, wanted: Wanted, sizes: Sizes) -> Found:
        """The exact values at the wanted ranks of each group, without sorting all values in one place."""
        return brackets.values_at(self.rows, ranked, wanted, sizes, APPROXIMATION)

    @contextmanager
    def watched(self, progress: Callable[[float], None] | None) -> Iterator[None]:
        """While the context is open, report the finished share of the running stages to `progress`, from 0 to 1.

        A Connect server does not provide it.
        """
        if progress is None or self._context is None:
            yield
            return
        status = self._context.statusTracker()

        def share() -> float:
            stages = [status.getStageInfo(stage) for stage in status.getActiveStageIds()]
            tasks = sum(stage.numTasks for stage in stages if stage)
            return float(sum(stage.numCompletedTasks for stage in stages if stage) / max(tasks, 1))

        with report_progress(progress, share):
            yield

    def interrupt(self) -> None:
        """Stop the jobs of this check, but no other jobs of the session."""
        if self._context:
            self._context.cancelJobsWithTag(self._tag)
        else:
            self._session.interruptTag(self._tag)

    def leave(self, error: BaseException) -> None:
        """Leave the session as it was after an error; after a signal, jobs may still run, or the server be silent."""
        if isinstance(error, Exception):
            self.close()
        elif within(FAREWELL, self.interrupt):
            within(FAREWELL, self.close)

    def close(self) -> None:
        """Release what was stored, and leave the session as it was."""
        if self._profile is not None:
            self._profile.close()
        for frame in self._stored:
            frame.unpersist()
        for name in self._names.values():
            self._session.catalog.dropTempView(name)
        (self._context.removeJobTag if self._context else self._session.removeTag)(self._tag)
        for name, value in self._settings.items():
            if value is None:
                self._session.conf.unset(name)
            else:
                self._session.conf.set(name, value)

    def _translated(self, query: Query) -> tuple[str, bool]:
        return translate(query, self._names, self._large, self._doubles)

    def _frame(self, sql: str) -> DataFrame:
        return self._session.sql(sql)


def _fetch_profile(frame: DataFrame, rows: list[Any]) -> DuckDBPyConnection | None:
    """The profile as a table in this process, if it is small: that saves a Spark job for each of a dozen queries."""
    if len(rows) > MOST_FETCHED:
        return None
    import duckdb  # only for a small profile

    from highbar.engine.duckdb import SAFE_SETTINGS  # only for a small profile

    # The queries on it are in DuckDB's dialect anyway, so DuckDB can answer them in Spark's place.
    types = {name: "HUGEINT" if type_.startswith("decimal") else TYPES[type_] for name, type_ in frame.dtypes}
    connection = duckdb.connect(":memory:", config={**SAFE_SETTINGS})
    connection.execute(f"CREATE TABLE profile ({', '.join(f'{name} {type_}' for name, type_ in types.items())})")
    if rows:
        connection.executemany(f"INSERT INTO profile VALUES ({', '.join('?' * len(types))})", rows)
    return connection


def _refuse_loose_settings(session: SparkSession) -> None:
    """Refuse a session that skips files it cannot read: their rows would be lost silently."""
    for setting in ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles"):
        if str(session.conf.get(setting, "false")).lower() == "true":
            raise InputError(
                Problem(
                    "spark.session",
                    f"the Spark session has {setting} on: rows could be missing",
                    hint=f"set {setting} to false",
                )
            )


def _as_int(value: Any) -> Any:
    """A whole number that Spark returns as a decimal as an int, as from DuckDB."""
    return int(value) if isinstance(value, Decimal) else value


def _typed_columns(frame: DataFrame) -> tuple[DataFrame, dict[str, Raw]]:
    refuse_duplicate_columns(frame.columns)
    return frame, {name: _raw_column(_own_name(place), type_) for place, (name, type_) in enumerate(frame.dtypes)}


def _own_name(place: int) -> str:
    return f"c{place}"


def _raw_column(own_name: str, type_: str) -> Raw:
    if type_ in TYPES:
        return Raw(own_name, TYPES[type_])
    if type_.startswith("decimal"):
        return Raw(own_name, type_.upper())
    return Raw(f"CAST(to_json({own_name}) AS VARCHAR)", "JSON")


def _json_lines(frame: DataFrame) -> tuple[DataFrame, dict[str, Raw]]:
    """Lines of JSON: every value as JSON text, so that a number in quotes differs from a number."""
    from pyspark.sql import functions as spark  # an optional extra

    lines = frame.where(spark.trim("value") != "").select(spark.parse_json("value").alias("row"), "value")
    keys = spark.coalesce(spark.json_object_keys("value"), spark.array(spark.lit(None)))  # NULL if it is no object
    # A variant refuses a key that occurs twice, so in lower case it also refuses `L` beside `l`.
    duplicate = spark.col("value").rlike(r"\{[\s\S]*\{") & spark.expr("try_parse_json(lower(value))").isNull()
    rows = lines.select(spark.explode(keys).alias("key"), duplicate.alias("duplicate")).distinct().collect()
    if any(row["duplicate"] for row in rows if row["key"] is not None):
        raise InputError(
            Problem(
                "row.duplicate-key", "a key occurs twice in a result; case makes no difference", hint=hints.DUPLICATE
            )
        )
    found = {row["key"] for row in rows}
    if None in found:
        raise InputError(
            Problem(
                "spark.cannot-read", "cannot be read by Spark: a line is not a JSON object", hint="wanted one per line"
            )
        )
    names = sorted(found)
    columns = {name: Raw(_own_name(place), "JSON") for place, name in enumerate(names)}
    return lines.select(*(_json_text(name) for name in names)), columns


def _json_text(name: str) -> Column:
    from pyspark.sql import functions as spark  # an optional extra

    text = spark.to_json(spark.variant_get("row", _path(name), "variant"))
    if name in WHOLE:  # a variant turns 3.0 into 3, but the other engine does not accept 3.0 as a whole number
        text = spark.when(text.rlike("^-?[0-9]"), spark.get_json_object("value", f"$['{name}']")).otherwise(text)
    return spark.nullif(text, spark.lit("null"))


def _path(name: str) -> str:
    return '$["' + name.replace("\\", "\\\\").replace('"', '\\"') + '"]'


def _csv(frame: DataFrame) -> tuple[DataFrame, dict[str, Raw]]:
    _refuse_renamed(frame)
    return frame, {name: Raw(csv_cell(name, _own_name(place)), "JSON") for place, name in enumerate(frame.columns)}


def _refuse_renamed(frame: DataFrame) -> None:
    """Refuse a header with a name twice: Spark appends the position to each of the two, `passed1` and `passed2`."""
    ending = [name for place, name in enumerate(frame.columns) if name.endswith(str(place))]
    if len(ending) > 1:
        reader = frame.sparkSession.read.option("multiLine", "true").option("escape", '"')
        header = reader.csv(frame.inputFiles()[:1], header=False).first()
        refuse_duplicate_columns([str(name) for name in header or ()])


_READERS = {"parquet": _typed_columns, "jsonl": _json_lines, "csv": _csv}
