"""Any Python object that may hold rows → a table that the engine reads by the rules of a file, or a clear refusal."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from highbar.columns import COLUMN_NAMES
from highbar.errors import InputError, Problem
from highbar.load import hints
from highbar.load.explain import MOST_PROBLEMS, parse_row
from highbar.load.rows import faults, said_twice
from highbar.model.job import Table
from highbar.model.ranges import ColumnRange

WANTED = "wanted a path, a list of paths, a list of dicts (one per trial), an Arrow table, or a pandas or polars frame"


def accept(results: object) -> Table:
    """The object as a Table. Raises InputError for what holds no rows, or none that can be read by the rules."""
    if _is(results, "pyspark", "DataFrame"):
        return Table(results, on_spark=True)
    if _is(results, "pandas", "DataFrame"):
        return _of_pandas(results)
    if _is(results, "polars", "DataFrame", "LazyFrame"):
        return _of_polars(results)
    if _is(results, "pyarrow", "Table", "RecordBatch", "RecordBatchReader", "Dataset", "Scanner"):
        return _of_arrow(results)
    if hasattr(type(results), "__arrow_c_stream__") and not _is(results, "polars", "Series"):
        return _of_arrow(_through_arrow(results))
    raise InputError(Problem(f"found {_named(results)}, {WANTED}", hint=_hint(results)))


def _is(results: object, package: str, *names: str) -> bool:
    """Whether the object is one of a package's classes, which is not imported to find out."""
    return any(
        kind.__name__ in names and kind.__module__.partition(".")[0] == package for kind in type(results).__mro__
    )


def _named(results: object) -> str:
    return "None" if results is None else f"an object of type {type(results).__name__}"


def _hint(results: object) -> str | None:
    if isinstance(results, Mapping):
        return "put each trial's dict into a list: [{'id': …}, …]"
    if isinstance(results, bytes | bytearray | memoryview):
        return "write the bytes to a file and give its path"
    if isinstance(results, Iterable):
        return "make a list of it first: list(rows)"
    return None


def _refuse_names(names: Sequence[object]) -> None:
    """Refuse columns that have no text for a name, or one name."""
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise InputError(Problem(f"the column name {odd[0]!r} is not text", hint="name every column"))
    again = said_twice([str(name) for name in names])
    if again:
        raise InputError(Problem(again.replace("key", "column"), hint=hints.DUPLICATE))


def _refuse_unnamed(names: Sequence[str]) -> None:
    """Refuse a column without a name: the engine would make one up."""
    if any(not name.strip() for name in names):
        raise InputError(Problem("a column without a name", hint="name it, or leave it out"))


def _of_pandas(frame: Any) -> Table:
    _refuse_names(list(frame.columns))
    _refuse_unnamed(list(frame.columns))
    from pandas.api.types import infer_dtype  # the caller has pandas

    as_json: dict[str, list[str | None]] = {}
    for name in frame.columns:
        column = frame[name]
        if str(column.dtype) == "category":
            column = column.astype(column.cat.categories.dtype if len(column.cat.categories) else "object")
        if str(column.dtype) == "object" and infer_dtype(column, skipna=True) not in ("string", "boolean", "empty"):
            as_json[name] = [_json(value, name, number) for number, value in enumerate(column, 1)]
    if not as_json:
        return Table(frame)
    import pandas as pd  # loaded already

    texts = {name: pd.Series(column, index=frame.index, dtype="str") for name, column in as_json.items()}
    return Table(frame.assign(**texts), frozenset(as_json))


