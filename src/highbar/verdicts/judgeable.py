"""Whether any rule of the policy can be computed from the results; if not, nothing is judged.

A file of scenarios that never ran, or whose judgments are in a column of another name, must not give a fail (or, with
a rule about errors alone, a pass): it says nothing about the agent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from highbar import catalogue, measure
from highbar.columns import JUDGMENTS, source_columns
from highbar.errors import Problem
from highbar.model import (
    BaselineRule,
    Condition,
    ConditionRule,
    Expression,
    JudgeRule,
    Name,
    Percentile,
    Policy,
    ProgressiveRule,
    QuarantineRule,
    Rule,
    StepRule,
    Term,
    ThresholdRule,
)
from highbar.model.reduction import Reduction
from highbar.policy.metrics import measures_in

_LOOKS_LIKE_A_JUDGMENT = frozenset(
    {
        "pass", "ok", "success", "successful", "succeeded", "is_correct", "is_passed", "score", "status", "result",
        "verdict", "grade", "label", "judgment", "correctness", "failed", "fail", "is_success",
    }
)  # fmt: skip
_MOST_COLUMNS = 20
"""The most columns that a message lists."""


def nothing_to_judge(policy: Policy, whole: measure.Measured, reduction: Reduction) -> Problem | None:
    """The problem if no row has a column from which any rule of the policy can be computed; else None."""
    about_agents = [rule for rule in policy.rules if not isinstance(rule, JudgeRule | QuarantineRule)]
    return _unusable([tuple(_sums_of_rule(policy, rule)) for rule in about_agents], whole, reduction)


def nothing_to_compare(policy: Policy, whole: measure.Measured, reduction: Reduction) -> Problem | None:
    """The problem if no metric of the policy can be computed from one side of a comparison; else None."""
    return _unusable([tuple(_sums_in(policy, Name(name))) for name in policy.metrics], whole, reduction)


def _unusable(
    questions: Sequence[tuple[Term | Percentile, ...]], whole: measure.Measured, reduction: Reduction
) -> Problem | None:
    """The problem if no question, each a tuple of sums, has a sum with values; else None."""
    columns, blank = frozenset(reduction.columns), reduction.blank == reduction.whole.trials
    # A crash, a trial without a judgment and a recorded violation are results, whatever the rules ask for.
    if reduction.errors or reduction.unjudged or ("violations" in columns and not blank):
        return None
    if not _must_not_is_answered(whole, reduction):
        columns -= {"must_not"}
    if blank:  # the columns of judgments exist, but every value is null
        columns -= JUDGMENTS
    for question in questions:
        if any(_has_values(whole, wanted) and columns & source_columns(wanted.column) for wanted in question):
            return None
    needed = {column for question in questions for one in question for column in source_columns(one.column)}
    return _problem(reduction.columns, needed)


def _must_not_is_answered(whole: measure.Measured, reduction: Reduction) -> bool:
    """Whether `must_not` says in some row what happened. A mere list of what must not happen is no result."""
    passed = whole.group.totals.get(Term("passed"))
    return bool(passed and passed.value) or any(one.reason.startswith("violated") for one in reduction.scenarios_failed)


def _sums_of_rule(policy: Policy, rule: Rule) -> Iterator[Term | Percentile]:
    """The sums and percentiles that a rule needs."""
    match rule:
        case ThresholdRule() | ProgressiveRule() | BaselineRule() | StepRule():
            yield from _sums_in(policy, Name(rule.metric))
        case ConditionRule():
            yield from _sums_in(policy, rule.condition)
        case _:  # rules about named scenarios need to know whether they passed
            yield Term("passed")


def _sums_in(policy: Policy, node: Expression | Condition) -> Iterator[Term | Percentile]:
    """The sums and percentiles in a formula, each over all scenarios."""
    for leaf, _ in measures_in(node, policy.metrics):
        wanted = catalogue.terms(leaf)
        yield from wanted if isinstance(wanted, tuple) else (wanted,)


def _has_values(whole: measure.Measured, wanted: Term | Percentile) -> bool:
    """Whether some scenario has a value: a column may exist and be empty. Assumed for a sum over part of them."""
    if wanted.where:
        return True
    sums = whole.group.ranks.get(wanted) if isinstance(wanted, Percentile) else whole.group.totals.get(wanted)
    return sums is None or sums.scenarios > 0


def _problem(columns: Iterable[str], needed: Collection[str]) -> Problem:
    names = sorted(columns)
    shown = ", ".join(names[:_MOST_COLUMNS]) + (", …" if len(names) > _MOST_COLUMNS else "")
    alike = [name for name in names if name.casefold() in _LOOKS_LIKE_A_JUDGMENT]
    message = f"no rule of the policy can be computed from these results, which have the columns {shown}"
    hint = "the results must say what became of each trial: passed, correct, behaviors, violations, error, …"
    if "passed" not in needed:
        hint = f"the rules need one of these columns: {', '.join(sorted(needed))}"
    elif alike:
        hint = (
            f"{' and '.join(alike)} look{'' if len(alike) > 1 else 's'} like a judgment: rename it to passed "
            "(true or false), or map it: highbar init --from RESULTS writes such a mapping"
        )
    return Problem("results.nothing-to-judge", message, hint=hint)
