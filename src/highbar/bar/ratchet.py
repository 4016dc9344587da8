"""Raises the thresholds of a policy as far as a baseline supports, and never lowers one.

With `bound`, a threshold goes to the worse end of the baseline's interval, so the run that was recorded passes. So do
most second runs of an unchanged agent. But if raised again after every run that passes, the bar climbs on luck
(docs/concepts/rising-bars.md). With `step`, it goes beyond the baseline's value; most runs of an unchanged agent
then fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.language import digits
from highbar.language.phrases import count
from highbar.language.threshold import ThresholdError, canonical, check_threshold
from highbar.model import (
    ConditionRule,
    Metric,
    Policy,
    ProgressiveRule,
    Step,
    Threshold,
    ThresholdRule,
    Unit,
    Value,
    Where,
)
from highbar.model.baseline import Baseline
from highbar.model.proposals import Proposal
from highbar.model.rules import Place
from highbar.policy import resolve_version
from highbar.policy.editing import Bound, WrittenNumber
from highbar.policy.notes import is_looser
from highbar.policy.versions import steps_from

Look = Callable[[Place, Threshold], WrittenNumber | None]
"""Finds the number of a threshold in the policy's text."""

_SIGNIFICANT = 3
_DECIMALS = {Fraction(1, 100): 1, Fraction(1): 0, Fraction(1000): 2}
"""The fewest digits after the point of a percentage, of milliseconds and of seconds; for others, see `_grain`."""
_NO_EDIT = "its text cannot be changed for certain: write it on one line, as ≥ 85%"
_BEYOND = "an agent that stays as it is misses it more often than not"


class Climb(Struct, frozen=True):
    """How far a threshold goes: to the `bound` of the baseline, a `step` beyond its value, or to that of `pooled` runs.

    The step of a ratio is in percentage points, that of anything else a share of the baseline's value. The bounds of
    pooled runs are the values that a threshold may rise to (`bar.raising`).
    """

    rule: Literal["bound", "step", "pooled"] = "bound"
    step: Fraction = Fraction(1, 100)
    runs: int = 1  # the number of pooled runs


def propose(
    policy: Policy,
    baseline: Baseline,
    climb: Climb,
    version: str | None,
    look: Look,
    bounds: Sequence[Bound] = (),
) -> tuple[Proposal, ...]:
    """A proposal for every threshold of the policy. Raises InputError if the baseline was scored in another way.

    `version` (else the policy's, else the baseline's) decides which step of a progressive rule applies. `bounds` are
    those in the condition to pass.
    """
    _refuse_other_scoring(policy, baseline, climb)
    reader = _Proposer(policy, baseline, climb, look)
    version = resolve_version(policy, given=version, recorded=baseline.agent_version).agent_version or ""
    found: list[Proposal] = []
    for rule in policy.rules:
        if isinstance(rule, ThresholdRule):
            place = rule.threshold_place
            found.append(reader.proposal(rule.name, rule.metric, rule.threshold, place, rule.where))
        elif isinstance(rule, ProgressiveRule):
            found.extend(reader.steps(rule, steps_from(rule, version)))
        elif isinstance(rule, ConditionRule):
            found.extend(reader.bounds(rule, bounds))
    return tuple(found)


def _refuse_other_scoring(policy: Policy, baseline: Baseline, climb: Climb) -> None:
    again = "record the baseline again, by this policy"
    # Bounds of a lower confidence are closer to the value, so the thresholds would rise too far.
    if climb.rule == "bound" and baseline.confidence < policy.confidence:
        recorded, wants = (digits.amount(each, "ratio") for each in (baseline.confidence, policy.confidence))
        message = f"its bounds were recorded with {recorded} confidence, and the policy asks for {wants}"
        raise InputError(Problem(message, baseline.file, hint=again))
    scoring = (baseline.scoring.pass_score, baseline.scoring.positive)
    if scoring != (policy.pass_score, policy.positive):
        message = "its trials were scored by another pass_score, or another positive label, than the policy has"
        raise InputError(Problem(message, baseline.file, hint=again))


