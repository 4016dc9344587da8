"""Rows as JSONL in, the same rows as Parquet out."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from highbar.columns import COLUMNS, Form, of_form
from highbar.engine.sql import identifier, literal
from highbar.load.counting import LONGEST_RESULT
from highbar.load.parquet_rows import OFFLINE_SETTINGS

_OF_FORM: Mapping[Form, str] = {
    "whole": "BIGINT",
    "number": "DOUBLE",
    "truth": "BOOLEAN",
    "names": "VARCHAR[]",
    "tags": "MAP(VARCHAR, VARCHAR)",
    **dict.fromkeys(("id", "text", "shown", "outcome"), "VARCHAR"),
}
"""The forms that have a type in Parquet; a column of any other form gets the type of its values."""
_TYPES = {column.name: _OF_FORM[column.form] for column in COLUMNS if column.form in _OF_FORM}


def to_parquet(rows: str, target: str) -> None:
    """Write rows as Parquet: our columns with their types, others as numbers or truth values if all values are."""
    with duckdb.connect(config=dict(OFFLINE_SETTINGS)) as connection:
        named = f"{literal(rows)}, format='newline_delimited', hive_partitioning=false, records='true'"
        source = f"{named}, maximum_object_size={LONGEST_RESULT}"
        # Over all rows, not a sample: a type that a later row contradicts would lose that row's value.
        described = connection.execute(
            f"DESCRIBE SELECT * FROM read_json({source}, sample_size=-1, map_inference_threshold=-1)"
        ).fetchall()
        columns = {str(name): _type(str(name), str(found)) for name, found, *_ in described}
        declared = ", ".join(f"{literal(name)}: {literal(type_)}" for name, type_ in columns.items())
        chosen = ", ".join(identifier(name) for name in columns)
        connection.execute(
            f"COPY (SELECT {chosen} FROM read_json({source}, columns={{{declared}}})) TO {literal(target)}"
            " (FORMAT parquet, COMPRESSION zstd)"
        )


def _type(name: str, found: str) -> str:
    if name in _TYPES:
        return _TYPES[name]
    if found in ("BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR[]"):
        return found
    if name in of_form("observed", "violated") and found.startswith(("STRUCT(", "MAP(")):
        return "MAP(VARCHAR, BOOLEAN)"
    return "VARCHAR" if found in ("VARCHAR", "DATE", "TIME", "TIMESTAMP", "UUID") else "JSON"
