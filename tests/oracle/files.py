"""The same rows as files of every format that is read: JSONL, a JSON array, CSV and Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from tests.oracle.suites import Row

TYPES = {
    "trial": "int64",
    "passed": "bool",
    "correct": "bool",
    "latency_ms": "float64",
    "tokens_used": "int64",
    "quality_score": "float64",
    "cost_usd": "float64",
    "weight": "float64",
    "rubric": "float64",
    "stars": "float64",
    "doubt": "float64",
    "batch": "int64",
}
FLAGS = {"behaviors": "observed", "must_not": "violated"}


def write_jsonl(rows: Sequence[Row], path: Path, random: Random) -> Path:
    """One object per line; ASCII escapes or not."""
    escaped = bool(random.randrange(2))
    path = path.with_suffix(".jsonl")
    path.write_text("".join(json.dumps(row, ensure_ascii=escaped) + "\n" for row in rows), "utf-8")
    return path


def write_json(rows: Sequence[Row], path: Path, random: Random) -> Path:
    """An array; on one line or many."""
    path = path.with_suffix(".json")
    path.write_text(json.dumps(list(rows), ensure_ascii=False, indent=random.choice((None, 2))), "utf-8")
    return path


def write_csv(rows: Sequence[Row], path: Path, random: Random) -> Path:
    """A header and fields; a list as JSON or separated by `;`, true and false in any case, an absent value empty."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    table = csv.writer(text, lineterminator=random.choice(("\n", "\r\n")), quoting=csv.QUOTE_MINIMAL)
    table.writerow(columns)
    table.writerows([csv_field(row.get(column), random) for column in columns] for row in rows)
    path = path.with_suffix(".csv")
    path.write_bytes(random.choice((b"", b"\xef\xbb\xbf")) + text.getvalue().encode())
    return path


def csv_field(value: Any, random: Random) -> str:
    """One value as a field."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return random.choice(("true", "True", "TRUE") if value else ("false", "False", "FALSE"))
    if isinstance(value, list) and value and all(isinstance(entry, str) and plain(entry) for entry in value):
        return random.choice((";".join(value), json.dumps(value)))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else str(value)


def plain(entry: str) -> bool:
    """Whether a name can stand in a list separated by `;`."""
    return ";" not in entry and not entry.startswith("[")


def write_parquet(rows: Sequence[Row], path: Path, random: Random) -> Path:
    """Typed columns: lists, maps, and lists of structs, as the forms of the suite need them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = list(dict.fromkeys(key for row in rows for key in row))
    arrays = [arrow_column(pa, column, [row.get(column) for row in rows]) for column in columns]
    path = path.with_suffix(".parquet")
    pq.write_table(pa.table(dict(zip(columns, arrays, strict=True))), path)
    return path


def arrow_column(pa: Any, column: str, values: list[Any]) -> Any:
    """One column with the type that its values need; a column of nulls alone has the type of its usual form."""
    some = next((value for value in values if value not in (None, [], {})), None)
    if column == "tags" or any(isinstance(value, dict) for value in values):
        pairs = [list(value.items()) if isinstance(value, dict) else value for value in values]
        return pa.array(pairs, pa.map_(pa.string(), pa.string() if column == "tags" else pa.bool_()))
    if isinstance(some, list) and isinstance(some[0], dict):
        return pa.array(values, pa.list_(pa.struct([("name", pa.string()), (FLAGS[column], pa.bool_())])))
    if any(isinstance(value, list) for value in values):
        return pa.array(values, pa.list_(pa.string()))
    if isinstance(some, bool):
        return pa.array(values, pa.bool_())
    counted = column == "violations" and any(isinstance(value, int) for value in values)
    return pa.array(values, pa.type_for_alias("int64" if counted else TYPES.get(column, "string")))


WRITERS: dict[str, Callable[[Sequence[Row], Path, Random], Path]] = {
    "jsonl": write_jsonl,
    "json": write_json,
    "csv": write_csv,
    "parquet": write_parquet,
}