class _Proposer(Struct, frozen=True):
    policy: Policy
    baseline: Baseline
    climb: Climb
    look: Look

    def proposal(
        self,
        name: str,
        metric: str,
        before: Threshold,
        place: Place,
        where: Where = (),
        target: Threshold | None = None,
    ) -> Proposal:
        """The proposal for one threshold; `after` is None if it stays."""
        value = self._value(metric, where)
        if value is None or value.value is None:
            return Proposal(name, metric, before, None, self._why_no_value(metric, where, value), place)
        if value.unit != before.unit:
            return Proposal(name, metric, before, None, f"the baseline's {metric} is in another unit", place)
        written = self.look(place, before)
        if written is None:
            return Proposal(name, metric, before, None, _NO_EDIT, place)
        aim, why = self._aim(value, value.value)
        if aim is None:
            return Proposal(name, metric, before, None, why, place)
        aim, why = _within(aim, why, value, target)
        after = _tidy(before, written, aim, value)
        if not is_looser(before, after) or not _possible(after, self.policy.metrics[metric]):
            why = f"{why}, is no {'higher' if value.better == 'higher' else 'lower'}"
            return Proposal(name, metric, before, None, why, place)
        return Proposal(name, metric, before, after, f"{why}; {_BEYOND}" if self.climb.rule == "step" else why, place)

    def steps(self, rule: ProgressiveRule, steps: tuple[Step, ...]) -> Iterator[Proposal]:
        """The proposals for the step that applies, and for later ones, which rise if they would be lower than it."""
        first, *later = steps
        current = self.proposal(
            f"{rule.name}.{first.version}", rule.metric, first.threshold, first.threshold_place, (), rule.target
        )
        yield current
        for step in later:
            name, place = f"{rule.name}.{step.version}", step.threshold_place
            if current.after is None or not is_looser(step.threshold, current.after):
                reason = f"{first.version} is the step that holds now"
                yield Proposal(name, rule.metric, step.threshold, None, reason, place)
            elif self.look(place, step.threshold) is None:
                yield Proposal(name, rule.metric, step.threshold, None, _NO_EDIT, place)
            else:
                after = replace(
                    step.threshold,
                    value=current.after.value,
                    text=canonical(step.threshold.operator, current.after.value, current.after.unit),
                )
                reason = f"{first.version} before it demands as much"
                yield Proposal(name, rule.metric, step.threshold, after, reason, place)

    def bounds(self, rule: ConditionRule, bounds: Sequence[Bound]) -> Iterator[Proposal]:
        """The proposals for the bounds of a condition that can be found in its text."""
        for bound in bounds:
            if self.look(bound.place, bound.threshold) is not None:
                name = f"{rule.name} {bound.metric}"
                found = self.proposal(name, bound.metric, bound.threshold, bound.place)
                yield replace(found, text_place=bound.text_place)

    def _value(self, metric: str, where: Where) -> Value | None:
        if not where:
            return self.baseline.metrics.get(metric)
        recorded = (rule.value for rule in self.baseline.rules if (rule.metric, rule.slice) == (metric, where))
        return next(recorded, None)

    def _why_no_value(self, metric: str, where: Where, value: Value | None) -> str:
        """Why there is no value to raise a threshold to."""
        if self.climb.rule == "pooled" and value is not None and value.reason is not None:
            return value.reason
        source = "the baseline has" if self.climb.rule != "pooled" else "the runs have"
        return f"{source} no value of {metric}{' over these scenarios' if where else ''}"

    def _aim(self, value: Value, number: Fraction) -> tuple[Fraction | None, str]:
        """The value that the threshold should rise to, None if the baseline has no bound; and why."""
        higher = value.better == "higher"
        shown = f"{digits.show(value)} over {value.scenarios} scenario{'' if value.scenarios == 1 else 's'}"
        if self.climb.rule == "pooled":
            return self._pooled_aim(value, number)
        if self.climb.rule == "bound":
            end, name = (value.low, "lower") if higher else (value.high, "upper")
            if end is None or not math.isfinite(end):
                return None, f"the baseline has no {name} bound, {shown}"
            return Fraction(end), f"the {name} bound of the baseline, {shown}"
        size = self.climb.step if value.unit == "ratio" else abs(number) * self.climb.step
        aim = number + size if higher else number - size
        return aim, f"{digits.gap(size, value.unit)} {'above' if higher else 'below'} the baseline, {shown}"

    def _pooled_aim(self, value: Value, number: Fraction) -> tuple[Fraction | None, str]:
        end = value.low if value.better == "higher" else value.high
        shown = f"{digits.amount(number, value.unit)} over {count(self.climb.runs, 'run')}"
        if end is None:
            return None, f"the runs have no bound, {shown}"
        what = "lower bound less" if value.better == "higher" else "upper bound plus"
        return Fraction(
            end
        ), f"the pooled {what} the noise of one run, {digits.amount(Fraction(end), value.unit)}; {shown}"


def _tidy(before: Threshold, written: WrittenNumber, aim: Fraction, value: Value) -> Threshold:
    """The threshold at `aim`, rounded toward the easier side to the digits of `_grain`."""
    grain = _grain(written, aim, value.unit)
    places = math.floor(aim / grain) if value.better == "higher" else math.ceil(aim / grain)
    if before.operator in ("<", ">") and places * grain == aim:
        places += -1 if value.better == "higher" else 1  # a value that only equals the threshold would not pass
    found = places * grain
    return replace(before, value=found, text=canonical(before.operator, found, before.unit))


def _grain(written: WrittenNumber, aim: Fraction, unit: Unit) -> Fraction:
    """The unit of the last digit that is written: as many digits as in the file, or more if those are too few."""
    own = written.scale * Fraction(1, 10**written.decimals)
    if unit in ("ratio", "ms"):
        fewest = 3 if unit == "ratio" and written.scale == 1 else _DECIMALS[written.scale]
        return min(own, written.scale * Fraction(1, 10**fewest))
    size = Fraction(1)
    while size > abs(aim) > 0:
        size /= 10
    while abs(aim) >= size * 10:
        size *= 10
    return min(own, size * Fraction(1, 10 ** (_SIGNIFICANT - 1)))


def _within(aim: Fraction, why: str, value: Value, target: Threshold | None) -> tuple[Fraction, str]:
    """`aim`, limited to the target and to the values that the metric can have."""
    higher = value.better == "higher"
    end = Fraction(1) if higher and value.unit == "ratio" else Fraction(0) if not higher else None
    if end is not None and value.unit != "number" and ((aim > end) if higher else (aim < end)):
        aim, why = end, f"nothing is beyond {digits.amount(end, value.unit)}; {why}"
    if target is not None and ((aim > target.value) if higher else (aim < target.value)):
        return target.value, f"the target; {why}"
    return aim, why


def _possible(threshold: Threshold, metric: Metric) -> bool:
    """Whether a policy may have this threshold. `< 0%`, for example, can never be met."""
    try:
        check_threshold(metric, threshold.operator, threshold.value)
    except ThresholdError:
        return False
    return True
