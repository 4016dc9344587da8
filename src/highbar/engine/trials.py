"""Raw columns → the `trials` relation: one row per trial, typed, scored, every number a whole number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from highbar import catalogue
from highbar.engine import descriptions, scoring, twice
from highbar.engine.layout import NO_ENDS, Layout
from highbar.engine.protocol import Request
from highbar.engine.sources import Part
from highbar.engine.sql import literal, pointer
from highbar.engine.typed import EMPTY, NOT_JSON, READERS, Raw, Typed, number, or_absent
from highbar.model import Where
from highbar.model.ranges import ColumnRange


def relation(parts: Sequence[Part], request: Request, layout: Layout, *, telling: bool, fill: bool = False) -> str:
    """SQL for the trials of all parts.

    `telling`: with `told`, what the reason of a failure can be made from later. `fill`: what describes a scenario in
    one of its trials describes it in the others.
    """
    columns = chosen_by(layout)
    rows = " UNION ALL ".join(typed(part, columns, layout.extras, request.ranges) for part in parts)
    described = descriptions.in_suite(request.suite, columns)
    filled = descriptions.joined(rows, columns, len(layout.extras), described=described, fill=fill)
    evidence = _with(filled, scoring.evidence_columns(request.positive, len(layout.extras)))
    answers = _with(evidence, scoring.answer_columns())
    passing = _with(answers, scoring.passing_columns(request.pass_score))
    kept = ", ".join(f"{sql} AS {name}" for name, sql in _kept(layout, columns, telling=telling))
    return f"SELECT {kept} FROM ({passing}) AS step"


def chosen_by(layout: Layout) -> tuple[str, ...]:
    """The columns that slices and filters name."""
    return tuple(dict.fromkeys([*layout.slices, *(column for where in layout.wheres for column, _ in where)]))


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
    kept += [(name, name) for name in (*places.values(), "weight") if layout.repeated]
    kept += [(f"by_{i}", places[column]) for i, column in enumerate(layout.slices)]
    kept += [(f"w_{i}", _lets_through(where, places)) for i, where in enumerate(layout.wheres)]
    kept += [
        (name, name) for name in ("e", "v", "p", "f", "j", "blank", "open", "v_known", "c_has", "c_known", "c", "bare")
    ]
    kept += _differing(layout)
    if layout.demands:
        looked = " + ".join(f"CAST({sql} AS INTEGER) * {bit}" for bit, sql in scoring.LOOKED_AT.values())
        kept += [("looked_at", looked), ("observed", "behaviors")]
    kept.append(("lost", "NOT e AND j AND coalesce(output_blank, true)"))
    if "tp" in measures or "fn" in measures:
        kept += [(name, name) for name in ("o_has", "o_known", "tp", "fp", "fn")]
    kept += [(name, f"CAST({name} AS INTEGER)") for name in ("m", "k", "k_open", "s_m", "s_k", "s_open")]
    kept.append(("q", f"CASE WHEN e THEN 0 ELSE CAST({_scaled('quality_score', scoring.QUALITY)} AS BIGINT) END"))
    kept.append(("q_known", "quality_score IS NOT NULL"))
    kept.append(("tokens", "tokens_used"))
    kept.append(("latency_rank", "CASE WHEN e THEN CAST('Infinity' AS DOUBLE) ELSE latency_ms END"))
    kept.append(("cost", f"CAST({_scaled('cost_usd', scoring.COST, up=True)} AS HUGEINT)"))
    if "latency_ms" in measures:
        kept.append(("latency", f"CAST({_scaled('latency_ms', scoring.LATENCY, up=True)} AS HUGEINT)"))
    if len(layout.weights) > 1:
        kept.append(("wi", f"CAST({layout.weight_index} AS INTEGER)"))
    if layout.own_weight:
        kept.append(("own", f"CAST(round(coalesce(weight, 1) * {scoring.WEIGHT}) AS HUGEINT)"))
    for i, name in enumerate(layout.extras):
        up = not layout.ends.get(f"extra:{name}", NO_ENDS).higher
        kept.append((f"x{i}", f"CAST({_scaled(f'extra_{i}', scoring.EXTRA, up=up)} AS HUGEINT)"))
    return kept


def _differing(layout: Layout) -> list[tuple[str, str]]:
    """What tells a trial that is judged by less than its scenario; a trial that is a scenario never is."""
    if not layout.may_differ:
        return []
    unsaid = "v_known AND NOT v AND violation_count IS NULL"
    kept = [("given", "given"), ("lacking", "lacking"), ("unsaid", unsaid), ("unlisted", f"{unsaid} AND NOT lists")]
    return [*kept, *[("suite_bits", "suite_bits")] * layout.demands]


def _scaled(number: str, scale: int, *, up: bool = False) -> str:
    """A number as a whole multiple of 1/scale: exact if it has no more digits, else the next one to the worse side.

    The nearest one could be better than what was recorded, and reach a threshold that the number does not. A number has
    no more digits exactly if it is the double that is nearest to that multiple, which is what a division gives.
    """
    nearest = f"round({number} * {scale}e0)"
    better, step = ("<", "+ 1") if up else (">", "- 1")
    # Whole already: the outer `round` is how Spark's translation knows a whole number of any size.
    return f"round({nearest} + CASE WHEN {nearest} / {scale}e0 {better} {number} THEN {step}e0 ELSE 0e0 END)"


def typed(
    part: Part, columns: tuple[str, ...] = (), extras: tuple[str, ...] = (), ranges: tuple[ColumnRange, ...] = ()
) -> str:
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
    bad += [*part.stated_twice(), *twice.in_other_case(part.columns, columns)]
    if part.alike:
        bad.append(_perhaps_trailing(part))
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
    bad += [_outside(range_, part) for range_ in ranges if range_.column in part.columns]
    named = {*READERS, *columns, *extras, *(column for range_ in ranges for column, _ in range_.where)}
    needed = [name for name in part.columns if name in named or name.startswith("tags.")]
    selected = ", ".join(f"{sql} AS {name}" for name, sql in values.items())
    any_bad = " OR ".join(f"coalesce({condition}, false)" for condition in bad if condition != "false") or "false"
    return f"SELECT {selected}, {any_bad} AS bad FROM {part.relation(needed)}"


def _perhaps_trailing(part: Part) -> str:
    """SQL: whether a comma may be trailing. A suspicion sends the file the slower way, which looks outside of strings.

    Commas are everywhere, and to stop at each costs a tenth of a second for a million rows; a blank before a bracket is
    seldom there, and seen at no cost.
    """
    nested = "tags" in part.columns or any(name not in READERS for name in part.columns)
    at = "contains" if nested else "ends_with"
    blanks = (" ", "\t", "\r")
    seldom = [f"contains(json, {literal(one + ']')})" for one in blanks]
    seldom += [f"{at}(json, {literal(one + '}')})" for one in blanks]
    behind_blanks = f"(CASE WHEN {' OR '.join(seldom)} THEN regexp_matches(json, ',\\s+[}}\\]]') ELSE false END)"
    return f"{at}(json, ',}}') OR contains(json, ',]') OR {behind_blanks}"


def _outside(range_: ColumnRange, part: Part) -> str:
    """SQL: whether a row that a metric with a range is over has a value outside of it."""
    value = number(">= -1e300")("value", part.columns[range_.column]).columns[0][1]
    places = {column: f"({column_text('', column, part).columns[0][1]})" for column, _ in range_.where}
    beyond = f"({value} < {float(range_.least)!r} OR {value} > {float(range_.most)!r})"
    return f"{beyond} AND {_lets_through(range_.where, places)}" if places else beyond


def column_text(name: str, column: str, part: Part) -> Typed:
    """The value of any column as text, to slice or to filter by. What describes a scenario is absent if it is blank."""
    read = _any_text(name, column, part)
    (_, value), *_ = read.columns
    return replace(read, columns=((name, or_absent(f"({value})")),)) if catalogue.sliceable(column) else read


def _any_text(name: str, column: str, part: Part) -> Typed:
    raw = part.columns.get(column)
    if column.startswith("tags.") and "tags" in part.columns:
        tag = f"json_extract_string({part.columns['tags'].as_json()}, {pointer(column.removeprefix('tags.'))})"
        flat = _scalar_text(raw)[0] if raw else "NULL"
        return Typed(((name, f"coalesce({or_absent(f'({tag})')}, {flat})"),))
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
