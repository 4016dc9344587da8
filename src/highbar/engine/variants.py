"""Several agents in one file: results of one scenario that differ in a tag, or in a text column of the user's own."""

from __future__ import annotations

import json
from collections.abc import Sequence

from highbar.columns import OF_THE_RUN
from highbar.engine.database import Rows
from highbar.engine.limits import MOST_NAMED, MOST_VARIANT_ROWS
from highbar.engine.sources import SourcePart
from highbar.engine.sql import literal
from highbar.engine.trials import column_text
from highbar.engine.typed import READERS
from highbar.language.phrases import some

Differing = list[tuple[str, list[str]]]
"""Columns, each with the values by which results differ."""
NAMES = ("provider", "model", "prompt")
"""Tags or columns that name an agent."""


def differing(rows: Rows, parts: Sequence[SourcePart], id_: str, trial: int | None, *, repeated: bool) -> Differing:
    """By which tags, or columns that name an agent, the results of one (id, trial) differ."""
    values: dict[str, set[str]] = {}
    for part in parts:
        names = [name for name in part.columns if name.startswith("tags") or name in (*NAMES, *OF_THE_RUN)]
        read = [f"CAST({part.columns[name].as_json()} AS VARCHAR)" for name in names]
        same = [f"({READERS['id']('id', part.columns['id']).columns[0][1]}) = {literal(id_)}"]
        if repeated and "trial" in part.columns:
            number = READERS["trial"]("trial", part.columns["trial"]).columns[0][1]
            same.append(f"({number}) IS NULL" if trial is None else f"({number}) = {trial}")
        source = part.relation(["id", "trial", *names])
        found = rows(
            f"SELECT {', '.join([*read, '1'])} FROM {source} WHERE {' AND '.join(same)} LIMIT {MOST_VARIANT_ROWS}"
        )
        for row in found:
            for name, text in zip(names, row[:-1], strict=True):
                for column, value in _texts(name, text):
                    values.setdefault(column, set()).add(value)
    several = {column: sorted(each)[:MOST_NAMED] for column, each in values.items() if len(each) > 1}
    return sorted(several.items(), key=lambda one: (one[0].removeprefix("tags.") not in NAMES, one[0]))


def _texts(name: str, text: str | None) -> list[tuple[str, str]]:
    """The texts that a value of a column holds: its own, or those of its tags."""
    value = json.loads(text) if text else None
    if name == "tags" and isinstance(value, dict):
        return [(f"tags.{tag}", inner) for tag, inner in value.items() if isinstance(inner, str) and inner.strip()]
    return [(name, value)] if isinstance(value, str) and value.strip() else []


def pooled(rows: Rows, parts: Sequence[SourcePart], *, clustered: bool) -> Differing:
    """By which of the columns that name an agent the results of one scenario, or of one cluster, differ."""
    found: Differing = []
    for name in NAMES:
        for column in (f"tags.{name}", name):
            values = _pooled(rows, parts, column, clustered=clustered)
            if values:
                found.append((column, values))
    return found


def _pooled(rows: Rows, parts: Sequence[SourcePart], column: str, *, clustered: bool) -> list[str]:
    if not any(column in part.columns or (column.startswith("tags.") and "tags" in part.columns) for part in parts):
        return []
    each = " UNION ALL ".join(_value(part, column, clustered=clustered) for part in parts)
    several = f"SELECT unit FROM ({each}) GROUP BY unit HAVING min(value) <> max(value)"
    if not rows(f"SELECT count(*) FROM ({several})")[0][0]:
        return []
    found = rows(f"SELECT DISTINCT value FROM ({each}) WHERE value IS NOT NULL ORDER BY value LIMIT {MOST_NAMED + 1}")
    return [value for (value,) in found]


def _value(part: SourcePart, column: str, *, clustered: bool) -> str:
    unit = READERS["id"]("id", part.columns["id"]).columns[0][1]
    if clustered and "cluster" in part.columns:
        unit = f"coalesce({READERS['cluster']('cluster', part.columns['cluster']).columns[0][1]}, {unit})"
    value = column_text("value", column, part).columns[0][1]
    return f"SELECT {unit} AS unit, {value} AS value FROM {part.relation(['id', 'cluster', 'tags', column])}"


def note(found: Differing) -> str:
    """The warning about agents that are judged together."""
    names = [f"{column} ({some(values, MOST_NAMED)})" for column, values in found]
    column, values = found[0]
    return (
        f"the results of one scenario differ in {' and '.join(names)}: they are pooled, and count as one cluster;"
        f" --where {column}={values[0]} judges one of them, with --subset if its scenarios have ids of their own"
    )
