"""Several agents in one file: results of one scenario that differ in a tag, or in a column that names an agent."""

from __future__ import annotations

import json
from collections.abc import Sequence

from highbar.columns import OF_THE_RUN
from highbar.engine.limits import MOST_COMPARED_ROWS, MOST_EXAMPLES
from highbar.engine.protocol import Rows
from highbar.engine.sources import SourcePart
from highbar.engine.sql import literal
from highbar.engine.trials import column_text
from highbar.language.phrases import some

Differing = list[tuple[str, list[str]]]
"""Columns, each with the values in which results differ."""
NAMES = ("provider", "model", "prompt")
"""Tags or columns that name an agent."""


def find_differences(
    rows: Rows, parts: Sequence[SourcePart], id_: str, trial: int | None, *, repeated: bool
) -> Differing:
    """The tags, and columns that name an agent, in which the results of one (id, trial) differ."""
    values: dict[str, set[str]] = {}
    for part in parts:
        names = [name for name in part.columns if _names_an_agent(name)]
        read = [f"CAST({part.columns[name].as_json()} AS VARCHAR)" for name in names]
        same = [f"({part.id_sql}) = {literal(id_)}"]
        if repeated and "trial" in part.columns:
            number = part.typed_sql("trial")
            same.append(f"({number}) IS NULL" if trial is None else f"({number}) = {trial}")
        source = part.relation(["id", "trial", *names])
        found = rows(
            f"SELECT {', '.join([*read, '1'])} FROM {source} WHERE {' AND '.join(same)} LIMIT {MOST_COMPARED_ROWS}"
        )
        for row in found:
            for name, text in zip(names, row[:-1], strict=True):
                for column, value in _texts(name, text):
                    values.setdefault(column, set()).add(value)
    several = {column: sorted(each)[:MOST_EXAMPLES] for column, each in values.items() if len(each) > 1}
    return sorted(several.items(), key=lambda one: (one[0].removeprefix("tags.") not in NAMES, one[0]))


def _names_an_agent(column: str) -> bool:
    return column == "tags" or column.startswith("tags.") or column in (*NAMES, *OF_THE_RUN)


def _texts(name: str, text: str | None) -> list[tuple[str, str]]:
    """The texts in a value of a column: its own, or those of its tags."""
    # Nothing else is parsed: a column of the user's own may be nested more deeply than Python can read.
    if not text or not text.startswith("{" if name == "tags" else '"'):
        return []
    value = json.loads(text)
    found = {f"tags.{tag}": inner for tag, inner in value.items()} if name == "tags" else {name: value}
    return [(column, one) for column, one in found.items() if isinstance(one, str) and one.strip()]


def pooled_variants(rows: Rows, parts: Sequence[SourcePart], *, clustered: bool) -> Differing:
    """The columns that name an agent in which the results of one scenario, or of one cluster, differ."""
    columns = [column for name in NAMES for column in (f"tags.{name}", name) if _may_have(parts, column)]
    if not columns:
        return []
    # All columns in one query: each reads the results again.
    each = " UNION ALL ".join(_values(part, columns, clustered=clustered) for part in parts)
    differ = ", ".join(f"min(value_{i}) <> max(value_{i}) AS differs_{i}" for i in range(len(columns)))
    counts = ", ".join(f"count_if(differs_{i})" for i in range(len(columns)))
    found = rows(f"SELECT {counts} FROM (SELECT {differ} FROM ({each}) GROUP BY unit)")[0]
    return [(column, _first_values(rows, each, i)) for i, column in enumerate(columns) if found[i]]


def _may_have(parts: Sequence[SourcePart], column: str) -> bool:
    return any(column in part.columns or (column.startswith("tags.") and "tags" in part.columns) for part in parts)


def _first_values(rows: Rows, each: str, place: int) -> list[str]:
    """The first values of a column, one more than a message names."""
    value = f"value_{place}"
    found = rows(
        f"SELECT DISTINCT {value} FROM ({each}) WHERE {value} IS NOT NULL ORDER BY 1 LIMIT {MOST_EXAMPLES + 1}"
    )
    return [name for (name,) in found]


def _values(part: SourcePart, columns: Sequence[str], *, clustered: bool) -> str:
    unit = part.id_sql
    if clustered and "cluster" in part.columns:
        unit = f"coalesce({part.typed_sql('cluster')}, {unit})"
    values = (f"{column_text('', column, part).sql} AS value_{i}" for i, column in enumerate(columns))
    return f"SELECT {unit} AS unit, {', '.join(values)} FROM {part.relation(['id', 'cluster', 'tags', *columns])}"


def variants_warning(found: Differing) -> str:
    """The warning about agents that are judged together."""
    names = [f"{column} ({some(values, MOST_EXAMPLES)})" for column, values in found]
    column, values = found[0]
    return (
        f"the results of one scenario differ in {' and '.join(names)}: they are pooled, and count as one cluster;"
        f" --where {column}={values[0]} judges one of them, with --subset if its scenarios have ids of their own"
    )
