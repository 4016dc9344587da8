"""Which results depend on a judge, how accurate it is known to be, and shares of trials corrected for its errors."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from msgspec import Struct

LabelSource = Literal["same run", "another run", "mixed"]
CorrectionMethod = Literal["post-stratified", "rogan-gladen"]


class JudgeRate(Struct, frozen=True):
    """A rate estimated from labels, and its bounds, each at the policy's confidence."""

    value: Fraction
    low: float
    high: float


class CorrectedShare(Struct, frozen=True):
    """A share of trials as people would judge it. `value` is None if the labels cannot show it; `reason` says why.

    A value with a `reason` is by labels of another run that those of this run do not confirm: it decides no rule.
    """

    value: Fraction | None
    low: float | None = None
    high: float | None = None
    method: CorrectionMethod | None = None
    reason: str | None = None


class LabelsUsed(Struct, frozen=True):
    """The labels of this judge: how many trials, by how many people, and of which run.

    `source` is None if no label says which conversation it is about. `expired` counts labeled trials of another
    run that are too old to count; they are not among `trials`.
    """

    file: str
    trials: int
    people: int
    source: LabelSource | None = None
    expired: int = 0


class SelfConsistency(Struct, frozen=True):
    """How often a judge repeated its judgment when asked the same again: in `same` of `of` pairs of judgments."""

    same: int
    of: int


class CanaryReport(Struct, frozen=True):
    """How a judge did on the suite's canaries: statements that people know to be true or false.

    `p_value` is the probability of so many wrong answers from a judge with its calibrated error rates, or with 10 %
    errors if it was never calibrated. `failed`: that is so unlikely that the judge is not trusted.
    """

    statements: int
    wrong: int
    p_value: float
    failed: bool


class JudgeReport(Struct, frozen=True):
    """Which trials depend on a judge, and how accurate it is known to be.

    `trials` depend on it. Of these, `undecided` are so because it could not tell or failed, and `elsewhere` name a
    judge but not what it said. `why` says why it is not calibrated. `same_model` is None if it is not known whether
    the judge is the model under test.
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
