"""Agent versions: which step of a progressive rule applies to a version."""

from __future__ import annotations

import re

from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.model import Policy, ProgressiveRule, Rule, Stage, Step, ThresholdRule

_VERSION = re.compile(
    r"[vV]?([0-9]{1,9}(?:\.[0-9]{1,9})*)(?:-?([A-Za-z][0-9A-Za-z.-]*)|-([0-9][0-9A-Za-z.-]*))?(?:\+[0-9A-Za-z.-]+)?"
)

Ordered = tuple[tuple[int, ...], tuple[tuple[int, int, str], ...]]
_RELEASE = ((2, 0, ""),)

HINT = "write numbers with points between them: 2.1.0"


def order(version: str) -> Ordered | None:
    """The sort key of a version: its numbers, then pre-releases first (`2.0-rc1` is below `2.0`); None if unreadable.

    >>> order("v2.0") == order("2.0.0"), order("1.10") > order("1.9"), order("latest")
    (True, True, None)
    """
    match = _VERSION.fullmatch(version.strip())
    if not match:
        return None
    numbers = [int(part) for part in match.group(1).split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    before_release = match.group(2) or match.group(3)
    return tuple(numbers), _version_parts(before_release) if before_release else _RELEASE


def _version_parts(text: str) -> tuple[tuple[int, int, str], ...]:
    """Numbers compare as numbers and come before words."""
    parts = re.findall(r"[0-9]+|[A-Za-z]+", text)
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part.lower()) for part in parts)


def resolve_steps(policy: Policy, recorded: str | None) -> Policy:
    """The policy with one threshold in place of each progressive rule, by its agent version. Raises InputError.

    It is that of the highest step at or below that version, or of the first step if all are above. `recorded` is the
    version in the results.
    """
    version, notes = policy.agent_version, policy.notes
    if recorded and version and order(recorded) != order(version):
        notes = (*notes, f"the results are of agent version {recorded}, judged as version {version}")
    if version is None:
        rule = next(rule for rule in policy.rules if isinstance(rule, ProgressiveRule))
        message = f"{rule.name}: no agent version is known, and the threshold depends on it"
        hint = "give --agent-version, or agent_version in the policy or in the results"
        raise InputError(Problem("version.unknown", message, rule.place.file, rule.place.line, rule.place.column, hint))
    ordered = order(version)
    if ordered is None:
        raise InputError(Problem("version.unreadable", f"the agent version '{version}' cannot be read", hint=HINT))
    rules = tuple(_resolve_rule(rule, ordered) for rule in policy.rules)
    return replace(policy, rules=rules, notes=notes)


def _resolve_rule(rule: Rule, version: Ordered) -> Rule:
    if not isinstance(rule, ProgressiveRule):
        return rule
    step, *later = rule.steps[_step_at(rule, version) :]
    description = step.description or rule.description
    stage = Stage(step, later[0] if later else None, rule.target)
    return ThresholdRule(
        rule.name, rule.level, rule.metric, step.threshold, (), step.demand, description, rule.place,
        step.threshold_place, stage,
    )  # fmt: skip


def steps_from(rule: ProgressiveRule, version: str) -> tuple[Step, ...]:
    """The step that applies to a version, and those after it; all steps if the version cannot be read."""
    ordered = order(version)
    return rule.steps if ordered is None else rule.steps[_step_at(rule, ordered) :]


def _step_at(rule: ProgressiveRule, version: Ordered) -> int:
    """The index of the highest step at or below the version; 0 if all are above."""
    reached = (ordered is not None and ordered <= version for ordered in (order(step.version) for step in rule.steps))
    return max((place for place, there in enumerate(reached) if there), default=0)
