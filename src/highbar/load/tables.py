"""Any Python object that may hold rows → a table that the engine reads by the rules of files, or a clear refusal."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from itertools import islice
from pathlib import PurePath
from typing import Any, TypeGuard
from uuid import UUID

from msgspec.structs import replace

from highbar.columns import COLUMN_NAMES, of_form
from highbar.errors import InputError, Problem
from highbar.load import hints
from highbar.load.duplicate_names import refuse_duplicate_columns
from highbar.load.explain import MOST_PROBLEMS, parse_row
from highbar.load.row_faults import exact_number, faults
from highbar.model.job import Table
from highbar.model.requests import ColumnRange

_TEXTS = (date, time, timedelta, UUID, PurePath)
TRUTHS = of_form("truth")
_AT_ONCE = 10_000
WANTED = "wanted a path, a list of paths, dicts (one per trial), an Arrow table, or a pandas or polars data frame"


def accept(results: object) -> Table:
    """The object as a Table. Raises InputError if it holds no rows, or none that can be read by the rules of files."""
    if _is(results, "pyspark", "DataFrame"):
        return Table(results, on_spark=True)
    if _is(results, "pandas", "DataFrame"):
        return _of_pandas(results)
    if _is(results, "polars", "DataFrame", "LazyFrame"):
        return _of_polars(results)
    if _is(results, "pyarrow", "Table", "RecordBatch", "RecordBatchReader", "Dataset", "Scanner"):
        return _of_arrow(results)
    if hasattr(type(results), "__arrow_c_stream__") and not _is(results, "polars", "Series"):
        return _of_arrow(_as_arrow(results))
    raise InputError(Problem("call.wrong-type", f"found {_type_name(results)}, {WANTED}", hint=_hint(results)))


def is_iterable(results: object) -> TypeGuard[Iterable[object]]:
    """Whether this is an iterable (list, generator) of paths or rows, not a data frame, a column, a dict or text."""
    odd = isinstance(results, Mapping | bytes | bytearray | memoryview) or hasattr(results, "__arrow_c_stream__")
    library = type(results).__module__.partition(".")[0]
    return isinstance(results, Iterable) and not odd and library not in ("pandas", "polars", "pyarrow", "pyspark")


def records(results: object) -> list[object]:
    """The rows of a data frame or an Arrow table as dicts, for a mapping. Raises InputError for anything else."""
    if _is(results, "pandas", "DataFrame"):
        frame: Any = results
        _refuse_names(list(frame.columns))
        rows = frame.to_dict("records")
        return [{name: value for name, value in row.items() if not _is_absent(value)} for row in rows]
    table: Any = results if _is(results, "pyspark", "DataFrame") else accept(results).rows
    if isinstance(table, _RowStream):
        return list(_call(table.frame.to_dicts))
    if hasattr(table, "to_table"):  # a data set
        table = _call(table.to_table)
    if not hasattr(table, "to_pylist"):
        raise InputError(Problem("call.wrong-type", f"found {_type_name(results)}, {WANTED}", hint=_hint(results)))
    return list(_call(table.to_pylist))


def line(number: int, row: object) -> str:
    """A row as a line of JSONL. Raises InputError for values that JSON lacks, and for decimals that it would round."""
    try:
        if not isinstance(row, Mapping):
            return json.dumps(row, allow_nan=False) + "\n"
        values = (
            f"{json.dumps(name)}: {json.dumps(value, allow_nan=False, default=_of_row(name))}"
            for name, value in row.items()
            if _named_by_text(name)
        )
        return f"{{{', '.join(values)}}}\n"
    except InputError as error:
        problems = (replace(one, message=f"row {number}: {one.message}", file="<rows>") for one in error.problems)
        raise InputError(*problems) from error
    except (TypeError, ValueError, RecursionError) as error:
        hint = "NaN and infinities are not results: leave the column out, or write None"
        raise InputError(Problem(_code_of(error), f"row {number}: {error}", file="<rows>", hint=hint)) from error


def _code_of(error: Exception) -> str:
    """The code of a value that `json` refuses: NaN and infinities are a ValueError, what JSON lacks is a TypeError."""
    if isinstance(error, RecursionError):
        return "file.too-deep"
    return "row.not-finite" if isinstance(error, ValueError) else "row.wrong-type"


def _of_row(column: str) -> Callable[[Any], object]:
    """A function for values that JSON lacks: in a column of the user's own, dates, times and the like become text."""

    def plain(value: Any) -> object:
        own = column not in COLUMN_NAMES and isinstance(value, _TEXTS)
        return str(value) if own else _json_value(value)

    return plain


def _named_by_text(name: object) -> bool:
    if isinstance(name, str):
        return True
    raise TypeError(f"the column name {name!r} is not text")


def _default(column: str) -> Callable[[Any], object]:
    """A function for values that JSON lacks: in a column of the user's own, every such value becomes text."""
    return _json_value if column in COLUMN_NAMES else _json_value_or_text


