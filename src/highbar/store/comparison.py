"""A comparison as a document, `highbar/comparison/1`: `write` it, and its `schema`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from highbar.errors import Problem
from highbar.model import Better, Decision, Level, Outcome, Unit
from highbar.model.comparison import Change, Comparison
from highbar.store.forms import (
    COUNT,
    EXACT,
    FLAG,
    NUMBER,
    SHARE,
    TEXT,
    TEXTS,
    Context,
    by_metric,
    constant,
    field,
    list_of,
    object_of,
    one_of,
    optional,
    shared_form,
)
from highbar.store.shared import BY, JUDGED_BY, SELECTION, SLICE, SOURCE, of_value, refusal_form, schema_of

SCHEMA = "highbar/comparison/1"

_FACTOR = optional(
    object_of(dict, field("value", NUMBER), field("low", optional(NUMBER)), field("high", optional(NUMBER)))
)
_FACTOR = _FACTOR._replace(schema={"description": "Head over base, with its bounds: 1 is no change.", **_FACTOR.schema})
_PASSES = object_of(dict, field("broken", COUNT), field("fixed", COUNT), field("p_value", SHARE))

_METRIC = object_of(
    dict,
    field("base", optional(EXACT), of="difference.base.value"),
    field("head", optional(EXACT), of="difference.head.value"),
    field("difference", optional(EXACT), "head less base; null where either is undefined", of="difference.value"),
    field("low", optional(NUMBER), of="difference.low"),
    field("high", optional(NUMBER), of="difference.high"),
    field("outcome", one_of(Change)),
    field("margin", optional(TEXT)),
    field("factor", shared_form("factor", _FACTOR), of="difference.factor"),
    field("pairs", COUNT, of="difference.pairs"),
    field("missing", COUNT, of="difference.missing"),
    field("unit", one_of(Unit), of="difference.head.unit"),
    field("better", one_of(Better), of="difference.head.better"),
    field("reason", optional(TEXT), of="difference.reason"),
)
_METRICS = by_metric(shared_form("metric", _METRIC))

_SLICE = object_of(
    dict,
    field("by", BY),
    field("pairs", COUNT),
    field("stands_out", FLAG),
    field("passes", shared_form("passes", _PASSES)),
    field("adjusted_p_value", SHARE, of="adjusted"),
    field("metrics", _METRICS),
)

_RULE = object_of(
    dict,
    field("rule", TEXT),
    field("level", one_of(Level)),
    field("metric", optional(TEXT)),
    field("slice", SLICE),
    field("threshold", optional(TEXT)),
    field("value", optional(EXACT), of=of_value("value")),
    field("outcome", one_of(Outcome)),
    field("reason", TEXT),
    field("fragile", FLAG),
    field("more_scenarios", optional(COUNT)),
    field("description", optional(TEXT)),
    field("file", optional(TEXT), of="place.file"),
    field("line", optional(COUNT), of="place.line"),
)

_SIDE = object_of(
    dict,
    field("files", list_of(shared_form("source", SOURCE)), of="sources"),
    field("baseline", FLAG, of="is_baseline"),
    field("agent_version", optional(TEXT)),
    field("scenarios", COUNT),
    field("trials", COUNT),
    field("runs", COUNT, "How many runs a baseline pools; else 1."),
    field("date", optional(TEXT)),
    field("forced", optional(TEXT)),
    field("judged_by", JUDGED_BY),
    field("select", SELECTION, of="selection"),
)

_COMPARISON = object_of(
    dict,
    constant("schema", SCHEMA),
    field("verdict", optional(one_of(Decision)), "null where no rule compares the two"),
    field("confidence", EXACT._replace(schema=SHARE.schema)),
    field("pairs", COUNT),
    field("metrics", _METRICS),
    field("slices", list_of(_SLICE)),
    field("passes", shared_form("passes", _PASSES)),
    field("latency", shared_form("factor", _FACTOR)),
    *(field(name, TEXTS) for name in ("broken", "fixed", "flaky", "only_in_base", "only_in_head")),
    field("rules", list_of(shared_form("rule", _RULE))),
    field("judged_by", JUDGED_BY, of=lambda found: dict.fromkeys((*found.base.judged_by, *found.head.judged_by))),
    field("warnings", TEXTS),
    field("policy", optional(shared_form("source", SOURCE))),
    field("base", shared_form("side", _SIDE)),
    field("head", shared_form("side", _SIDE)),
)
_REFUSAL = refusal_form(SCHEMA)


def schema() -> dict[str, Any]:
    """The JSON Schema of the document: a comparison, or the problems if there is none."""
    return schema_of(
        "Highbar comparison",
        ("comparison", "refusal"),
        {
            "comparison": _COMPARISON.schema,
            "refusal": _REFUSAL.schema,
            "metric": _METRIC.schema,
            "rule": _RULE.schema,
            "side": _SIDE.schema,
            "passes": _PASSES.schema,
            "factor": _FACTOR.schema,
            "source": SOURCE.schema,
        },
    )


def write(comparison: Comparison) -> dict[str, Any]:
    """The document as JSON values."""
    document: dict[str, Any] = _COMPARISON.write(comparison, Context())
    return document


def write_problems(problems: Iterable[Problem]) -> dict[str, Any]:
    """The document that is written if there is no comparison."""
    document: dict[str, Any] = _REFUSAL.write(problems, Context())
    return document
