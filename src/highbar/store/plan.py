"""A plan as a document, `highbar/plan/1`: a list for each kind of question, empty if it was not asked."""

from __future__ import annotations

from typing import Any

from highbar.model import Level, Outcome, SpendingKind
from highbar.planning import Plan, RuleNeed, RuleStanding
from highbar.store.forms import (
    COUNT,
    EXACT,
    FLAG,
    NUMBER,
    TEXT,
    Context,
    Field,
    Form,
    constant,
    field,
    list_of,
    object_of,
    one_of,
    optional,
)
from highbar.store.shared import SLICE, of_value, schema_of

SCHEMA = "highbar/plan/1"

_FLOAT = NUMBER._replace(write=lambda value, _context: float(value))
"""A number from the question, as a plain double."""


def _fields(form: Form, *names: str) -> tuple[Field, ...]:
    return tuple(field(name, form) for name in names)


_ASSUMPTIONS = object_of(
    dict,
    *_fields(_FLOAT, "confidence", "power", "tolerate"),
    field("trials", COUNT),
    field("correlation", optional(_FLOAT), of=lambda assumed: assumed.correlation if assumed.trials > 1 else None),
)
_COUNTS = object_of(dict, field("scenarios", optional(COUNT)), field("trials", COUNT))
_SUPPOSITION = object_of(
    dict,
    *_fields(_FLOAT, "threshold", "rate"),
    field("outcome", one_of(Outcome)),
    *_fields(optional(COUNT), "scenarios", "runs", "fewest"),
)
_SUITE = object_of(
    dict,
    field("threshold", _FLOAT),
    field("scenarios", COUNT),
    *_fields(optional(COUNT), "passes_from", "fails_to"),
    *_fields(optional(NUMBER), "rate_to_pass", "rate_to_fail"),
    field("best", optional(COUNT)),
)
_VERDICTS = (
    field("pass", NUMBER, of="passes"),
    field("fail", NUMBER, of="fails"),
    field("inconclusive", NUMBER),
)
"""The probability of each verdict."""
_CHANCE = object_of(
    dict,
    *_fields(_FLOAT, "threshold", "rate"),
    field("scenarios", COUNT),
    *_VERDICTS,
)
_EARLY = object_of(
    dict,
    field("rule", optional(TEXT)),
    field("level", optional(one_of(Level))),
    *_fields(_FLOAT, "threshold", "rate"),
    field("scenarios", COUNT),
    field("spending", one_of(SpendingKind)),
    *_VERDICTS,
    field("expected", NUMBER),
    field("fixed", object_of(dict, *_VERDICTS)),
    field("equal", optional(COUNT)),
)
_DIFFERENCE = object_of(
    dict, field("scenarios", optional(COUNT)), field("differing", _FLOAT), field("difference", optional(NUMBER))
)

_RULE = (
    field("rule", TEXT),
    field("level", one_of(Level)),
    field("metric", optional(TEXT)),
    field("slice", SLICE),
    field("threshold", optional(TEXT)),
)
"""The first fields of a rule, with or without results."""
_NEED = object_of(
    dict,
    *_RULE,
    field("fewest", optional(COUNT)),
    field("supposed", optional(EXACT)),
    field("scenarios", optional(COUNT)),
    *_fields(optional(NUMBER), "rate_to_pass", "rate_to_fail"),
    field("reason", optional(TEXT)),
    field("chance", optional(NUMBER)),
    field("together", optional(COUNT)),
)


_STANDING = object_of(
    dict,
    *_RULE,
    field("value", optional(EXACT), of=of_value("value")),
    field("low", optional(NUMBER), of=of_value("low")),
    field("high", optional(NUMBER), of=of_value("high")),
    field("scenarios", optional(COUNT), of=of_value("scenarios")),
    field("outcome", one_of(Outcome)),
    field("settled", FLAG),
    field("more_scenarios", optional(COUNT)),
    field("reason", TEXT),
)


def _write_rule(rule: RuleNeed | RuleStanding, context: Context) -> Any:
    return (_NEED if isinstance(rule, RuleNeed) else _STANDING).write(rule, context)


_PLANNED = Form({"anyOf": [_NEED.schema, _STANDING.schema]}, _write_rule, lambda found, _context: found)
_JOINT = object_of(dict, field("rules", COUNT), *_fields(NUMBER, "low", "high"))
_REPETITION = object_of(
    dict,
    field("trials", _FLOAT),
    *_fields(NUMBER, "between", "within", "correlation"),
    field("flaky", COUNT),
    field("narrowest", NUMBER),
    field("equal", list_of(object_of(dict, *_fields(COUNT, "trials", "scenarios", "runs")))),
)
_UNSEEN = object_of(
    dict,
    field("metric", TEXT),
    field("scenarios", COUNT),
    *_fields(NUMBER, "loss", "missed"),
    field("at_most", FLAG),
    field("enough", optional(COUNT)),
)
_PLAN = object_of(
    dict,
    constant("schema", SCHEMA),
    field("assumptions", _ASSUMPTIONS),
    field("counts", optional(_COUNTS), of=lambda plan: None if plan.trials is None else plan),
    field("unseen", optional(_UNSEEN)),
    field("suppositions", list_of(_SUPPOSITION), of="supposed"),
    field("suites", list_of(_SUITE), of="reaches"),
    field("chances", list_of(_CHANCE)),
    field("differences", list_of(_DIFFERENCE)),
    field("policy", optional(TEXT)),
    field("rules", list_of(_PLANNED), of=lambda plan: (*plan.rules, *plan.standings)),
    field("joint", optional(_JOINT)),
    field("sequential", list_of(_EARLY), of="early"),
    field("joint_sequential", optional(_JOINT), of="early_joint"),
    field("repetition", optional(_REPETITION), of="repeats"),
)


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    return schema_of("Highbar plan", ("plan",), {"plan": _PLAN.schema})


def write(plan: Plan) -> dict[str, Any]:
    """The document as JSON values."""
    document: dict[str, Any] = _PLAN.write(plan, Context())
    return document