def _json(value: object, column: str, row: int) -> str | None:
    """The JSON text of a value, so that 1 and "1" stay two things; None if it is absent."""
    if value is None or _is(value, "pandas", "NAType", "NaTType") or (isinstance(value, float) and math.isnan(value)):
        return None
    try:
        default = _simpler if column in COLUMN_NAMES else _simpler_or_text
        # As DuckDB writes it: the engine's patterns know no spaces between values.
        return json.dumps(value, allow_nan=False, default=default, separators=(",", ":"), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        problem = Problem(f"row {row}: {column}: found {_named(value)}: {error}", hint="wanted what JSON can say")
        raise InputError(problem) from error


def _simpler(value: Any) -> object:
    """A value of NumPy or a decimal as what JSON has."""
    if _is(value, "numpy", "ndarray"):
        return value.tolist()
    if _is(value, "numpy", "generic"):
        return value.item()
    if _is(value, "decimal", "Decimal"):
        return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
    raise TypeError(f"{_named(value)} is not a value of a result")


def _simpler_or_text(value: Any) -> object:
    """The same for a column of the user's own, which may hold anything."""
    try:
        return _simpler(value)
    except TypeError:
        return str(value)


def _of_polars(frame: Any) -> Table:
    import polars as pl  # the caller has it

    if isinstance(frame, pl.LazyFrame):
        frame = _tried(frame.collect)
    for name, type_ in frame.schema.items():
        if type_ == pl.Object:
            raise InputError(
                Problem(f"the column {name!r} holds Python objects", hint="give the column a type, or drop it")
            )
    return _of_arrow(_tried(frame.to_arrow))


def _of_arrow(table: Any) -> Table:
    """An Arrow table that can be read more than once: a reader of batches gives its rows only once."""
    for method in ("read_all", "to_table"):
        if _is(table, "pyarrow", "RecordBatchReader", "Scanner") and hasattr(table, method):
            table = _tried(getattr(table, method))
    _refuse_fields(table.schema)
    _refuse_unnamed(table.schema.names)
    return Table(table)


def _refuse_fields(fields: Any) -> None:
    """Refuse a schema, or a type, in which two fields of one level have one name."""
    count = getattr(fields, "num_fields", None)
    inner = [fields.field(place) for place in range(len(fields) if count is None else count)]
    if count is None or type(fields).__name__ == "StructType":
        _refuse_names([field.name for field in inner])
    for field in inner:
        _refuse_fields(field.type)


def _through_arrow(results: object) -> Any:
    try:
        import pyarrow as pa  # only for objects of other libraries
    except ImportError as error:
        raise InputError(Problem(f"{_named(results)} needs pyarrow to be read", hint="pip install pyarrow")) from error
    return _tried(lambda: pa.table(results))


def _tried(read: Callable[[], Any]) -> Any:
    """The result of another library for the caller's object; any exception means that the object cannot be read."""
    try:
        return read()
    except Exception as error:
        message, hint = hints.of_engine(error)
        raise InputError(Problem(message, hint=hint)) from error


def explain_table(
    table: Table, scalars: tuple[str, ...] = (), numbers: tuple[ColumnRange, ...] = ()
) -> tuple[Problem, ...]:
    """The first problems of a table that the engine refused. Empty if this reader finds nothing to object to."""
    import duckdb  # only for a refused table

    found: list[Problem] = []
    try:
        with duckdb.connect() as connection:
            connection.register("results", table.rows)
            cursor = connection.execute("SELECT * FROM results")
            names = [column[0] for column in cursor.description or ()]
            number = 0
            while rows := cursor.fetchmany(10_000):
                for values in rows:
                    number += 1
                    row = {name: _value(table, name, value) for name, value in zip(names, values, strict=True)}
                    found += [
                        Problem(f"row {number}: {message}", hint=hint)
                        for message, hint in faults(row, scalars, numbers)
                    ]
                    if len(found) >= MOST_PROBLEMS:
                        return tuple(found[:MOST_PROBLEMS])
    except (duckdb.Error, ValueError, TypeError, RuntimeError) as error:
        if isinstance(error, duckdb.InterruptException | duckdb.OutOfMemoryException):
            raise
        message, hint = hints.of_engine(error)
        found.append(Problem(message, hint=hint or "give each column one type, or drop it"))
    return tuple(found)


def _value(table: Table, name: str, value: Any) -> Any:
    return parse_row(value.encode()) if name in table.as_json and isinstance(value, str) else value
