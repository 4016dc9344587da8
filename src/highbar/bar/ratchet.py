"""Raises the thresholds of a policy as far as a baseline supports, and never lowers one.

With `bound`, a threshold goes to the worse end of the baseline's interval, so the run that was recorded passes. So do
most second runs of an unchanged agent. But if raised again after every run that passes, the bar climbs on luck
(docs/concepts/rising-bars.md). With `step`, it goes beyond the baseline's value; most runs of an unchanged agent
then fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.language import digits
from highbar.language.phrases import count
from highbar.language.threshold import ThresholdError, canonical, check_threshold
from highbar.model import Metric, Policy, ProgressiveRule, Threshold, ThresholdRule, Unit, Value, Where
from highbar.model.baseline import Baseline
from highbar.model.proposals import Proposal
from highbar.model.rules import Place
from highbar.policy import resolve_version
from highbar.policy.editing import WrittenNumber
from highbar.policy.notes import is_looser, thresholds_of
from highbar.policy.versions import steps_from

Look = Callable[[Place, Threshold], WrittenNumber | None]
"""Finds the number of a threshold in the policy's text."""

_DECIMALS = {Fraction(1, 100): 1, Fraction(1): 0, Fraction(1000): 2}
"""The fewest digits after the point of a percentage, of milliseconds and of seconds; for others, see `_tidy`."""
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


def propose(policy: Policy, baseline: Baseline, climb: Climb, version: str | None, look: Look) -> tuple[Proposal, ...]:
    """A proposal for every threshold of the policy. Raises InputError if the baseline was scored in another way.

    `version` (else the policy's, else the baseline's) decides which step of a progressive rule applies.
    """
    _refuse_other_scoring(policy, baseline, climb)
    confident = frozenset(
        one.threshold_place for rule in policy.rules for _, one in thresholds_of(rule) if one.demand.is_confident
    )
    reader = _Proposer(policy, baseline, climb, look, confident)
    version = resolve_version(policy, given=version, recorded=baseline.agent_version).agent_version or ""
    found: list[Proposal] = []
    for rule in policy.rules:
        if isinstance(rule, ThresholdRule):
            stays = Proposal(rule.name, rule.metric, rule.threshold, None, "", rule.threshold_place)
            found.append(reader.proposal(stays, rule.where))
        elif isinstance(rule, ProgressiveRule):
            found.extend(reader.steps(rule, version))
    return tuple(found)


def _refuse_other_scoring(policy: Policy, baseline: Baseline, climb: Climb) -> None:
    again = "record the baseline again, by this policy"
    # Bounds of a lower confidence are closer to the value, so the thresholds would rise too far.
    if climb.rule == "bound" and baseline.confidence < policy.confidence:
        recorded, wants = (digits.amount(each, "ratio") for each in (baseline.confidence, policy.confidence))
        message = f"its bounds were recorded with {recorded} confidence, and the policy asks for {wants}"
        raise InputError(Problem("baseline.other-scoring", message, baseline.file, hint=again))
    scoring = (baseline.scoring.pass_score, baseline.scoring.positive)
    if scoring != (policy.pass_score, policy.positive):
        message = "its trials were scored by another pass_score, or another positive label, than the policy has"
        raise InputError(Problem("baseline.other-scoring", message, baseline.file, hint=again))


