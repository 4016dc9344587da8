"""Unknown values: what they can be, which undecided trials a rule depends on, and why a metric is undefined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from highbar import catalogue
from highbar.columns import EXTRA, UNBOUNDED, UNBOUNDED_NAMES
from highbar.errors import InputError, Problem
from highbar.language import formula
from highbar.language.exact import write_decimal
from highbar.language.phrases import ordinal
from highbar.language.spelling import nearest
from highbar.measure.limits import MOST_CATEGORIES
from highbar.model import (
    BaselineRule,
    Call,
    Condition,
    ConditionRule,
    DriftRule,
    Ends,
    JudgeRule,
    Metric,
    Name,
    NewFailuresRule,
    Operator,
    Percentile,
    Policy,
    ProgressiveRule,
    QuarantineRule,
    Rule,
    ScenarioRule,
    StepRule,
    SuiteRule,
    ThresholdRule,
    Undecided,
    Where,
)
from highbar.model.reduction import Rank
from highbar.model.requests import ColumnRange
from highbar.policy.directions import ImputedPart, column_ends, helped_by_crashes
from highbar.policy.metrics import measures_in

LIMITS = {column.name: f"`{column.limit.key}` in the policy" for column in UNBOUNDED if column.limit}
PASSED: tuple[tuple[str, Where], ...] = (("passed", ()),)


def ends_by_column(policy: Policy) -> Mapping[str, Ends]:
    """For each column without bounds, what a trial without a value counts as, at worst and at best."""
    return column_ends(policy.metrics, policy.limits)


def measures_of(policy: Policy, metric: Metric, where: Where = ()) -> Iterator[tuple[Name | Call, Where]]:
    """The measures in a metric's formula, with the metrics in it expanded; each with its filter on scenarios."""
    return measures_in(metric.expression, policy.metrics, catalogue.narrow(where, metric.where))


def metric_columns(policy: Policy, metric: Metric, where: Where = ()) -> Iterator[tuple[str, Where]]:
    """The columns that a metric uses, each with its filter on scenarios."""
    for leaf, narrowed in measures_of(policy, metric, where):
        wanted = catalogue.terms(leaf, narrowed)
        term = wanted if isinstance(wanted, Percentile) else wanted[0]
        yield "passed" if catalogue.is_repeated(term.column) else term.column, term.where


def undecided_of(rule: Rule, policy: Policy) -> Undecided:
    """The undecided trials that the outcome of a rule depends on."""
    match rule:
        case ThresholdRule() | BaselineRule() | StepRule() | ProgressiveRule():
            where = () if isinstance(rule, ProgressiveRule) else rule.where
            return Undecided(tuple(dict.fromkeys(metric_columns(policy, policy.metrics[rule.metric], where))))
        case ConditionRule():
            return Undecided(tuple(dict.fromkeys(_of_condition(rule.condition, policy))))
        case ScenarioRule():
            return Undecided(PASSED, rule.pattern)
        case NewFailuresRule():
            return Undecided(PASSED)
        case SuiteRule():
            return Undecided((("unjudged", ()),))
        case JudgeRule() | QuarantineRule() | DriftRule():
            return Undecided(())  # these are about the judge, the policy, and decided trials


def _of_condition(condition: Condition, policy: Policy) -> Iterator[tuple[str, Where]]:
    for name in formula.names(condition):
        if name in policy.metrics:
            yield from metric_columns(policy, policy.metrics[name])


def without_values(column: str, valueless: int, beyond: int, end: Ends | None) -> str | None:
    """Why a sum with trials without a value is undefined; None if the policy says what such a trial counts as."""
    name = column.removeprefix(EXTRA)
    limit = LIMITS.get(column, f"the `range` of a metric that is mean({name})")
    scenarios = "1 scenario has" if valueless == 1 else f"{valueless} scenarios have"
    lack = f"{scenarios} a trial without `{name}` (it crashed, is undecided or did not record it)"
    if end is None or end.worst is None:
        return f"{lack}; {limit} says what such a trial counts as"
    return f"{lack}, and {limit} is not as bad as a value that was recorded" if beyond else None