def _is_absent(value: object) -> bool:
    return (
        value is None or _is(value, "pandas", "NAType", "NaTType") or (isinstance(value, float) and math.isnan(value))
    )


def _is(results: object, package: str, *names: str) -> bool:
    """Whether the object is of one of a package's classes, without importing the package."""
    return any(
        kind.__name__ in names and kind.__module__.partition(".")[0] == package for kind in type(results).__mro__
    )


def _type_name(results: object) -> str:
    return "None" if results is None else f"an object of type {type(results).__name__}"


def _hint(results: object) -> str | None:
    if isinstance(results, Mapping):
        return "put each trial's dict into a list: [{'id': …}, …]"
    if isinstance(results, bytes | bytearray | memoryview):
        return "write the bytes to a file and give its path"
    return None


def _refuse_names(names: Sequence[object]) -> None:
    """Refuse columns whose names are not text, or are the same."""
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise InputError(
            Problem("results.unnamed-column", f"the column name {odd[0]!r} is not text", hint="name every column")
        )
    refuse_duplicate_columns([str(name) for name in names])


def _refuse_unnamed(names: Sequence[str]) -> None:
    """Refuse a column without a name: the engine would make one up."""
    if any(not name.strip() for name in names):
        raise InputError(Problem("results.unnamed-column", "a column without a name", hint="name it, or leave it out"))


def _of_pandas(frame: Any) -> Table:
    _refuse_names(list(frame.columns))
    _refuse_unnamed(list(frame.columns))
    from pandas.api.types import infer_dtype  # the caller has pandas

    as_json: dict[str, list[str | None]] = {}
    for name in frame.columns:
        column = frame[name]
        # The categories themselves may be objects of several types, which the next test must see.
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
    """The JSON text of a value, so that 1 and "1" differ; None if it is absent."""
    if _is_absent(value):
        return None
    try:
        # As DuckDB writes it: the engine's patterns expect no spaces between values.
        return json.dumps(value, allow_nan=False, default=_default(column), separators=(",", ":"), ensure_ascii=False)
    except InputError as error:
        problems = (replace(one, message=f"row {row}: {column}: {one.message}") for one in error.problems)
        raise InputError(*problems) from error
    except (TypeError, ValueError, RecursionError) as error:
        problem = Problem(
            _code_of(error),
            f"row {row}: {column}: found {_type_name(value)}: {error}",
            hint="wanted what JSON can say",
        )
        raise InputError(problem) from error


def _json_value(value: Any) -> object:
    """A NumPy value or a decimal as a JSON value. Raises TypeError for anything else, InputError for long decimals."""
    if _is(value, "numpy", "ndarray"):
        return value.tolist()
    if _is(value, "numpy", "generic"):
        return value.item()
    if _is(value, "decimal", "Decimal"):
        return exact_number(value)  # rounding could lift it to a threshold
    raise TypeError(f"{_type_name(value)} is not a value of a result")


def _json_value_or_text(value: Any) -> object:
    """The same for a column of the user's own, in which any other value becomes text."""
    try:
        return _json_value(value)
    except (TypeError, InputError):
        return str(value)


def _of_polars(frame: Any) -> Table:
    import polars as pl  # the caller has it

    if isinstance(frame, pl.LazyFrame):
        frame = _call(frame.collect)
    for name, type_ in frame.schema.items():
        if type_ == pl.Object:
            raise InputError(
                Problem(
                    "row.wrong-type",
                    f"the column {name!r} holds Python objects",
                    hint="give the column a type, or drop it",
                )
            )
    _refuse_unnamed(frame.columns)
    _refuse_polars_fields(frame.schema.items())
    # DuckDB cannot read fields that are null in every row, as polars streams them.
    nulls = {name: _with_texts(type_) for name, type_ in frame.schema.items() if _with_texts(type_) != type_}
    return Table(_RowStream(_call(lambda: frame.cast(nulls)) if nulls else frame))


def _with_texts(type_: Any) -> Any:
    """A polars type in which every null type, at any depth, is replaced by text."""
    import polars as pl  # the caller has it

    if type_ == pl.Null:
        return pl.String()
    if isinstance(type_, pl.List):
        return pl.List(_with_texts(type_.inner))
    if isinstance(type_, pl.Struct):
        return pl.Struct([pl.Field(field.name, _with_texts(field.dtype)) for field in type_.fields])
    return type_


def _refuse_polars_fields(fields: Iterable[tuple[str, Any]]) -> None:
    """Refuse a schema, or a type, in which two fields of one level have the same name, ignoring case."""
    named = list(fields)
    _refuse_names([name for name, _ in named])
    for _, type_ in named:
        element = type_
        while hasattr(element, "inner"):  # of a list
            element = element.inner
        _refuse_polars_fields((field.name, field.dtype) for field in getattr(element, "fields", ()))


