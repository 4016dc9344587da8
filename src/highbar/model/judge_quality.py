"""What results rest on a judge, how good that judge is known to be, and what that makes of a share of trials."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from msgspec import Struct

LabelSource = Literal["same run", "another run", "mixed"]
CorrectionMethod = Literal["post-stratified", "rogan-gladen"]


class JudgeRate(Struct, frozen=True):
    """A rate that labels show, and its bounds, each at the policy's confidence."""

    value: Fraction
    low: float
    high: float


class CorrectedShare(Struct, frozen=True):
    """A share of trials as people would have it. `value` is None if the labels do not tell; then `reason` says why."""

    value: Fraction | None
    low: float | None = None
    high: float | None = None
    method: CorrectionMethod | None = None
    reason: str | None = None


class LabelsUsed(Struct, frozen=True):
    """The labels of the judge at hand: how many trials, by how many people, and of which run.

    `source` is None if no trial has labels that say which conversation they are about.
    """

    file: str
    trials: int
    people: int
    source: LabelSource | None = None


class SelfConsistency(Struct, frozen=True):
    """How often a judge said the same when it was asked the same again: `same` of `of` pairs of judgments."""

    same: int
    of: int


class CanaryReport(Struct, frozen=True):
    """What the judge made of statements that people know to be true or false, as the folder of the run has it."""

    statements: int
    wrong: int
    p_value: float
    failed: bool


class JudgeReport(Struct, frozen=True):
    """What rests on a judge, and how good it is known to be.

    `trials` rest on it, `undecided` of them because it could not tell or failed; `elsewhere` of them name a judge, but
    not what it said. `why` says why it is not calibrated. `same_model` is None if it is not known whether the judge is
    the model under test.
    """

    by: tuple[str, ...]
    trials: int
    statements: int
    undecided: int
    replayed: int
    elsewhere: int = 0
    calibrated: bool = False
    why: str | None = None
    labels: LabelsUsed | None = None
    sensitivity: JudgeRate | None = None
    specificity: JudgeRate | None = None
    self_consistency: SelfConsistency | None = None
    same_model: bool | None = None
    canaries: CanaryReport | None = None
