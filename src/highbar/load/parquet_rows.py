"""A Parquet file → its rows with JSON values, for readers that know only text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from highbar.load import footer
from highbar.load.duplicate_names import refuse_duplicate_fields
from highbar.load.folders import exact_path
from highbar.load.row_faults import exact_number

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROWS = "read_parquet($path, hive_partitioning=false)"
"""SQL for the rows of a file. The names of its folders give no columns: they would replace those of the file."""
OFFLINE_SETTINGS = {"autoload_known_extensions": "false", "autoinstall_known_extensions": "false"}
"""For a connection that reads or writes one file: nothing is fetched from the network."""
_AT_ONCE = 10_000
_ZONED = "TIMESTAMP WITH TIME ZONE"


def read_parquet(path: str) -> Iterator[Mapping[str, Any]]:
    """The rows, one at a time. Raises a DuckDB error or `counting.Uncountable` if the Parquet file is damaged.

    Raises InputError for names that occur twice, and for decimals that would be rounded.
    """
    footer.row_count(path)
    with query_file(path) as query:
        query("SET TimeZone = 'UTC'")  # the same text on every machine
        refuse_duplicate_fields(iter(query("SELECT name, num_children FROM parquet_schema($path)").fetchall()))
        described = query(f"DESCRIBE SELECT * FROM {ROWS}").fetchall()
        columns = ", ".join(_column_sql(name, type_) for name, type_, *_ in described)
        cursor = query(f"SELECT {columns} FROM {ROWS}")
        names = [name for name, *_ in described]
        while rows := cursor.fetchmany(_AT_ONCE):
            for values in rows:
                yield dict(zip(names, map(_json_value, values), strict=True))


@contextmanager
def query_file(path: str) -> Iterator[Callable[[str], DuckDBPyConnection]]:
    """A function that asks DuckDB about exactly this file, which `$path` stands for in the query."""
    import duckdb  # only for files of this kind

    with exact_path(path) as exact, duckdb.connect(config=dict(OFFLINE_SETTINGS)) as connection:

        def query(sql: str) -> DuckDBPyConnection:
            return connection.execute(sql, {"path": exact} if "$path" in sql else None)

        try:
            yield query
        except duckdb.Error as error:
            raise type(error)(str(error).replace(exact, path)) from error


def _column_sql(name: str, type_: str) -> str:
    """SQL for a column; times with a zone as text, since DuckDB needs pytz to return them to Python."""
    column = '"{}"'.format(name.replace('"', '""'))
    return f"CAST({column} AS {type_.replace(_ZONED, 'VARCHAR')})" if _ZONED in type_ else column


def line(row: Mapping[str, Any]) -> bytes:
    """A row as a line of JSONL. NaN and infinities are written as such, so that the reader of the line refuses them."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def _json_value(value: Any) -> Any:
    """A value as JSON has it: a decimal becomes a number; a date, a time or a UUID becomes text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(inner) for inner in value]
    if type(value).__name__ == "Decimal":
        return exact_number(value)
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)
