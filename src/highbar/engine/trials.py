"""Raw columns → the `trials` relation: one row per trial, typed, scored, every number a whole number."""

from __future__ import annotations

from collections.abc import Sequence

from highbar.engine import scoring
from highbar.engine.layout import Layout
from highbar.engine.protocol import Request
from highbar.engine.sources import Part
from highbar.engine.sql import literal, pointer
from highbar.engine.typed import EMPTY, NOT_JSON, READERS, Raw, Typed, number
from highbar.model import Where


def relation(parts: Sequence[Part], request: Request, layout: Layout, *, telling: bool) -> str:
    """SQL for the trials of all parts; `telling`: with `told`, what the reason of a failure can be made from later."""
    columns = tuple(dict.fromkeys([*layout.slices, *(column for where in layout.wheres for column, _ in where)]))
    typed = " UNION ALL ".join(_typed(part, columns, layout.extras) for part in parts)
    evidence = _with(typed, scoring.evidence_columns(request.positive))
    answers = _with(evidence, scoring.answer_columns())
    passing = _with(answers, scoring.passing_columns(request.pass_score))
    kept = ", ".join(f"{sql} AS {name}" for name, sql in _kept(layout, columns, telling=telling))
    return f"SELECT {kept} FROM ({passing}) AS step"


def _with(inner: str, columns: Sequence[tuple[str, str]]) -> str:
    added = ", ".join(f"({sql}) AS {name}" for name, sql in columns)
    return f"SELECT *, {added} FROM ({inner}) AS step"


def _kept(layout: Layout, columns: tuple[str, ...], *, telling: bool) -> list[tuple[str, str]]:
    """The columns of a trial that later relations need."""
    places = {column: f"col_{i}" for i, column in enumerate(columns)}
    held, measures = layout.held, layout.measures
    told = f"{{{', '.join(f'{name!r}: {name}' for name in scoring.TELLING)}}}"
    kept = [("id", "id"), ("category", "category"), ("why", scoring.why_column()), ("bad", "bad")]
    kept += [("told", told)] * telling
    kept += [(name, name) for name in ("trial", "capability", "cluster", "agent_version") if name in held]
    kept += [(f"by_{i}", places[column]) for i, column in enumerate(layout.slices)]
    kept += [(f"w_{i}", _lets_through(where, places)) for i, where in enumerate(layout.wheres)]
    kept += [(name, name) for name in ("e", "v", "p", "u", "c_has", "c", "bare", "s_has")]
    kept += [(name, name) for name in ("o_has", "tp", "fp", "fn") if "tp" in measures or "fn" in measures]
    kept += [(name, f"CAST({name} AS INTEGER)") for name in ("m", "k", "s_m", "s_k")]
    kept.append(("q", f"CASE WHEN e THEN 0 ELSE CAST(round(quality_score * {scoring.QUALITY}) AS BIGINT) END"))
    kept.append(("q_known", "quality_score IS NOT NULL"))
    kept.append(("tokens", "tokens_used"))
    kept.append(("latency_rank", "CASE WHEN e THEN CAST('Infinity' AS DOUBLE) ELSE latency_ms END"))
    kept.append(("cost", f"CAST(round(cost_usd * {scoring.COST}) AS HUGEINT)"))
    if "latency_ms" in measures:
        kept.append(("latency", f"CAST(round(latency_ms * {scoring.LATENCY}) AS HUGEINT)"))
    if len(layout.weights) > 1:
        kept.append(("wi", f"CAST({layout.weight_index} AS INTEGER)"))
    if layout.own_weight:
        kept.append(("own", f"CAST(round(coalesce(weight, 1) * {scoring.WEIGHT}) AS HUGEINT)"))
    kept += [(f"x{i}", f"CAST(round(extra_{i} * {scoring.EXTRA}) AS HUGEINT)") for i in range(len(layout.extras))]
    return kept


def _typed(part: Part, columns: tuple[str, ...], extras: tuple[str, ...]) -> str:
    """One part's rows with the typed columns, the columns that slices and filters name, and the user's own numbers."""
    values = {name: f"CAST(NULL AS {type_})" for name, type_ in EMPTY.items()}
    bad = [] if "id" in part.columns else ["true"]
    for name, raw in part.columns.items():
        if name in READERS:
            read = READERS[name](name, raw)
            values.update({column: f"CAST({sql} AS {EMPTY[column]})" for column, sql in read.columns})
            bad.append(read.bad)
        elif part.alike:
            bad.append(NOT_JSON.format(raw.sql))
    if part.alike:
        # Only a suspicion, that a comma is trailing: it sends the file the slower way, which looks outside of strings.
        nested = "tags" in part.columns or any(name not in READERS for name in part.columns)
        at = "contains" if nested else "ends_with"
        bad.append(f"{at}(json, ',}}') OR {at}(json, ', }}') OR contains(json, ',]') OR contains(json, ', ]')")
    for i, column in enumerate(columns):
        read = column_text(f"col_{i}", column, part)
        values[f"col_{i}"] = read.columns[0][1]
        bad.append(read.bad)
    for i, column in enumerate(extras):
        raw_number = part.columns.get(column)
        absent = Typed(((f"extra_{i}", "CAST(NULL AS DOUBLE)"),))
        read = number(">= -1e18", "1e18")(f"extra_{i}", raw_number) if raw_number else absent
        values[f"extra_{i}"] = read.columns[0][1]
        bad.append(read.bad)
    needed = [name for name in part.columns if name in READERS or name in columns or name in extras]
    selected = ", ".join(f"{sql} AS {name}" for name, sql in values.items())
    any_bad = " OR ".join(f"coalesce({condition}, false)" for condition in bad if condition != "false") or "false"
    return f"SELECT {selected}, {any_bad} AS bad FROM {part.relation(needed)}"


def column_text(name: str, column: str, part: Part) -> Typed:
    """The value of any column as text, to slice or to filter by."""
    raw = part.columns.get(column)
    if column.startswith("tags.") and "tags" in part.columns:
        tag = f"json_extract_string({part.columns['tags'].as_json()}, {pointer(column.removeprefix('tags.'))})"
        flat = _scalar_text(raw)[0] if raw else "NULL"
        return Typed(((name, f"coalesce({tag}, {flat})"),))
    if raw is None:
        return Typed(((name, "CAST(NULL AS VARCHAR)"),))
    value, bad = _scalar_text(raw)
    return Typed(((name, value),), bad)


def _scalar_text(raw: Raw) -> tuple[str, str]:
    """A scalar as text, and whether it is not one."""
    if raw.type != "JSON":
        nested = raw.type.endswith(("]", ")")) and not raw.is_number
        return f"CAST({raw.sql} AS VARCHAR)", "true" if nested else "false"
    text = f"CASE WHEN starts_with({raw.sql}, '\"') THEN json_extract_string({raw.sql}, '$') ELSE {raw.sql} END"
    return text, f"left({raw.sql}, 1) IN ('[', '{{')"


def _lets_through(where: Where, places: dict[str, str]) -> str:
    if not all(values for _, values in where):
        return "false"
    conditions = [
        f"coalesce({places[column]} IN ({', '.join(literal(v) for v in values)}), false)" for column, values in where
    ]
    return " AND ".join(conditions)
