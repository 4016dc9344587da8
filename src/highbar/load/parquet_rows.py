"""A Parquet file → its rows as JSON has them, for readers that know only text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from highbar.load import footer

_AT_ONCE = 10_000


def read(path: str) -> Iterator[Mapping[str, Any]]:
    """The rows, one at a time. Raises a DuckDB error or `counting.Uncountable` if it is no sound Parquet file."""
    import duckdb  # only for files of this kind

    footer.row_count(path)
    with duckdb.connect(config={"enable_external_access": "true", "autoload_known_extensions": "false"}) as connection:
        cursor = connection.execute("SELECT * FROM read_parquet($path)", {"path": path})
        names = [column[0] for column in cursor.description or ()]
        while rows := cursor.fetchmany(_AT_ONCE):
            for values in rows:
                yield dict(zip(names, map(_plain, values), strict=True))


def line(row: Mapping[str, Any]) -> bytes:
    """A row as a line of JSONL. NaN and infinities stay what they are, and the reader of the line refuses them."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def _plain(value: Any) -> Any:
    """A value as what JSON has: a decimal is its number, and a date, a time or a UUID its text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if type(value).__name__ == "Decimal":
        return int(value) if value == value.to_integral_value() else float(value)
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)
