"""The composite: its node in, the metric final_score and the condition to pass out, checked against the metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from highbar.catalogue import FINAL_SCORE
from highbar.language.exact import write_decimal
from highbar.language.formula import (
    MIRRORED,
    NEGATED,
    FormulaError,
    metric_first,
    names,
    parse,
    parse_condition,
    unparse,
)
from highbar.language.threshold import check_threshold
from highbar.model import (
    Binary,
    Condition,
    Constant,
    Expression,
    Metric,
    Name,
    Operator,
    Relation,
)
from highbar.policy.cursor import Cursor
from highbar.policy.directions import always_holds, are_disjoint, linear, rewards, value_range
from highbar.policy.metrics import Definition, MetricTable, check_names, rests_on_results

COMPOSITE_KEYS = (
    "formula",
    "pass",
    "evidence",
    "spending",
    "horizon",
    "tolerate",
    "failures",
    "min_scenarios",
    "description",
)
_FORMULA_START = r"\s*final_score\s*=(?!=)"
_CONDITION_START = r"(?i)\bpass\s*=(?!=)"


class CompositePart(Struct, frozen=True):
    """The block `composite`: the formula of final_score, and the condition to pass."""

    definition: Definition | None = None
    condition: Condition | None = None
    text: str = ""
    cursor: Cursor | None = None
    fields: Mapping[str, Cursor] | None = None


def read_composite(cursor: Cursor, table: MetricTable) -> CompositePart:
    """The composite, as a mapping or as one text (`final_score = …  pass = …`). Adds final_score to the table."""
    part = _from_text(cursor) if cursor.is_kind("text") else _from_mapping(cursor)
    if part.definition is None:
        table.broken.add(FINAL_SCORE)
    elif FINAL_SCORE in table.metrics:
        cursor.refuse("metric.name-taken", f"'{FINAL_SCORE}' is defined under metrics as well")
    else:
        table.metrics[FINAL_SCORE] = part.definition.metric
    return part


def _from_text(cursor: Cursor) -> CompositePart:
    read = cursor.attempt(lambda: parse_composite(cursor.node.text))
    if read is None:
        return CompositePart()
    formula, expression, condition_text, condition = read
    return CompositePart(Definition(_final_score(formula, expression), cursor), condition, condition_text, cursor)


def parse_composite(text: str) -> tuple[str, Expression, str, Condition | None]:
    """The formula of `final_score = ( … )` and its tree, and likewise the condition of `pass = …` if there is one."""
    start = re.match(_FORMULA_START, text)
    if not start:
        place = len(text) - len(text.lstrip())
        raise FormulaError(
            "formula.syntax", "the composite does not begin with 'final_score ='", text, place, "final_score = ( … )"
        )
    judged = re.compile(_CONDITION_START).search(text, start.end())
    end = judged.start() if judged else len(text)
    # Blanks replace the text before it, so that the line and column of a fault are those in the whole text.
    formula = _blank(text[: start.end()]) + text[start.end() : end]
    expression = parse(formula)
    if not judged:
        return formula.strip(), expression, "", None
    condition = _blank(text[: judged.end()]) + text[judged.end() :]
    return formula.strip(), expression, condition.strip(), parse_condition(condition)


def _blank(text: str) -> str:
    return "".join("\n" if character == "\n" else " " for character in text)


def _from_mapping(cursor: Cursor) -> CompositePart:
    fields = cursor.fields(COMPOSITE_KEYS)
    if "formula" not in fields and cursor.is_kind("mapping"):
        cursor.refuse("policy.missing-key", "a composite without a formula")
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
    """Refuse a condition with unknown names, with the same outcome for any results, or that worse results meet."""
    check_names(cursor, condition, table)
    for demand in comparisons_in(condition):
        _check_demand(cursor, demand, table)


def check_formula(definition: Definition, table: MetricTable) -> None:
    """Refuse a final_score that only rises as the results get worse."""
    expression = definition.metric.expression
    found = rewards(expression, ">=", table.metrics)
    if found.only_worse and FINAL_SCORE not in table.broken:
        turned = f"1 - ({definition.metric.formula.strip()})"
        definition.formula.refuse(
            "formula.rewards-worse", f"{FINAL_SCORE} rises if {names_with_verb(found.worse)} worse", f"write {turned}"
        )


def names_with_verb(names: tuple[str, ...]) -> str:
    """`accuracy is`, `accuracy and error_rate are`."""
    return f"{names[0]} is" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} are"


class Demanded(Struct, frozen=True):
    """One comparison of a condition."""

    comparison: Relation
    operator: Operator  # after applying the NOTs around the comparison
    alternative: bool  # part of an OR: if this comparison holds, the other operands need not

    @property
    def difference(self) -> Expression:
        """The left side minus the right side, to compare with 0."""
        return Binary("-", self.comparison.left, self.comparison.right)


def comparisons_in(condition: Condition, *, negated: bool = False, alternative: bool = False) -> Iterator[Demanded]:
    """The comparisons in a condition; `negated` and `alternative` describe the conditions around this one."""
    if isinstance(condition, Relation):
        operator = NEGATED[condition.operator] if negated else condition.operator
        yield Demanded(condition, operator, alternative)
        return
    turned = negated != (condition.operator == "not")
    either = condition.operator == ("and" if negated else "or")  # NOT (a AND b) is an OR
    for operand in condition.operands:
        yield from comparisons_in(operand, negated=turned, alternative=alternative or either)


def _check_demand(cursor: Cursor, demand: Demanded, table: MetricTable) -> None:
    comparison = demand.comparison
    left, right = comparison.left, comparison.right
    if any(name in table.broken for name in names(comparison)):
        return
    # Refused only in an OR, which would then pass any results. Elsewhere it adds nothing, and `policy.notes` says so.
    if demand.alternative and always_holds(left, demand.operator, right, table.metrics):
        cursor.refuse(
            "formula.constant",
            f"'{unparse(comparison)}' always holds, so the OR that it is part of does too",
            "leave it out",
        )
        return
    bounded = _bound(comparison, demand.operator, table)
    if bounded:
        _check_bound(cursor, *bounded)
        return
    decided = f"'{unparse(comparison)}' has the same outcome whatever the results are"
    parts = linear(demand.difference)
    if not rests_on_results(comparison) or (parts is not None and not any(parts[name] for name in parts if name)):
        cursor.refuse("formula.constant", decided, "name a metric on one side: final_score ≥ 0.85")
    elif are_disjoint(value_range(left, table.metrics), value_range(right, table.metrics)):
        cursor.refuse("formula.constant", decided, "compare a ratio with 85% or 0.85")
    elif (found := rewards(demand.difference, demand.operator, table.metrics)).only_worse:
        message = f"'{unparse(comparison)}' is met more easily if {names_with_verb(found.worse)} worse"
        cursor.refuse(
            "formula.rewards-worse",
            message,
            f"turn it around: {unparse(replace(comparison, operator=MIRRORED[comparison.operator]))}",
        )


def _bound(comparison: Relation, operator: Operator, table: MetricTable) -> tuple[Metric, Operator, Fraction] | None:
    """The metric, operator and number of a comparison, with the metric first; None for any other comparison."""
    turned = metric_first(replace(comparison, operator=operator))
    left, operator, right = turned.left, turned.operator, turned.right
    metric = table.metrics.get(left.name) if isinstance(left, Name) else None
    return (metric, operator, right.value) if metric and isinstance(right, Constant) else None


def _check_bound(cursor: Cursor, metric: Metric, operator: Operator, value: Fraction) -> None:
    if metric.unit == "ratio" and value > 1:
        number = write_decimal(value)
        cursor.refuse(
            "threshold.wrong-unit",
            f"{metric.name} is a ratio, found {number}",
            f"write {number}% or {write_decimal(value / 100)}",
        )
        return
    cursor.attempt(lambda: check_threshold(metric, operator, value))
