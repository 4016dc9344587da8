"""Raw columns → the `trials` relation: one row per trial, typed, scored, every number a whole number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from highbar import catalogue
from highbar.columns import BY_NAME, DESCRIPTION_COLUMNS, EXTRA, EXTRA_SCALE, LARGEST_EXTRA, Column
from highbar.engine import duplicates, scoring
from highbar.engine.column_readers import EMPTY, LARGEST, NOT_JSON, READERS, Raw, Typed, or_absent, typed_number
from highbar.engine.layout import Layout
from highbar.engine.protocol import Database, Query, Request
from highbar.engine.quantities import NO_ENDS, known_name, scaled_name
from highbar.engine.sources import OF_RUN, SourcePart
from highbar.engine.sql import literal, pointer
from highbar.model import SuiteDemands, Where
from highbar.model.requests import ColumnRange

TYPED = "typed"
"""The alias of the typed trials, wherever a query scores them."""
_BITS = {
    "expected": scoring.ANSWER,
    "answer": scoring.ANSWER,
    "expected_behaviors": scoring.BEHAVIORS,
    "must_not": scoring.MUST_NOTS,
}
_IN_SUITE = 32
"""A bit of `suite_bits` beside the bits for demands: the suite has the scenario, whether it demands anything or not."""


def trials_query(
    parts: Sequence[SourcePart], request: Request, layout: Layout, *, with_evidence: bool, fill: bool = False
) -> Query:
    """The query for the trials of all parts.

    `with_evidence`: add the struct `evidence`, from which the reason of a failure can be made later. `fill`: copy a
    scenario's descriptions from one of its trials to the others.
    """
    columns = named_columns(layout)
    rows = " UNION ALL ".join(typed_trials(part, columns, layout.extras, request.ranges) for part in parts)
    described = is_described(request.suite, columns)
    filled = with_descriptions(rows, columns, len(layout.extras), described=described, fill=fill)
    if request.positive is not None and scoring.may_contradict(layout.columns):
        filled = _with_labels(filled, parts)
    evidence = _with_columns(filled, TYPED, scoring.evidence_columns(request.positive, len(layout.extras)), layout)
    answered = _with_columns(evidence, "evidence", scoring.answer_columns(), layout)
    passing = _with_columns(answered, "answers", scoring.passing_columns(request.pass_score), layout)
    fields = ", ".join(f"{sql} AS {name}" for name, sql in _trial_columns(layout, columns, with_evidence=with_evidence))
    return Query(
        f"SELECT {fields} FROM ({passing}) AS passing",
        stages=(TYPED, "evidence", "answers", "passing"),
        large=layout.large_numbers,
    )


def _with_labels(filled: str, parts: Sequence[SourcePart]) -> str:
    """The trials with `is_label`: whether some row expects what they predicted; rows that are left out count too."""
    whole = [replace(part, chosen="", chosen_by=()) for part in parts if "expected" in part.columns]
    each = " UNION ALL ".join(
        f"SELECT {part.typed_sql('expected')} AS label FROM {part.relation(['expected'])}" for part in whole
    )
    labels = f"(SELECT DISTINCT label FROM ({each or 'SELECT CAST(NULL AS VARCHAR) AS label'}) AS each_label) AS labels"
    return f"SELECT t.*, label IS NOT NULL AS is_label FROM ({filled}) AS t LEFT JOIN {labels} ON t.predicted = label"


def named_columns(layout: Layout) -> tuple[str, ...]:
    """The columns that slices and filters name."""
    return tuple(dict.fromkeys([*layout.slices, *(column for where in layout.wheres for column, _ in where)]))


def _with_columns(inner: str, alias: str, columns: Mapping[str, str], layout: Layout) -> str:
    needed = scoring.simplify(columns, layout.columns).items()
    unused = () if layout.may_differ else scoring.OF_DIFFERENCES
    added = ", ".join(f"({sql}) AS {name}" for name, sql in needed if name not in unused)
    return f"SELECT *, {added} FROM ({inner}) AS {alias}"


def _trial_columns(layout: Layout, columns: tuple[str, ...], *, with_evidence: bool) -> list[tuple[str, str]]:
    """The columns of a trial that later relations need."""
    places = {column: f"col_{i}" for i, column in enumerate(columns)}
    # Only what is needed: every column of the trials of a text file is stored, once per trial.
    quantities = layout.quantities
    evidence = f"{{{', '.join(f'{name!r}: {name}' for name in scoring.EVIDENCE)}}}"
    fields = [("id", "id"), ("category", "category"), ("why", scoring.why_column(layout.columns)), ("bad", "bad")]
    fields += [("evidence", evidence)] if with_evidence else []
    fields += [(name, name) for name in ("trial", "capability", "cluster", "agent_version") if name in layout.columns]
    fields += [(name, name) for name in (*places.values(), "weight") if layout.repeated]
    fields += [(f"by_{i}", places[column]) for i, column in enumerate(layout.slices)]
    fields += [(layout.flag(where), _is_selected(where, places)) for where in layout.wheres]
    fields += [
        (name, name)
        for name in (
            "is_error", "is_violated", "is_passed", "is_failed", "is_unjudged", "is_blank", "is_open",
            "violation_known", "has_answer", "answer_known", "is_correct",
        )
    ]  # fmt: skip
    # What a scenario asks for is also known if a suite with demands has it.
    fields.append(("asks_known", f"asks_known OR (suite_bits & {_IN_SUITE}) > 0" if layout.demands else "asks_known"))
    fields += [("contradicts", "contradicts")] if scoring.may_contradict(layout.columns) else []
    fields += _difference_columns(layout)
    if layout.demands:
        looked = " + ".join(f"CAST({sql} AS INTEGER) * {bit}" for bit, sql in scoring.LOOKED_AT.values())
        fields += [("looked_at", looked), ("observed", "behaviors")]
        # What the row counts as a violation: by name, or only how many there were.
        fields.append(("counted", f"coalesce({scoring.VIOLATION_LIST}, [])"))
        fields.append(("counted_violations", "coalesce(violation_count > 0, false) AND violation_names IS NULL"))
        # `highbar run` has looked at all that there was.
        fields.append(("crashed_in_run", "is_error AND of_run"))
    fields.append(("is_lost", "NOT is_error AND is_unjudged AND coalesce(output_blank, true)"))
    if "tp" in quantities or "fn" in quantities:
        fields += [(name, name) for name in ("has_outcome", "outcome_known", "tp", "fp", "fn")]
    # Small integers, since the trials of a text file are stored.
    counts = ("expected_count", "observed_count", "unknown_count", "score_expected", "score_observed", "score_unknown")
    fields += [(name, f"CAST({name} AS INTEGER)") for name in counts]
    for column in layout.measured:
        fields += _measured_columns(column)
    # Percentiles and charts use latencies as recorded: scaled ones are rounded.
    fields.append(("latency_rank", "CASE WHEN is_error THEN CAST('Infinity' AS DOUBLE) ELSE latency_ms END"))
    if len(layout.weights) > 1:
        fields.append(("weight_index", f"CAST({layout.weight_index} AS INTEGER)"))
    if layout.own_weight:
        fields.append(("own_weight", f"CAST(round(coalesce(weight, 1) * {BY_NAME['weight'].scale}) AS HUGEINT)"))
    for i, name in enumerate(layout.extras):
        up = not layout.ends.get(f"{EXTRA}{name}", NO_ENDS).higher
        fields.append((scaled_name(f"extra_{i}"), f"CAST({_scaled(f'extra_{i}', EXTRA_SCALE, up=up)} AS HUGEINT)"))
    return fields


def _measured_columns(column: Column) -> list[tuple[str, str]]:
    """The scaled value of a measured column; if it is bounded, also whether it is known, since a crash counts as 0."""
    if column.form == "whole":
        return [(scaled_name(column.name), column.name)]
    number = _scaled(column.name, column.scale, up=column.better == "lower")
    if not column.bounded:
        return [(scaled_name(column.name), f"CAST({number} AS HUGEINT)")]
    value = f"CASE WHEN is_error THEN 0 ELSE CAST({number} AS BIGINT) END"
    return [(scaled_name(column.name), value), (known_name(column.name), f"{column.name} IS NOT NULL")]


def _difference_columns(layout: Layout) -> list[tuple[str, str]]:
    """Columns that identify a trial that is judged by less than its scenario; none if no trial can be."""
    if not layout.may_differ:
        return []
    unrecorded = "violation_known AND NOT is_violated AND violation_count IS NULL"
    names = [*scoring.OF_DIFFERENCES, *(["suite_bits"] if layout.demands else [])]
    fields = [(name, name) for name in names]
    return [
        *fields,
        ("violations_unrecorded", unrecorded),
        ("must_nots_unlisted", f"{unrecorded} AND NOT lists_must_nots"),
    ]


def _scaled(number: str, scale: int, *, up: bool = False) -> str:
    """SQL for a number as a whole multiple of 1/scale: exact if it has no more digits, else the next worse multiple.

    The nearest multiple could be better than what was recorded, and reach a threshold that the number misses. A number
    has no more digits exactly if dividing the nearest multiple by the scale gives that double again.
    """
    nearest = f"round({number} * {scale}e0)"
    better, step = ("<", "+ 1") if up else (">", "- 1")
    # Whole already: the outer `round` is how Spark's translation knows a whole number of any size.
    return f"round({nearest} + CASE WHEN {nearest} / {scale}e0 {better} {number} THEN {step}e0 ELSE 0e0 END)"


def typed_trials(
    part: SourcePart, columns: tuple[str, ...] = (), extras: tuple[str, ...] = (), ranges: tuple[ColumnRange, ...] = ()
) -> str:
    """One part's rows with the typed columns, the columns that slices and filters name, and the user's own numbers."""
    values = {name: f"CAST(NULL AS {type_})" for name, type_ in EMPTY.items()}
    values["of_run"] = " OR ".join(f"{raw.sql} IS NOT NULL" for raw in part.of_run) or "false"
    # Any fault makes the row bad. `load.explain` reads the files again to find out which, only if there is one.
    bad = [] if "id" in part.columns else ["true"]
    for name, raw in part.columns.items():
        if name in READERS:
            read = READERS[name](name, raw)
            values.update({column: f"CAST({sql} AS {EMPTY[column]})" for column, sql in read.columns})
            bad.append(read.bad)
        elif part.alike:
            bad.append(NOT_JSON.format(raw.sql))
    bad += [*part.duplicate_conditions(), *duplicates.tags_in_other_case(part.columns, columns)]
    # DuckDB accepts a trailing comma. A suspicion is enough here: the slower reading decides.
    if part.alike:
        bad.append(_may_have_trailing_comma(part))
    for i, column in enumerate(columns):
        read = column_text(f"col_{i}", column, part)
        values[f"col_{i}"] = read.sql
        bad.append(read.bad)
    for i, column in enumerate(extras):
        raw_number = part.columns.get(column)
        absent = Typed(((f"extra_{i}", "CAST(NULL AS DOUBLE)"),))
        read = typed_number(-LARGEST_EXTRA, LARGEST_EXTRA)(f"extra_{i}", raw_number) if raw_number else absent
        values[f"extra_{i}"] = read.sql
        bad.append(read.bad)
    bad += [_is_outside(range_, part) for range_ in ranges if range_.column in part.columns]
    named = {*READERS, *columns, *extras, *(column for range_ in ranges for column, _ in range_.where)}
    needed = [name for name in part.columns if name in named or name.startswith(("tags.", OF_RUN))]
    selected = ", ".join(f"{sql} AS {name}" for name, sql in values.items())
    # A condition that is NULL is no fault, and must not hide the fault of another value.
    any_bad = " OR ".join(condition for condition in bad if condition != "false") or "false"
    return f"SELECT {selected}, coalesce({any_bad}, false) AS bad FROM {part.relation(needed)}"


def _may_have_trailing_comma(part: SourcePart) -> str:
    """SQL: whether a row may have a trailing comma. If so, the file is read the slower way, which ignores strings.

    Commas are everywhere, and testing each costs a tenth of a second for a million rows. A blank before a bracket is
    rare and costs nothing to see, so it is tested first.
    """
    nested = "tags" in part.columns or any(name not in READERS for name in part.columns)
    at = "contains" if nested else "ends_with"
    blanks = (" ", "\t", "\r")
    seldom = [f"contains(json, {literal(one + ']')})" for one in blanks]
    seldom += [f"{at}(json, {literal(one + '}')})" for one in blanks]
    after_blanks = f"(CASE WHEN {' OR '.join(seldom)} THEN regexp_matches(json, ',\\s+[}}\\]]') ELSE false END)"
    return f"{at}(json, ',}}') OR contains(json, ',]') OR {after_blanks}"


def _is_outside(range_: ColumnRange, part: SourcePart) -> str:
    """SQL: whether a row has a value outside the range of a metric that counts the row."""
    value = typed_number(-LARGEST)("value", part.columns[range_.column]).sql
    places = {column: f"({column_text('', column, part).sql})" for column, _ in range_.where}
    beyond = f"({value} < {float(range_.least)!r} OR {value} > {float(range_.most)!r})"
    return f"{beyond} AND {_is_selected(range_.where, places)}" if places else beyond


def column_text(name: str, column: str, part: SourcePart) -> Typed:
    """The value of any column as text, to slice or to filter by; blank text in a sliceable column is absent."""
    read = _any_text(name, column, part)
    (_, value), *_ = read.columns
    if not catalogue.sliceable(column):
        return read
    may_be_blank = any(raw.may_be_blank for raw in part.columns.values())
    return replace(read, columns=((name, or_absent(f"({value})", may_be_blank=may_be_blank)),))


def _any_text(name: str, column: str, part: SourcePart) -> Typed:
    raw = part.columns.get(column)
    if column.startswith("tags.") and "tags" in part.columns:
        tags = part.columns["tags"]
        tag = f"json_extract_string({tags.as_json()}, {pointer(column.removeprefix('tags.'))})"
        seen = or_absent(f"({tag})", may_be_blank=tags.may_be_blank)
        flat = _scalar_text(raw)[0] if raw else "NULL"
        return Typed(((name, f"coalesce({seen}, {flat})"),))
    if raw is None:
        return Typed(((name, "CAST(NULL AS VARCHAR)"),))
    value, bad = _scalar_text(raw)
    return Typed(((name, value),), bad)


def _scalar_text(raw: Raw) -> tuple[str, str]:
    """SQL for a scalar as text, and for whether the value is no scalar."""
    if raw.type != "JSON":
        nested = raw.type.endswith(("]", ")")) and not raw.is_number
        return f"CAST({raw.sql} AS VARCHAR)", "true" if nested else "false"
    text = f"CASE WHEN starts_with({raw.sql}, '\"') THEN json_extract_string({raw.sql}, '$') ELSE {raw.sql} END"
    return text, f"left({raw.sql}, 1) IN ('[', '{{')"


def _is_selected(where: Where, places: dict[str, str]) -> str:
    # A column that must have one of no values selects nothing; `IN ()` is not SQL.
    if not all(values for _, values in where):
        return "false"
    conditions = [
        f"coalesce({places[column]} IN ({', '.join(literal(v) for v in values)}), false)" for column, values in where
    ]
    return " AND ".join(conditions)


# --- descriptions that a trial lacks: from the other trials of its scenario, or from the suite -----------
# Demands of the suite are joined as bits, so that a trial which does not answer them cannot pass.


def with_descriptions(typed: str, columns: tuple[str, ...], extras: int, *, described: bool, fill: bool) -> str:
    """The typed trials with the descriptions of their scenarios; `columns` are those of `col_0` and so on.

    `described`: from the relation of that name; `fill`: from the other trials of the scenario.
    """
    if not fill and not described:
        return typed
    named = _description_columns(columns)
    numbered = [*(f"col_{i}" for i in range(len(columns))), *(f"extra_{i}" for i in range(extras))]
    all_columns = [*EMPTY, "of_run", *numbered, "bad"]
    selected = []
    for name in all_columns:
        sources = [f"t.{name}"]
        if name in named:
            sources += [f"{other}.{name}" for other, used in (("others", fill), ("described", described)) if used]
        selected.append(f"t.{name} AS {name}" if len(sources) == 1 else f"coalesce({', '.join(sources)}) AS {name}")
    source = f"({typed}) AS t"
    if fill:
        # `max` is any value: trials that disagree are refused before a sum is used.
        shared = ", ".join(f"max({name}) AS {name}" for name in named)
        source += (
            f" LEFT JOIN (SELECT id, {shared} FROM ({typed}) AS {TYPED} GROUP BY id) AS others ON t.id = others.id"
        )
    if described:
        selected.append("coalesce(described.bits, 0) AS suite_bits")
        source += " LEFT JOIN described ON t.id = described.id"
    return f"SELECT {', '.join(selected)} FROM {source}"


def is_described(suite: SuiteDemands | None, columns: tuple[str, ...]) -> bool:
    """Whether the suite describes any of its scenarios, or demands anything of them."""
    used = {*_description_columns(columns).values(), *_BITS}
    return suite is not None and any(used & fields.keys() for fields in suite.scenarios.values())


def define_described(database: Database, suite: SuiteDemands, columns: tuple[str, ...]) -> None:
    """Define `described`: what describes each scenario of the suite, and the bits of what it demands."""
    named = _description_columns(columns)
    listed = [
        (id_, *(fields.get(column) for column in named.values()), str(_bits(fields)))
        for id_, fields in suite.scenarios.items()
    ]
    database.list_texts("listed", ("id", *named, "bits"), listed)
    types = {"bits": "INTEGER"} | {name: EMPTY[name] for name in DESCRIPTION_COLUMNS}
    typed = (f"CAST({name} AS {types.get(name, 'VARCHAR')}) AS {name}" for name in ("id", *named, "bits"))
    database.define("described", f"SELECT {', '.join(typed)} FROM listed", materialized=True)


def _bits(fields: Mapping[str, str]) -> int:
    return _IN_SUITE | sum({_BITS[column] for column, text in fields.items() if column in _BITS and text != "[]"})


def _description_columns(columns: tuple[str, ...]) -> Mapping[str, str]:
    """The typed columns that describe a scenario, and what they are called in a suite."""
    return {name: name for name in DESCRIPTION_COLUMNS} | {f"col_{i}": column for i, column in enumerate(columns)}
