"""A progressive rule's stage and the value → the state of the rule: the step that applies, what the next ones lack."""

from __future__ import annotations

from fractions import Fraction

from highbar.model import Goal, Progressive, Stage, Threshold, Value


def stand(stage: Stage, value: Value) -> Progressive:
    """The state of the rule. Distances are of the value itself, whatever evidence a later step will demand."""
    following = stage.next
    return Progressive(
        step=stage.step.version,
        next=_goal(following.threshold, value, following.version) if following else None,
        target=_goal(stage.target, value) if stage.target else None,
    )


def _goal(threshold: Threshold, value: Value, version: str | None = None) -> Goal:
    number = value.value
    if number is None:
        return Goal(threshold.text, met=False, distance=None, version=version)
    lacking = threshold.value - number if value.better == "higher" else number - threshold.value
    return Goal(threshold.text, threshold.met_by(number), max(lacking, Fraction(0)), version)