class _RowStream:
    """A polars data frame as an Arrow stream: DuckDB reads the frame itself only with pyarrow, which may be missing."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)


def _of_arrow(table: Any) -> Table:
    """An Arrow table that can be read more than once: a reader of batches gives its rows only once."""
    for method in ("read_all", "to_table"):
        if _is(table, "pyarrow", "RecordBatchReader", "Scanner") and hasattr(table, method):
            table = _call(getattr(table, method))
    _refuse_fields(table.schema)
    _refuse_unnamed(table.schema.names)
    return Table(table)


def _refuse_fields(fields: Any) -> None:
    """Refuse a schema, or a type, in which two fields of one level have the same name."""
    count = getattr(fields, "num_fields", None)
    inner = [fields.field(place) for place in range(len(fields) if count is None else count)]
    if count is None or type(fields).__name__ == "StructType":
        _refuse_names([field.name for field in inner])
    for field in inner:
        _refuse_fields(field.type)


def _as_arrow(results: object) -> Any:
    try:
        import pyarrow as pa  # only for objects of other libraries
    except ImportError as error:
        raise InputError(
            Problem(
                "machine.missing-package", f"{_type_name(results)} needs pyarrow to be read", hint="pip install pyarrow"
            )
        ) from error
    return _call(lambda: pa.table(results))


def _call(read: Callable[[], Any]) -> Any:
    """The result of another library's function on the caller's object; any exception means that it cannot be read."""
    try:
        return read()
    except Exception as error:
        raise InputError(hints.of_engine(error)) from error


def explain_table(
    table: Table, scalars: tuple[str, ...] = (), numbers: tuple[ColumnRange, ...] = ()
) -> tuple[Problem, ...]:
    """The first problems of a table that the engine refused; empty if this reader finds none."""
    import duckdb  # for its exceptions; only for a refused table

    found: list[Problem] = []
    numeric: set[str] = set()  # columns of true and false that have 0 and 1: one problem for each, not for each row
    number = 0
    try:
        for row in _rows(table):
            if not number and row.get("id") is None and (unnamed := _missing_id(table)):
                return (unnamed,)
            number += 1
            numeric |= {column for column in TRUTHS if _is_zero_or_one(row.get(column))}
            # Without the columns of 0 and 1: their problems would be repeated for every row.
            rest = {**row, **dict.fromkeys(numeric)}
            wrong = faults(rest, scalars, numbers)
            found += [Problem(code, f"row {number}: {message}", hint=hint) for code, message, hint in wrong]
            if len(found) >= MOST_PROBLEMS:
                break
    except (duckdb.Error, ValueError, TypeError, RuntimeError) as error:
        if isinstance(error, duckdb.InterruptException | duckdb.OutOfMemoryException):
            raise
        one = hints.of_engine(error)
        found.append(replace(one, hint=one.hint or "give each column one type, or drop it"))
    return (*(_zero_or_one(table, column) for column in sorted(numeric)), *found)[:MOST_PROBLEMS]


def _rows(table: Table) -> Iterator[dict[str, Any]]:
    """The rows of a table, one at a time, with the values that a file would have."""
    import duckdb  # only for a refused table

    from highbar.load.parquet_rows import OFFLINE_SETTINGS  # only for a refused table

    with duckdb.connect(config=dict(OFFLINE_SETTINGS)) as connection:
        connection.register("results", table.rows)
        cursor = connection.execute("SELECT * FROM results")
        names = [column[0] for column in cursor.description or ()]
        while rows := cursor.fetchmany(_AT_ONCE):
            for values in rows:
                yield {name: _value(table, name, value) for name, value in zip(names, values, strict=True)}


def _missing_id(table: Table) -> Problem | None:
    """The problem of a table whose first rows have no id, with code that renames its columns, a guess; else None."""
    from highbar.load import missing_ids  # only for a refused table
    from highbar.load.sample import MOST_ROWS  # only for a refused table

    rows = tuple(islice(_rows(table), MOST_ROWS))
    return None if any(row.get("id") is not None for row in rows) else missing_ids.of_table(rows, _package(table))


def _package(table: Table) -> str:
    return type(table.rows).__module__.partition(".")[0]


def _is_zero_or_one(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value in (0, 1)


def _zero_or_one(table: Table, column: str) -> Problem:
    """One problem for a column of 0 and 1, with code that converts it to truth values and keeps missing values."""
    if _package(table) != "pandas":
        hint = f'polars: df.with_columns(pl.col("{column}") == 1); Arrow: pyarrow.compute.equal(table["{column}"], 1)'
    elif not table.rows[column].dropna().isin((0, 1)).all():
        hint = "say which numbers are true"
    elif table.rows[column].isna().any():  # astype(bool) would make True of what is absent
        hint = f'df["{column}"] = df["{column}"].map({{1: True, 0: False}})'
    else:
        hint = f'df["{column}"] = df["{column}"].astype(bool)'
    return Problem("row.wrong-type", f"{column}: found 0 and 1, wanted true or false", hint=hint)


def _value(table: Table, name: str, value: Any) -> Any:
    return parse_row(value.encode()) if name in table.as_json and isinstance(value, str) else value
