"""The composite: its node in, the metric final_score and the condition to pass out, checked against the metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from highbar import catalogue
from highbar.catalogue import FINAL_SCORE, MEASURES, SETTINGS
from highbar.exact import write_decimal
from highbar.formula import parse, parse_composite, parse_condition, to_words
from highbar.model import (
    Binary,
    Call,
    Comparison,
    Condition,
    Expression,
    Metric,
    Name,
    Negative,
    Number,
    Operator,
)
from highbar.policy.cursor import Cursor
from highbar.policy.metrics import Definition, MetricTable, check_names, rests_on_results
from highbar.threshold import check

COMPOSITE_KEYS = ("formula", "pass", "evidence", "tolerate", "min_scenarios", "description")

_NEGATED: dict[Operator, Operator] = {">=": "<", ">": "<=", "<=": ">", "<": ">=", "=": "!=", "!=": "="}
_MIRRORED: dict[Operator, Operator] = {">=": "<=", ">": "<", "<=": ">=", "<": ">", "=": "=", "!=": "!="}


@dataclass(frozen=True, slots=True)
class CompositePart:
    """What `composite` says: how final_score is computed, and what must hold."""

    definition: Definition | None = None
    condition: Condition | None = None
    text: str = ""
    cursor: Cursor | None = None
    fields: Mapping[str, Cursor] | None = None


def read_composite(cursor: Cursor | None, table: MetricTable) -> CompositePart:
    """The composite, as a mapping or as the guide's own text; final_score is in the table afterwards."""
    if cursor is None:
        return CompositePart()
    part = _from_text(cursor) if cursor.is_kind("text") else _from_mapping(cursor)
    if part.definition is None:
        table.broken.add(FINAL_SCORE)
    elif FINAL_SCORE in table.metrics:
        cursor.refuse(f"'{FINAL_SCORE}' is defined under metrics as well")
    else:
        table.metrics[FINAL_SCORE] = part.definition.metric
    return part


def _from_text(cursor: Cursor) -> CompositePart:
    read = cursor.attempt(lambda: parse_composite(cursor.node.text))
    if read is None:
        return CompositePart()
    definition = Definition(_final_score(read.formula, read.expression), cursor)
    return CompositePart(definition, read.condition, read.condition_text or "", cursor)


def _from_mapping(cursor: Cursor) -> CompositePart:
    fields = cursor.fields(COMPOSITE_KEYS)
    if "formula" not in fields and cursor.is_kind("mapping"):
        cursor.refuse("a composite without a formula")
    definition = _read_formula(fields["formula"]) if "formula" in fields else None
    if "pass" not in fields:
        return CompositePart(definition, fields=fields)
    judged = fields["pass"]
    text = judged.text()
    condition = None if text is None else judged.attempt(lambda: parse_condition(text))
    return CompositePart(definition, condition, (text or "").strip(), judged, fields)


def _read_formula(cursor: Cursor) -> Definition | None:
    text = cursor.text()
    expression = None if text is None else cursor.attempt(lambda: parse(text))
    if text is None or expression is None:
        return None
    return Definition(_final_score(text.strip(), expression), cursor)


def _final_score(formula: str, expression: Expression) -> Metric:
    return Metric(FINAL_SCORE, formula, expression, "ratio", "higher", "The composite score")


def check_condition(cursor: Cursor, condition: Condition, table: MetricTable) -> None:
    """Refuse a condition that names what is not there, cannot come true, or would accept worse values."""
    check_names(cursor, condition, table)
    for comparison, negated in _comparisons(condition, negated=False):
        _check_comparison(cursor, comparison, table, negated=negated)


def _comparisons(condition: Condition, *, negated: bool) -> Iterator[tuple[Comparison, bool]]:
    """The comparisons in a condition, each with whether an odd number of NOTs stands before it."""
    if isinstance(condition, Comparison):
        yield condition, negated
        return
    for operand in condition.operands:
        yield from _comparisons(operand, negated=negated != (condition.operator == "not"))


