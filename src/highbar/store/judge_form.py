"""The judge of a verdict as JSON: what depends on it, what people's labels show about it, and corrected shares."""

from __future__ import annotations

from highbar.model.judge_quality import (
    CorrectedShare,
    CorrectionMethod,
    JudgeRate,
    JudgeReport,
    LabelSource,
    LabelsUsed,
    SelfConsistency,
)
from highbar.store.forms import (
    COUNT,
    END,
    EXACT,
    FLAG,
    SHARE,
    TEXT,
    TEXTS,
    Form,
    field,
    object_of,
    one_of,
    optional,
)
from highbar.store.pieces import CANARIES


def _rate(description: str) -> Form:
    return optional(
        object_of(JudgeRate, field("value", EXACT), field("low", SHARE), field("high", SHARE), description=description)
    )


_LABELS = object_of(
    LabelsUsed,
    field("file", TEXT),
    field("trials", COUNT, "Labeled trials of this judge."),
    field("people", COUNT, "How many people labeled them."),
    field("source", optional(one_of(LabelSource)), "Of which run they are, by digests; null if there is none."),
)
JUDGE = optional(
    object_of(
        JudgeReport,
        field("by", TEXTS, "The texts of the rows' column `judge`."),
        field("trials", COUNT, "Trials that rest on it."),
        field("statements", COUNT, "Statements that it judged."),
        field("undecided", COUNT, "Trials that it left open."),
        field("replayed", COUNT, "Trials with a judgment of an earlier run."),
        field("elsewhere", COUNT, "Trials that name a judge, but not what it said."),
        field("calibrated", FLAG, "Whether people labeled trials of this judge."),
        field("why", optional(TEXT), "Why it is not calibrated."),
        field("labels", optional(_LABELS)),
        field("sensitivity", _rate("Of trials that people pass, the share that the judge passes.")),
        field("specificity", _rate("Of trials that people fail, the share that the judge fails.")),
        field(
            "self_consistency",
            optional(object_of(SelfConsistency, field("same", COUNT), field("of", COUNT))),
            "Pairs of judgments of the same question, and how many are the same.",
        ),
        field("same_model", optional(FLAG), "Whether it is the model under test; null if that is not known."),
        field("canaries", optional(CANARIES), "What it made of statements that people know to be true or false."),
    )
)
CORRECTED = optional(
    object_of(
        CorrectedShare,
        field("value", optional(EXACT), "null where the labels do not tell; then `reason` says why."),
        field("low", END),
        field("high", END),
        field("method", optional(one_of(CorrectionMethod))),
        field("reason", optional(TEXT)),
    )
)
RAW = optional(object_of(dict, field("value", optional(EXACT)), field("low", END), field("high", END)))
"""The value by the judge's answers, next to the corrected one."""
