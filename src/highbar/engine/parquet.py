"""Rows as JSONL in, the same rows as Parquet out."""

from __future__ import annotations

import duckdb

from highbar.engine.sql import identifier, literal

_TYPES = {
    **dict.fromkeys(("trial", "tokens_used"), "BIGINT"),
    **dict.fromkeys(("passed", "correct"), "BOOLEAN"),
    **dict.fromkeys(("latency_ms", "quality_score", "cost_usd", "weight"), "DOUBLE"),
    "expected_behaviors": "VARCHAR[]",
    "tags": "MAP(VARCHAR, VARCHAR)",
    **dict.fromkeys(
        ("id", "category", "capability", "outcome", "error", "input", "output", "cluster", "agent_version", "suite"),
        "VARCHAR",
    ),
    "judge": "VARCHAR",
}
"""The columns of ours that have one form, as Parquet has them."""


def to_parquet(rows: str, target: str) -> None:
    """Write rows as Parquet: columns of ours with their types, others as numbers or truth values where all are."""
    with duckdb.connect(
        config={"autoload_known_extensions": "false", "autoinstall_known_extensions": "false"}
    ) as connection:
        source = f"{literal(rows)}, format='newline_delimited', maximum_object_size=16777216"
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
    if name in ("behaviors", "must_not") and found.startswith(("STRUCT(", "MAP(")):
        return "MAP(VARCHAR, BOOLEAN)"
    return "VARCHAR" if found in ("VARCHAR", "DATE", "TIME", "TIMESTAMP", "UUID") else "JSON"