def _check_comparison(cursor: Cursor, comparison: Comparison, table: MetricTable, *, negated: bool) -> None:
    left, operator, right = comparison.left, comparison.operator, comparison.right
    if isinstance(left, Number) and isinstance(right, Name):
        left, operator, right = right, _MIRRORED[operator], left
    if isinstance(left, Name) and isinstance(right, Number) and left.name not in table.broken:
        metric = table.metrics.get(left.name)
        if metric:
            effective = _NEGATED[operator] if negated else operator
            _check_bound(cursor, metric, effective, right.value)
            return
    decided = f"'{to_words(comparison)}' has the same outcome whatever the results are"
    if left == right or not rests_on_results(comparison):
        cursor.refuse(decided, "name a metric on one side: final_score ≥ 0.85")
    elif _apart(value_range(left, table.metrics), value_range(right, table.metrics)):
        cursor.refuse(decided, "compare a ratio with 85% or 0.85")


def _check_bound(cursor: Cursor, metric: Metric, operator: Operator, value: Fraction) -> None:
    if metric.unit == "ratio" and value > 1:
        number = write_decimal(value)
        cursor.refuse(f"{metric.name} is a ratio, found {number}", f"write {number}% or {write_decimal(value / 100)}")
        return
    cursor.attempt(lambda: check(metric, operator, value))


Range = tuple[Fraction | None, Fraction | None]
"""The least and the greatest value; None where there is no bound."""

_ANY: Range = (None, None)
_SHARE: Range = (Fraction(0), Fraction(1))
_NOT_NEGATIVE: Range = (Fraction(0), None)


def value_range(node: Expression, metrics: Mapping[str, Metric]) -> Range:
    """Between which values `node` must lie, as far as that can be told without results."""
    match node:
        case Number(value):
            return value, value
        case Name(name):
            return _name_range(name, metrics)
        case Negative(operand):
            low, high = value_range(operand, metrics)
            return None if high is None else -high, None if low is None else -low
        case Call(function, arguments):
            return _call_range(function, arguments, metrics)
        case Binary(operator, left, right):
            return _binary_range(operator, value_range(left, metrics), value_range(right, metrics))


def _name_range(name: str, metrics: Mapping[str, Metric]) -> Range:
    if name in MEASURES or name in SETTINGS:
        return _NOT_NEGATIVE
    unit = metrics[name].unit if name in metrics else "number"
    return _SHARE if unit == "ratio" else _ANY if unit == "number" else _NOT_NEGATIVE


def _call_range(function: str, arguments: tuple[Expression, ...], metrics: Mapping[str, Metric]) -> Range:
    if function in ("min", "max"):
        lows, highs = zip(*(value_range(argument, metrics) for argument in arguments), strict=True)
        pick = min if function == "min" else max
        known_lows, known_highs = [v for v in lows if v is not None], [v for v in highs if v is not None]
        low_known = len(known_lows) == len(lows) or (function == "max" and known_lows)
        high_known = len(known_highs) == len(highs) or (function == "min" and known_highs)
        return pick(known_lows) if low_known else None, pick(known_highs) if high_known else None
    if function == "abs":
        return _NOT_NEGATIVE
    column = arguments[0].name if isinstance(arguments[0], Name) else ""
    if column not in catalogue.SUMMED_COLUMNS and not catalogue.is_repeated(column):
        return _ANY
    shares = column in ("passed", "correct", "behavior_score", "quality_score") or catalogue.is_repeated(column)
    return _SHARE if shares and function != "sum" else _NOT_NEGATIVE


def _binary_range(operator: str, left: Range, right: Range) -> Range:
    (a, b), (c, d) = left, right
    if operator == "-":
        c, d = None if d is None else -d, None if c is None else -c
    if operator in ("+", "-"):
        return None if a is None or c is None else a + c, None if b is None or d is None else b + d
    if a is None or b is None or c is None or d is None:
        return _NOT_NEGATIVE if a is not None and c is not None and min(a, c) >= 0 else _ANY
    if operator == "/":
        if c <= 0 <= d:
            return _NOT_NEGATIVE if min(a, c) >= 0 else _ANY
        c, d = 1 / d, 1 / c
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)


def _apart(left: Range, right: Range) -> bool:
    (a, b), (c, d) = left, right
    return (b is not None and c is not None and b < c) or (d is not None and a is not None and d < a)
