"""Rows → what detailed reports show of them: the trials of failed scenarios, and the distribution of latencies.

Only the rows of failed scenarios are read again in full, and only as many of them, and as much of their texts, as a
report can hold.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from highbar.engine.column_readers import EMPTY, READERS, typed_text
from highbar.engine.limits import (
    LONGEST_EVIDENCE,
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_BEHAVIORS,
    MOST_BINS,
    MOST_TRIALS,
    SHORTEST_TEXT,
)
from highbar.engine.protocol import Database, Rows
from highbar.engine.scoring import VIOLATION_LIST
from highbar.engine.sources import SourcePart
from highbar.engine.sql import literal, pointer
from highbar.model import FailedScenario
from highbar.model.details import Bin, Details, Excerpt, Latency, ScenarioDetail, TrialDetail

_SCALED = 10**6
_WRONG = "wrong answer"
_LONGEST_ANSWER = 200  # characters: a reason is one line of a report
_NAMES = ("expected_behaviors", "behaviors", "must_not", "violations")
_TEXTS = ("input", "output")
_MISSED = "missed"
"""The column in which a run records, by behavior, what was not observed; `answer` is the check of the answer."""
_WHY = ("found", _MISSED)
"""Columns of rows that Highbar graded: by behavior, the evidence, and why it was not observed. Rows of others may use
the same names for anything."""
_TYPES = {
    name: EMPTY[name]
    for name in (
        "id", "trial", "expected_behaviors", "behaviors", "must_not", "marked_violations", "violation_names",
        "violation_count", "expected", "predicted", "error", "latency_ms",
    )
} | dict.fromkeys((*_TEXTS, *_WHY), "VARCHAR")  # fmt: skip


def read_details(database: Database, parts: Sequence[SourcePart], failed: Sequence[FailedScenario]) -> Details:
    """The trials of the failed scenarios, in their order, and the distribution of all latencies; needs `trials`."""
    return Details(_scenario_details(database.rows, parts, failed) if failed else (), _latency(database))


# --- failed scenarios ------------------------------------------------------------------------


def _scenario_details(
    rows: Rows, parts: Sequence[SourcePart], failed: Sequence[FailedScenario]
) -> tuple[ScenarioDetail, ...]:
    count = sum(min(scenario.trials, MOST_TRIALS) for scenario in failed)
    found = trials_of(rows, parts, [scenario.id for scenario in failed], count)
    return tuple(ScenarioDetail(scenario, found.get(scenario.id, ())) for scenario in failed)


def trials_of(
    rows: Rows, parts: Sequence[SourcePart], ids: Sequence[str], count: int | None = None
) -> Mapping[str, tuple[TrialDetail, ...]]:
    """By id, the trials of the scenarios, passed ones too; `count` is their number, by default the most that fit."""
    if count is None:
        count = len(ids) * (MOST_TRIALS if any("trial" in part.columns for part in parts) else 1)
    found: dict[str, list[TrialDetail]] = {}
    for id_, *columns in rows(_trials_sql(parts, ids, _longest(len(ids), count))):
        found.setdefault(id_, []).append(_trial(*columns))
    return {id_: tuple(trials) for id_, trials in found.items()}


def _trials_sql(parts: Sequence[SourcePart], named: Sequence[str], longest: int) -> str:
    """SQL for the trials of the scenarios, with the judgment of each from the scored `trials`."""
    repeated = any("trial" in part.columns for part in parts)
    ids = f"id IN ({', '.join(literal(id_) for id_ in named)})"
    source = " UNION ALL ".join(f"SELECT * FROM ({typed_rows(part)}) WHERE {ids}" for part in parts)
    same = "r.id = t.id" + (" AND r.trial IS NOT DISTINCT FROM t.trial" if repeated else "")
    lists = {name: name for name in _NAMES} | {"violations": VIOLATION_LIST}
    shown = [
        f"list_transform(list_slice({sql}, 1, {MOST_BEHAVIORS}), lambda x: left(x, {LONGEST_NAME}))"
        for sql in lists.values()
    ]
    texts = [f"left({name}, {longest}), greatest(length({name}) - {longest}, 0)" for name in _TEXTS]
    short = [f"left({name}, {LONGEST_NAME})" for name in ("expected", "predicted")]
    short.append(f"left(error, {longest})")  # the list of failed scenarios has its last line only
    columns = [
        "r.id", "r.trial", "CASE WHEN t.is_passed THEN true WHEN t.is_failed THEN false END", "t.why",
        *texts, *shown, "violation_count", *short,
        f"TRY_CAST(round(latency_ms * {_SCALED}) AS HUGEINT)",
        *(f"CASE WHEN length({name}) <= {LONGEST_EVIDENCE} THEN {name} END" for name in _WHY),
    ]  # fmt: skip
    return (
        f"SELECT {', '.join(columns)} FROM ({source}) AS r JOIN (SELECT * FROM trials WHERE {ids}) AS t ON {same}"
        " QUALIFY row_number() OVER (PARTITION BY r.id ORDER BY NOT t.is_failed, t.is_passed, r.trial)"
        f" <= {MOST_TRIALS}"
        " ORDER BY r.id, r.trial"
    )


def typed_rows(part: SourcePart) -> str:
    """SQL for one part's rows with the columns that are shown, typed; NULL in columns that the part does not have."""
    values = {name: f"CAST(NULL AS {type_})" for name, type_ in _TYPES.items()}
    for name, raw in part.columns.items():
        if name in READERS:
            typed = typed_text(name, raw) if name in _TEXTS else READERS[name](name, raw)
            values |= {column: f"CAST({sql} AS {_TYPES[column]})" for column, sql in typed.columns if column in _TYPES}
        elif name in _WHY and raw.type == "JSON":
            values[name] = f"CAST({raw.sql} AS VARCHAR)"
    selected = ", ".join(f"{sql} AS {name}" for name, sql in values.items())
    return f"SELECT {selected} FROM {part.relation([name for name in part.columns if name in READERS or name in _WHY])}"


