"""A calibration as a document, `highbar/calibration/1`: `write` it, and its `schema`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from highbar.errors import Problem
from highbar.model.calibration import Calibration, LabelsOf
from highbar.model.judge_quality import CorrectionMethod, JudgeRate
from highbar.model.judgments import JudgmentWord
from highbar.statistics.agreement import Agreement
from highbar.store.forms import (
    COUNT,
    EXACT,
    FLAG,
    NUMBER,
    SHARE,
    TEXT,
    TEXTS,
    Context,
    Form,
    constant,
    field,
    list_of,
    object_of,
    one_of,
    optional,
    shared_form,
)
from highbar.store.shared import SOURCE, refusal_form, schema_of

SCHEMA = "highbar/calibration/1"

_RATE = object_of(JudgeRate, field("value", EXACT), field("low", SHARE), field("high", SHARE))
_AGREEMENT = object_of(
    Agreement,
    field("share", SHARE, "Of statements, or trials, of which the judge and people say the same."),
    field("base_rate", SHARE, "Of those that people say yes to."),
    field("constant", SHARE, "The agreement of a judge that always says what people say more often."),
    field("kappa", optional(NUMBER), "Cohen's; null if both only ever said one word."),
)
_WORD = object_of(
    dict,
    field("name", TEXT),
    field("statement", optional(TEXT)),
    field("labels", COUNT),
    field("agreement", optional(_AGREEMENT)),
    field(
        "sensitivity", optional(shared_form("rate", _RATE)), "Of what people say yes to, the share that the judge does."
    ),
    field(
        "specificity", optional(shared_form("rate", _RATE)), "Of what people say no to, the share that the judge does."
    ),
    field("judge_cannot_tell", COUNT),
    field("people_cannot_tell", COUNT),
)
_SHARE_AS_JUDGED = object_of(
    dict,
    field("metric", TEXT, of="name"),
    field("raw", optional(EXACT), "As the judge has it.", of="raw.value"),
    field("raw_low", optional(NUMBER), of="raw.low"),
    field("raw_high", optional(NUMBER), of="raw.high"),
    field("corrected", optional(EXACT), "As people would have it.", of="corrected.value"),
    field("low", optional(SHARE), of="corrected.low"),
    field("high", optional(SHARE), of="corrected.high"),
    field("method", optional(one_of(CorrectionMethod)), of="corrected.method"),
    field("reason", optional(TEXT), "Why it is not corrected.", of="corrected.reason"),
)
_PERSON = object_of(
    dict,
    field("by", TEXT, of=lambda pair: pair[0]),
    field("observed", optional(FLAG), "null: cannot tell", of=lambda pair: pair[1]),
)
_DISAGREEMENT = object_of(
    dict,
    field("id", TEXT),
    field("trial", COUNT),
    field("behavior", TEXT),
    field("statement", TEXT),
    field("judgment", one_of(JudgmentWord)),
    field("evidence", optional(TEXT)),
    field("observed", FLAG, "What most people say."),
    field("people", list_of(_PERSON)),
)
_PAIR = object_of(dict, field("first", TEXT), field("second", TEXT), field("statements", COUNT), field("share", SHARE))
_PEOPLE = object_of(
    dict,
    field("statements", COUNT, "Labeled by at least two."),
    field("alpha", optional(NUMBER), "Krippendorff's; null if it is not defined."),
    field("pairs", list_of(_PAIR)),
)
_CALIBRATION = object_of(
    dict,
    constant("schema", SCHEMA),
    field("judge", TEXT),
    field("results", list_of(shared_form("source", SOURCE))),
    field("labels", shared_form("source", SOURCE)),
    field("labels_of", one_of(LabelsOf), "Which run labels are of: by digests, or as the caller says."),
    field("confidence", SHARE, "Of each bound, one-sided."),
    field("trials", COUNT, "Labeled trials with an answer to every statement."),
    field("incomplete", COUNT, "Labeled trials that lack one."),
    field("people", TEXTS),
    field("passes", shared_form("word", _WORD), "Whole trials: yes is a pass."),
    field("statements", shared_form("word", _WORD), "All statements: yes is observed."),
    field("behaviors", list_of(shared_form("word", _WORD))),
    field("between_people", optional(_PEOPLE)),
    field("metrics", list_of(_SHARE_AS_JUDGED)),
    field("disagreements", list_of(_DISAGREEMENT)),
    field("unused", TEXTS, "Labels that do not count, and why."),
    field("warnings", TEXTS),
)
_REFUSAL = refusal_form(SCHEMA)


def schema() -> dict[str, Any]:
    """The JSON Schema of the document: a calibration, or the problems if there is none."""
    definitions: dict[str, Form] = {
        "calibration": _CALIBRATION,
        "refusal": _REFUSAL,
        "word": _WORD,
        "rate": _RATE,
        "source": SOURCE,
    }
    schemas = {name: form.schema for name, form in definitions.items()}
    return schema_of("Highbar calibration", ("calibration", "refusal"), schemas)


def write(calibration: Calibration) -> dict[str, Any]:
    """The document as JSON values."""
    document: dict[str, Any] = _CALIBRATION.write(calibration, Context())
    return document


def write_problems(problems: Iterable[Problem]) -> dict[str, Any]:
    """The document that is written if there is no calibration."""
    document: dict[str, Any] = _REFUSAL.write(problems, Context())
    return document
