"""Parts of a verdict as JSON: the bar at a ref, the judge and the shares corrected for its errors, early stopping."""

from __future__ import annotations

from typing import Any, Literal

from highbar.model import Against, Decision, DifferingFile
from highbar.model.judge_quality import (
    CorrectedShare,
    CorrectionMethod,
    JudgeRate,
    JudgeReport,
    LabelSource,
    LabelsUsed,
    SelfConsistency,
)
from highbar.model.stopping import SequentialMethod, SequentialRun, Stopping
from highbar.store.forms import (
    COUNT,
    END,
    EXACT,
    FLAG,
    SHARE,
    TEXT,
    TEXTS,
    WHOLE,
    Context,
    DamagedError,
    Form,
    field,
    list_of,
    object_of,
    one_of,
    optional,
    rebuilt,
    shared_form,
)
from highbar.store.shared import CANARIES, SOURCE


def _rate(description: str) -> Form:
    return optional(
        object_of(JudgeRate, field("value", EXACT), field("low", SHARE), field("high", SHARE), description=description)
    )


AGAINST = optional(
    object_of(
        Against,
        field("ref", TEXT),
        field("commit", TEXT),
        field("verdict", one_of(Decision), "By the policy at the ref alone."),
        field("policy", shared_form("source", SOURCE)),
        field(
            "weakened",
            list_of(
                object_of(
                    DifferingFile,
                    field("what", TEXT, "The path of a file of the bar that differs."),
                    field("change", one_of(Literal["lowered", "removed", "changed"])),
                    field("before", TEXT),
                    field("now", optional(TEXT)),
                )
            ),
            "The files that differ; `difference` says how.",
        ),
        field("difference", TEXT, "A diff of what differs, cut if it is long; empty if nothing does."),
        field("digest", optional(TEXT), "What --accept-change takes, of all that differs; null if nothing does."),
        field("accepted", FLAG, "Whether it was accepted: then the verdict at the ref decides nothing."),
        description="The bar as it was at a git ref; the verdict is the worse of both.",
    )
)
_LABELS = object_of(
    LabelsUsed,
    field("file", TEXT),
    field("trials", COUNT, "Labeled trials of this judge."),
    field("people", COUNT, "How many people labeled them."),
    field("source", optional(one_of(LabelSource)), "Of which run they are, by digests; null if there is none."),
    field("expired", COUNT, "Labeled trials of another run that are too old to count."),
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
        field("reason", optional(TEXT), "Why there is no value, or why it decides no rule."),
    )
)
RAW = optional(object_of(dict, field("value", optional(EXACT)), field("low", END), field("high", END)))
"""The value by the judge's answers, next to the corrected one."""

STOPPING = optional(
    object_of(
        Stopping,
        field(
            "method",
            one_of(SequentialMethod),
            "Exact boundaries, bets on scores, five looks, zero tolerance, or one look at the end.",
        ),
        field("planned", COUNT, "Scenarios that the accepted error is spread over: those in the plan, or the horizon."),
        field("seen", COUNT, "The longest prefix of the recorded order of which every scenario has finished."),
        field("decided_at", optional(COUNT), "After how many of them the rule was decided; null if it is open."),
        field("standing", optional(TEXT), "How close it is, in words."),
        description="Where a sequential rule was decided. Its value and interval are those at stopping.",
    )
)


def _run(fields: dict[str, Any], _context: Context) -> SequentialRun:
    """The struct from its fields. What was saved follows from the rest; other numbers are refused."""
    saved = fields.pop("saved"), fields.pop("saved_trials")
    run = SequentialRun(**fields)
    if saved != (run.saved, run.saved_trials):
        raise DamagedError((("saved",), f"found {saved[0]}, but the rest of the document says {run.saved}"))
    return run


SEQUENTIAL = optional(
    rebuilt(
        object_of(
            dict,
            field("planned", COUNT, "Scenarios in the plan."),
            field("ran", COUNT, "Those of which all trials have ended."),
            field("saved", COUNT, "Those that were not run."),
            field("planned_trials", COUNT),
            field("ran_trials", COUNT),
            field("saved_trials", COUNT),
            field("seed", optional(WHOLE), "Of the recorded order; null if there is none."),
            field("problem", optional(TEXT), "Why there is no order, so that nothing was decided early."),
            description="What was run of what was planned.",
        ),
        _run,
    )
)
