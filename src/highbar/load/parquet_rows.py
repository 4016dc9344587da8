"""A Parquet file → its rows with JSON values, for readers that know only text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from highbar.errors import InputError, Problem
from highbar.load import footer, hints
from highbar.load.rows import exact_number, named_twice

_AT_ONCE = 10_000
_ZONED = "TIMESTAMP WITH TIME ZONE"


def read_parquet(path: str) -> Iterator[Mapping[str, Any]]:
    """The rows, one at a time. Raises a DuckDB error or `counting.Uncountable` if the Parquet file is damaged.

    Raises InputError for names that occur twice, and for decimals that would be rounded.
    """
    import duckdb  # only for files of this kind

    footer.row_count(path)
    with duckdb.connect(config={"enable_external_access": "true", "autoload_known_extensions": "false"}) as connection:
        connection.execute("SET TimeZone = 'UTC'")  # the same text on every machine
        fields = connection.execute("SELECT name, num_children FROM parquet_schema($path)", {"path": path}).fetchall()
        _refuse_repeated(iter(fields))
        described = connection.execute("DESCRIBE SELECT * FROM read_parquet($path)", {"path": path}).fetchall()
        columns = ", ".join(_selected(name, type_) for name, type_, *_ in described)
        cursor = connection.execute(f"SELECT {columns} FROM read_parquet($path)", {"path": path})
        names = [name for name, *_ in described]
        while rows := cursor.fetchmany(_AT_ONCE):
            for values in rows:
                yield dict(zip(names, map(_plain, values), strict=True))


def _selected(name: str, type_: str) -> str:
    """SQL for a column; times with a zone as text, since DuckDB needs pytz to return them to Python."""
    column = '"{}"'.format(name.replace('"', '""'))
    return f"CAST({column} AS {type_.replace(_ZONED, 'VARCHAR')})" if _ZONED in type_ else column


def _refuse_repeated(fields: Iterator[tuple[str, int | None]]) -> str:
    """Refuse fields of one level that have the same name, which DuckDB would rename.

    Consumes one field and those below it from `fields`, which are in depth-first order, and returns the field's name.
    """
    name, children = next(fields)
    again = named_twice([_refuse_repeated(fields) for _ in range(children or 0)])
    if again:
        raise InputError(Problem(again.replace("key", "column", 1), hint=hints.DUPLICATE))
    return name


def line(row: Mapping[str, Any]) -> bytes:
    """A row as a line of JSONL. NaN and infinities are written as such, so that the reader of the line refuses them."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def _plain(value: Any) -> Any:
    """A value as JSON has it: a decimal becomes a number; a date, a time or a UUID becomes text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if type(value).__name__ == "Decimal":
        return exact_number(value)
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)