def _longest(scenarios: int, trials: int) -> int:
    """How many characters of a text to show: texts share a fixed space, so that a report of many failures opens."""
    room = 160_000 + 2_000 * scenarios
    return min(LONGEST_TEXT, max(SHORTEST_TEXT, room // (2 * max(trials, 1))))


def _trial(trial: int | None, passed: bool | None, why: str | None, *columns: Any) -> TrialDetail:  # noqa: FBT001 - a row
    input_, input_more, output, output_more, *judgment, error, latency, found, missed = columns
    expected, observed, must_not, violations, count, answer, predicted = judgment
    return TrialDetail(
        trial=trial,
        passed=passed,
        reason=why,
        input=None if input_ is None else Excerpt(input_, input_more),
        output=None if output is None else Excerpt(output, output_more),
        expected_behaviors=tuple(expected or ()),
        behaviors=tuple(observed or ()),
        must_not=tuple(must_not or ()),
        violations=tuple(violations or ()),
        violation_count=count,
        expected=None if answer is None else answer.removeprefix('"'),  # a label that is text has a quote before it
        predicted=None if predicted is None else predicted.removeprefix('"'),
        error=error or None,
        latency_ms=None if latency is None else Fraction(latency, _SCALED),
        why=(*_evidence(found), *_evidence(missed)),
    )


def _evidence(text: str | None) -> Iterator[tuple[str, str]]:
    """The entries of a JSON object, or of a list of pairs, as texts; nothing if it is anything else."""
    try:
        value = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return
    pairs = list(value.items()) if isinstance(value, dict) else value if isinstance(value, list) else ()
    for pair in pairs[:MOST_BEHAVIORS]:
        match pair:
            case (str(name), value):
                shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                yield name[:LONGEST_NAME], shown[:LONGEST_NAME]


# --- expected answers ------------------------------------------------------------------------


def with_expected_answers(
    rows: Rows, parts: Sequence[SourcePart], failed: tuple[FailedScenario, ...]
) -> tuple[FailedScenario, ...]:
    """The scenarios, with the expected answer in parentheses after `wrong answer`, if the rows of a run have it."""
    ids = [one.id for one in failed if _WRONG in one.reason]
    graded = [part for part in parts if {_MISSED, "id"} <= part.columns.keys()]
    if not ids or not graded:
        return failed
    each = " UNION ALL ".join(_expected_answers(part, ids) for part in graded)
    found = dict(rows(f"SELECT id, min(answer) FROM ({each}) WHERE answer IS NOT NULL GROUP BY id"))
    return tuple(replace(one, reason=_with_answer(one.reason, found.get(one.id))) for one in failed)


def _expected_answers(part: SourcePart, ids: Sequence[str]) -> str:
    id_ = part.id_sql
    answer = f"json_extract_string({part.columns[_MISSED].as_json()}, {pointer('answer')})"
    listed = ", ".join(map(literal, ids))
    return f"SELECT ({id_}) AS id, {answer} AS answer FROM {part.relation(['id', _MISSED])} WHERE ({id_}) IN ({listed})"


def _with_answer(reason: str, answer: str | None) -> str:
    """The reason with the expected answer, without the semicolons and slashes that separate the parts of a reason."""
    if not answer:
        return reason
    text = " ".join(answer.replace(";", ",").replace(" / ", " or ").split())
    shown = text if len(text) <= _LONGEST_ANSWER else f"{text[:_LONGEST_ANSWER]}…"
    return reason.replace(_WRONG, f"{_WRONG} ({shown})", 1)


# --- latency ---------------------------------------------------------------------------------


def _latency(database: Database) -> Latency | None:
    """The latencies of the trials that completed, in about 40 bins of equal width; None if no latency is known.

    Latencies far above the 95th percentile share one bin without an end: otherwise a few slow trials would squeeze all
    others into one bin.
    """
    known, errors = database.rows(
        "SELECT count_if(isfinite(latency_rank)), count_if(isinf(latency_rank))"
        " FROM trials WHERE latency_rank IS NOT NULL"
    )[0]
    if not known:
        return None
    completed = "SELECT '' AS group_name, latency_rank AS number, id FROM trials WHERE isfinite(latency_rank)"
    ranks = sorted({1, -(-95 * known // 100), known})
    at = database.values_at(completed, {"": ranks}, {"": known})[""]
    least, usual, most = at[1], at[-(-95 * known // 100)], at[known]
    end = most if most <= 3 * usual else 2 * usual - least
    width = _round_width((end - least) / MOST_BINS)
    first = math.floor(Fraction(least) / width)
    last = math.floor(Fraction(end) / width)
    inside = f"least(latency_rank * {width.denominator} / {width.numerator}, {last + 1})"
    place = f"greatest(CAST(floor({inside}) AS HUGEINT), {first})"
    counted = dict(database.rows(f"SELECT {place}, count(*) FROM trials WHERE isfinite(latency_rank) GROUP BY 1"))
    bins = [Bin(width * n, width * (n + 1), counted.get(n, 0)) for n in range(first, last + 1)]
    above = counted.get(last + 1, 0)
    return Latency((*bins, *([Bin(width * (last + 1), None, above)] if above else ())), errors)


def _round_width(least: float) -> Fraction:
    """The smallest of 1, 2 and 5 times a power of ten that is not below `least`."""
    if least <= 0:
        return Fraction(1)
    power = Fraction(10) ** math.floor(math.log10(least))
    return next(power * step for step in (1, 2, 5, 10) if power * step >= least)
