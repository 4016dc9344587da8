"""Says why a metric is undefined, or refuses its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from highbar.columns import EXTRA, UNBOUNDED, UNBOUNDED_NAMES
from highbar.errors import InputError, Problem
from highbar.language.exact import write_decimal
from highbar.language.phrases import ordinal
from highbar.language.spelling import nearest
from highbar.measure.limits import MOST_CATEGORIES
from highbar.model import Ends, Metric, Percentile, Policy, Where
from highbar.model.reduction import Rank
from highbar.policy.directions import ImputedPart

LACKS = {
    "correct": "no scenario has `correct`, `expected` or `outcome`",
    "tp": "no scenario has `outcome`, or `expected` with a positive label (`positive` in the policy)",
    "behavior_score": "no scenario has `expected_behaviors`",
    "observed": "no scenario has `expected_behaviors`",
    "quality_both": "no scenario has both `quality_score` and `tokens_used`",
    "latency_ms": "no scenario has `latency_ms`",
}
LACKS |= {"fp": LACKS["tp"], "fn": LACKS["tp"], "expected": LACKS["observed"], "tokens_both": LACKS["quality_both"]}


def limit_of(column: str) -> str:
    """What in a policy limits the values of a column, in words."""
    limit = next((one.limit for one in UNBOUNDED if one.name == column), None)
    return (
        f"`{limit.key}` in the policy"
        if limit
        else f"the `range` of a metric that is mean({column.removeprefix(EXTRA)})"
    )


def no_scenario_has(column: str) -> str:
    """Why a metric is undefined: it needs a column that no scenario has."""
    return LACKS.get(column, f"no scenario has `{column.removeprefix(EXTRA)}`")


def without_values(column: str, valueless: int, beyond: int, end: Ends | None) -> str | None:
    """Why a sum with trials without a value is undefined; None if the policy says what such a trial counts as."""
    name = column.removeprefix(EXTRA)
    limit = limit_of(column)
    scenarios = "1 scenario has" if valueless == 1 else f"{valueless} scenarios have"
    lack = f"{scenarios} a trial without `{name}` (it crashed, is undecided or did not record it)"
    if end is None or end.worst is None:
        return f"{lack}; {limit} says what such a trial counts as"
    return f"{lack}, and {limit} is not as bad as a value that was recorded" if beyond else None


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


def outside_range(policy: Policy, metric: Metric, value: Fraction, ends: tuple[Fraction, Fraction]) -> InputError:
    """Refuses a value outside of the metric's range: every comparison with it would be meaningless."""
    low, high = (write_decimal(end) for end in ends)
    message = f"the metric '{metric.name}' is {float(value):.6g}, outside of its range from {low} to {high}"
    hint = (
        f"correct its formula, {metric.formula}, or its range" if metric.formula else "correct its formula or its range"
    )
    return InputError(Problem("metric.outside-range", message, file=policy.file, hint=hint))