def parts_without_worse_end(policy: Policy, metric: Metric, where: Where = ()) -> tuple[ImputedPart, ...]:
    """The parts of a formula for which the worse end of a column may be the better one: no end is safe for a crash."""
    operator: Operator = ">=" if metric.better == "higher" else "<="
    narrowed = catalogue.narrow(where, metric.where)
    found = helped_by_crashes(metric.expression, operator, policy.metrics, ends_by_column(policy), narrowed)
    return (*found.surely, *found.perhaps)


def no_worse_end(part: ImputedPart) -> str:
    """Why a formula is undefined if a trial crashed."""
    column = part.column.removeprefix(EXTRA)
    return f"a trial crashed without `{column}`, and neither end of `{column}` is known to be worse for the formula"


def why_uneven(resting: Mapping[str, int]) -> str | None:
    """Why a formula is undefined: it sums a column that some of the scenarios in its other parts do not have."""
    most = max(resting.values(), default=0)
    for column, scenarios in resting.items():
        lacking = most - scenarios
        if scenarios and lacking and (column in UNBOUNDED_NAMES or column.startswith(EXTRA)):
            has = "scenario has" if lacking == 1 else "scenarios have"
            return f"{lacking} {has} no `{column.removeprefix(EXTRA)}`, and the formula counts them"
    return None


def no_value_at(wanted: Percentile, rank: Rank, undecided: int) -> str:
    """Why a percentile is undefined: the trial at its rank has no value. `undecided` counts the undecided trials."""
    percentile = f"the {ordinal(write_decimal(wanted.share * 100))} percentile falls on"
    if not rank.errors:
        return f"{percentile} an undecided trial"
    counted = f"{rank.errors} of {rank.trials}"
    if undecided:
        return f"{percentile} a trial that crashed or is undecided ({counted} are)"
    return f"{percentile} a trial that never finished ({counted} crashed)"


def nothing_there(where: Where, categories: Sequence[str] = ()) -> str:
    """Why a metric has no scenario; if that is because of a category, lists the categories in the results."""
    if not where:
        return "there are no scenarios"
    chosen = " and ".join(f"{column} {' or '.join(values) or '(none)'}" for column, values in where)
    wanted = dict(where).get("category", ())
    if not categories or not wanted or {*wanted} & {*categories}:
        return f"no scenario with {chosen}"
    meant = nearest(wanted[0], categories)
    listed = ", ".join(categories[:MOST_CATEGORIES]) + (", …" if len(categories) > MOST_CATEGORIES else "")
    rename = f" (if {meant} is meant, call it {wanted[0]})" if meant else ""
    which = "the only category is" if len(categories) == 1 else "the categories are"
    return f"no scenario with {chosen}; {which} {listed}{rename}"


_SHARE = (Fraction(0), Fraction(1))


def declared_range(metric: Metric) -> tuple[Fraction, Fraction] | None:
    """The ends of a metric's range: the declared one, or 0 to 1 for a ratio; else None."""
    return metric.range or (_SHARE if metric.unit == "ratio" else None)


def column_ranges(policy: Policy) -> tuple[ColumnRange, ...]:
    """The range for each single value of a column. The mean is not enough: that of one 95 and many zeros is below 1."""
    found: dict[ColumnRange, None] = {}
    for metric in policy.metrics.values():
        ends = declared_range(metric)
        match metric.expression:
            case Call("mean" | "percentile", (Name(column), *_)) if ends and _is_number(column):
                found[ColumnRange(column, *ends, metric.where)] = None
    return tuple(found)


def _is_number(column: str) -> bool:
    """Whether the rows themselves have a number in the column."""
    counted = column in catalogue.SUMMED_COLUMNS - catalogue.RANKED_COLUMNS
    return not counted and not catalogue.is_repeated(column)


def refuse_outside(policy: Policy, metric: Metric, value: Fraction) -> None:
    """Refuse a value outside of the metric's range: every comparison with it would be meaningless."""
    ends = declared_range(metric)
    if ends is None or ends[0] <= value <= ends[1]:
        return
    low, high = (write_decimal(end) for end in ends)
    message = f"the metric '{metric.name}' is {float(value):.6g}, outside of its range from {low} to {high}"
    hint = (
        f"correct its formula, {metric.formula}, or its range" if metric.formula else "correct its formula or its range"
    )
    raise InputError(Problem(message, file=policy.file, hint=hint))
