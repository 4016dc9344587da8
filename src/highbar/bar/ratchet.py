"""A policy and a baseline in, a higher bar out: thresholds rise as far as the baseline supports, and never fall.

By the bound a threshold goes to the worse end of the baseline's interval: the run that it came from passes. So do most
second runs of an agent that stays as it is; but raised again after every run that passes, the bar climbs on luck
(docs/concepts/rising-bars.md). By a step it goes beyond the baseline's value, as the guide says; most runs of an agent
that stays as it is then fail.
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
from highbar.policy.bounds import Bound
from highbar.policy.editing import WrittenNumber
from highbar.policy.notes import is_looser
from highbar.policy.versions import resolve_version, steps_from

Look = Callable[[Place, Threshold], WrittenNumber | None]
"""How a threshold is written in the policy's text."""

_SIGNIFICANT = 3
_DECIMALS = {Fraction(1, 100): 1, Fraction(1): 0, Fraction(1000): 2}
"""Digits behind the point, at least: of a percentage, of milliseconds, of seconds; of others, see `_grain`."""
_NO_EDIT = "its text cannot be changed for certain: write it on one line, as ≥ 85%"
_BEYOND = "an agent that stays as it is misses it more often than not"


class Climb(Struct, frozen=True):
    """How far a threshold goes: to the `bound` of the baseline, by a `step` beyond its value, or as `pooled` runs say.

    The step of a ratio is in percentage points, that of anything else a share of the baseline's value. Of pooled runs
    the bounds are where a threshold may stand (`bar.pooling`).
    """

    rule: Literal["bound", "step", "pooled"] = "bound"
    step: Fraction = Fraction(1, 100)
    runs: int = 1  # how many were pooled


def propose(
    policy: Policy,
    baseline: Baseline,
    climb: Climb,
    version: str | None,
    look: Look,
    bounds: Sequence[Bound] = (),
) -> tuple[Proposal, ...]:
    """What becomes of every threshold of the policy. Raises InputError if the baseline was scored in another way.

    `version` says which step of a progressive rule holds: the one given, else the policy's, else the baseline's.
    `bounds` are those of the condition to pass.
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
        """What becomes of one threshold."""
        value = self._value(metric, where)
        if value is None or value.value is None:
            return Proposal(name, metric, before, None, self._lacking(metric, where, value), place)
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
        """The step that holds, and the later ones that would be lower than it then."""
        first, *later = steps
        held = self.proposal(
            f"{rule.name}.{first.version}", rule.metric, first.threshold, first.threshold_place, (), rule.target
        )
        yield held
        for step in later:
            name, place = f"{rule.name}.{step.version}", step.threshold_place
            if held.after is None or not is_looser(step.threshold, held.after):
                reason = f"{first.version} is the step that holds now"
                yield Proposal(name, rule.metric, step.threshold, None, reason, place)
            elif self.look(place, step.threshold) is None:
                yield Proposal(name, rule.metric, step.threshold, None, _NO_EDIT, place)
            else:
                after = replace(
                    step.threshold,
                    value=held.after.value,
                    text=canonical(step.threshold.operator, held.after.value, held.after.unit),
                )
                reason = f"{first.version} before it demands as much"
                yield Proposal(name, rule.metric, step.threshold, after, reason, place)

    def bounds(self, rule: ConditionRule, bounds: Sequence[Bound]) -> Iterator[Proposal]:
        """The bounds of a condition that can be found in its text."""
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

    def _lacking(self, metric: str, where: Where, value: Value | None) -> str:
        """Why there is nothing to raise a threshold to."""
        if self.climb.rule == "pooled" and value is not None and value.reason is not None:
            return value.reason
        source = "the baseline has" if self.climb.rule != "pooled" else "the runs have"
        return f"{source} no value of {metric}{' over these scenarios' if where else ''}"

    def _aim(self, value: Value, number: Fraction) -> tuple[Fraction | None, str]:
        """Where the threshold should go, and why; None if the baseline has no bound."""
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
    """The threshold at `aim`, or a little before it: as many digits as its text has, or a few."""
    grain = _grain(written, aim, value.unit)
    places = math.floor(aim / grain) if value.better == "higher" else math.ceil(aim / grain)
    if before.operator in ("<", ">") and places * grain == aim:
        places += -1 if value.better == "higher" else 1  # what only just reaches it would not pass
    found = places * grain
    return replace(before, value=found, text=canonical(before.operator, found, before.unit))


def _grain(written: WrittenNumber, aim: Fraction, unit: Unit) -> Fraction:
    """The smallest difference that is written: the digits that the file has, or a few more if it has fewer."""
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
    """`aim`, but not beyond the target, nor beyond what the metric can be."""
    higher = value.better == "higher"
    end = Fraction(1) if higher and value.unit == "ratio" else Fraction(0) if not higher else None
    if end is not None and value.unit != "number" and ((aim > end) if higher else (aim < end)):
        aim, why = end, f"nothing is beyond {digits.amount(end, value.unit)}; {why}"
    if target is not None and ((aim > target.value) if higher else (aim < target.value)):
        return target.value, f"the target; {why}"
    return aim, why


def _possible(threshold: Threshold, metric: Metric) -> bool:
    """Whether a policy may say so: `< 0%` can never hold."""
    try:
        check_threshold(metric, threshold.operator, threshold.value)
    except ThresholdError:
        return False
    return True
