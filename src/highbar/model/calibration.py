"""How often a judge agrees with people who labeled the same trials."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from highbar.model.against import Source
from highbar.model.judge_quality import CorrectedShare, JudgeRate, LabelSource
from highbar.model.judgments import JudgmentWord
from highbar.model.verdict import Value
from highbar.statistics.agreement import Agreement

LabelsOf = Literal[LabelSource, "these results, as you say"]
"""Which run the labels belong to: found by digests, or as the caller says if the labels have none."""


class CalibratedWord(Struct, frozen=True):
    """How a judge compares with people on one behavior, on all statements, or on whole trials.

    `agreement` and the rates are estimates for all judged trials, of which the labels are a sample: a label is weighted
    by the trials of its stratum divided by the labeled ones. A `cannot_tell` of the judge counts as wrong in both
    rates, and is left out of the agreement.
    """

    name: str
    statement: str | None
    labels: int
    agreement: Agreement | None
    sensitivity: JudgeRate | None
    specificity: JudgeRate | None
    judge_cannot_tell: int = 0
    people_cannot_tell: int = 0


class ReaderDisagreement(Struct, frozen=True):
    """A statement on which most people disagree with the judge; `people` has the answer of each person."""

    id: str
    trial: int
    behavior: str
    statement: str
    judgment: JudgmentWord
    evidence: str | None
    observed: bool
    people: tuple[tuple[str, bool | None], ...]


class PairOfPeople(Struct, frozen=True):
    """Two people who labeled some of the same statements, and the share of these on which they agree."""

    first: str
    second: str
    statements: int
    share: float


class PeopleAgreement(Struct, frozen=True):
    """How far people agree with each other; `alpha` is Krippendorff's alpha, None if it is not defined."""

    statements: int
    alpha: float | None
    pairs: tuple[PairOfPeople, ...]


class CalibratedMetric(Struct, frozen=True):
    """A share of trials by the judge's answers, and corrected to what people would have answered."""

    name: str
    raw: Value
    corrected: CorrectedShare


class Calibration(Struct, frozen=True):
    """What labels show about the judge of some results.

    `trials` counts the labeled trials with an answer to every statement, `incomplete` those that lack one. `passes` is
    about whole trials, `statements` about all statements together, `behaviors` about each behavior. `unused` says which
    labels do not count, and why.
    """

    judge: str
    results: tuple[Source, ...]
    labels: Source
    labels_of: LabelsOf
    confidence: float
    trials: int
    incomplete: int
    people: tuple[str, ...]
    passes: CalibratedWord
    statements: CalibratedWord
    behaviors: tuple[CalibratedWord, ...]
    between_people: PeopleAgreement | None
    metrics: tuple[CalibratedMetric, ...]
    disagreements: tuple[ReaderDisagreement, ...]
    unused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
