"""How good a judge is, by what people said about the same trials."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from highbar.model.against import Source
from highbar.model.judge_quality import CorrectedShare, JudgeRate, LabelSource
from highbar.model.judgments import JudgmentWord
from highbar.model.verdict import Value
from highbar.statistics.agreement import Agreement

LabelsOf = LabelSource | Literal["these results, as you say"]
"""Which run labels are of: found by digests, or taken from the caller if they do not say."""


class CalibratedWord(Struct, frozen=True):
    """What a judge says of one behavior, of all, or of whole trials, beside what people say of the same.

    `agreement` and the rates are those of all judged trials, of which the labels are a sample: a label counts as often
    as its stratum has trials for it. What the judge cannot tell counts against both rates, and not in the agreement.
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
    """A statement of which people say another thing than the judge; `people` has what each of them said."""

    id: str
    trial: int
    behavior: str
    statement: str
    judgment: JudgmentWord
    evidence: str | None
    observed: bool
    people: tuple[tuple[str, bool | None], ...]


class PairOfPeople(Struct, frozen=True):
    """Two people who labeled some of the same statements, and the share of them of which they say the same."""

    first: str
    second: str
    statements: int
    share: float


class PeopleAgreement(Struct, frozen=True):
    """How far people agree with each other; `alpha` is Krippendorff's, None if it is not defined."""

    statements: int
    alpha: float | None
    pairs: tuple[PairOfPeople, ...]


class CalibratedMetric(Struct, frozen=True):
    """A share of trials as the judge has it, and as people would."""

    name: str
    raw: Value
    corrected: CorrectedShare


class Calibration(Struct, frozen=True):
    """What labels say about the judge of some results.

    `trials` are the labeled ones that count; `incomplete` lack an answer. `passes` is about whole trials, `statements`
    about all statements, `behaviors` about each. `unused` says which labels do not count, and why.
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