class _Proposer(Struct, frozen=True):
    policy: Policy
    baseline: Baseline
    climb: Climb
    look: Look
    confident: frozenset[Place] = frozenset()  # the thresholds that the bound of a run must meet

    def proposal(self, stays: Proposal, where: Where = (), target: Threshold | None = None) -> Proposal:
        """The proposal for one threshold; `after` is None if it stays."""
        metric, before, value = stays.metric, stays.before, self._value(stays.metric, where)
        if value is None or value.value is None:
            return replace(stays, reason=self._why_no_value(metric, where, value))
        if value.unit != before.unit:
            return replace(stays, reason=f"the baseline's {metric} is in another unit")
        written = self.look(stays.place, before)
        if written is None:
            return replace(stays, reason=_NO_EDIT)
        aim, why = self._aim(value, value.value, is_confident=stays.place in self.confident)
        if aim is None:
            return replace(stays, reason=why)
        aim, why = _within(aim, why, value, target)
        after = _tidy(before, written, aim, value)
        if not is_looser(before, after) or not _possible(after, self.policy.metrics[metric]):
            return replace(stays, reason=f"{why}, is no {'higher' if value.better == 'higher' else 'lower'}")
        return replace(stays, after=after, reason=f"{why}; {_BEYOND}" if self.climb.rule == "step" else why)

    def steps(self, rule: ProgressiveRule, version: str) -> Iterator[Proposal]:
        """The proposals for the step that applies, and for later ones, which rise if they would be lower than it."""
        first, *later = (
            Proposal(f"{rule.name}.{step.version}", rule.metric, step.threshold, None, "", step.threshold_place)
            for step in steps_from(rule, version)
        )
        current = self.proposal(first, target=rule.target)
        yield current
        name = current.rule.removeprefix(f"{rule.name}.")
        for stays in later:
            before = stays.before
            if current.after is None or not is_looser(before, current.after):
                yield replace(stays, reason=f"{name} is the step that holds now")
            elif self.look(stays.place, before) is None:
                yield replace(stays, reason=_NO_EDIT)
            else:
                after = _at(before, current.after.value)
                yield replace(stays, after=after, reason=f"{name} before it demands as much")

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

    def _aim(self, value: Value, number: Fraction, *, is_confident: bool) -> tuple[Fraction | None, str]:
        """The value that the threshold should rise to, None if the baseline has no bound; and why."""
        higher = value.better == "higher"
        shown = f"{digits.show(value)} over {value.scenarios} scenario{'' if value.scenarios == 1 else 's'}"
        if self.climb.rule == "pooled":
            return self._pooled_aim(value, number, is_confident=is_confident)
        if self.climb.rule == "bound":
            end, name = (value.low, "lower") if higher else (value.high, "upper")
            if end is None or not math.isfinite(end):
                return None, f"the baseline has no {name} bound, {shown}"
            return Fraction(end), f"the {name} bound of the baseline, {shown}"
        size = self.climb.step if value.unit == "ratio" else abs(number) * self.climb.step
        aim = number + size if higher else number - size
        return aim, f"{digits.gap(size, value.unit)} {'above' if higher else 'below'} the baseline, {shown}"

    def _pooled_aim(self, value: Value, number: Fraction, *, is_confident: bool) -> tuple[Fraction | None, str]:
        higher = value.better == "higher"
        end = value.low if higher == is_confident else value.high
        shown = f"{digits.amount(number, value.unit)} over {count(self.climb.runs, 'run')}"
        if end is None or not math.isfinite(end):
            return None, f"the runs have no bound, {shown}"
        what = "lower bound less" if higher else "upper bound plus"
        noise = "the noise of one run and the width of its bound" if is_confident else "the noise of one run"
        return Fraction(end), f"the pooled {what} {noise}, {digits.amount(Fraction(end), value.unit)}; {shown}"


def _at(before: Threshold, value: Fraction) -> Threshold:
    return replace(before, value=value, text=canonical(before.operator, value, before.unit))


def _tidy(before: Threshold, written: WrittenNumber, aim: Fraction, value: Value) -> Threshold:
    """The threshold at `aim`, rounded toward the easier side to as many digits as in the file, or more if too few."""
    grain = min(written.scale * Fraction(1, 10**written.decimals), _coarsest(written.scale, aim, value.unit))
    places = math.floor(aim / grain) if value.better == "higher" else math.ceil(aim / grain)
    if before.operator in ("<", ">") and places * grain == aim:
        places += -1 if value.better == "higher" else 1  # a value that only equals the threshold would not pass
    return _at(before, places * grain)


def _coarsest(scale: Fraction, aim: Fraction, unit: Unit) -> Fraction:
    """The largest unit of the last digit that still says enough."""
    if unit in ("ratio", "ms"):
        return scale * Fraction(1, 10 ** (3 if unit == "ratio" and scale == 1 else _DECIMALS[scale]))
    size = Fraction(1)
    while size > abs(aim) > 0:
        size /= 10
    while abs(aim) >= size * 10:
        size *= 10
    return size / 100  # three digits


def _within(aim: Fraction, why: str, value: Value, target: Threshold | None) -> tuple[Fraction, str]:
    """`aim`, limited to the target and to the values that the metric can have."""
    nearer = min if value.better == "higher" else max
    end = Fraction(1) if value.better == "higher" and value.unit == "ratio" else Fraction(0)
    if value.unit != "number" and (value.better == "lower" or value.unit == "ratio") and nearer(aim, end) != aim:
        aim, why = end, f"nothing is beyond {digits.amount(end, value.unit)}; {why}"
    if target is not None and nearer(aim, target.value) != aim:
        return target.value, f"the target; {why}"
    return aim, why


def _possible(threshold: Threshold, metric: Metric) -> bool:
    """Whether a policy may have this threshold. `< 0%`, for example, can never be met."""
    try:
        check_threshold(metric, threshold.operator, threshold.value)
    except ThresholdError:
        return False
    return True
