"""The parts that several documents share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from highbar.errors import Problem
from highbar.model import Source, Where
from highbar.model.judge_quality import CanaryReport
from highbar.model.judging import Judging, Selection
from highbar.model.quarantine import QuarantinedScenario
from highbar.store.forms import (
    COUNT,
    DIGEST,
    FLAG,
    NULL,
    SHARE,
    TEXT,
    TEXTS,
    Context,
    DamagedError,
    Form,
    constant,
    document_value,
    field,
    list_of,
    object_of,
    one_of,
    optional,
    read_members,
    read_object,
)

DRAFT = "https://json-schema.org/draft/2020-12/schema"

SOURCE = object_of(
    Source,
    field("file", TEXT),
    field("sha256", optional(DIGEST)),
)

PROBLEM = object_of(
    Problem,
    field("code", TEXT, "The kind of the problem: `highbar explain CODE` says what to do."),
    field("file", optional(TEXT)),
    field("line", optional(COUNT)),
    field("column", optional(COUNT)),
    field("message", TEXT),
    field("hint", optional(TEXT), of=lambda problem: problem.advice),
)
PROBLEMS = list_of(PROBLEM, minItems=1)


def refusal_form(schema: str) -> Form:
    """The form of the document that is written if nothing could be judged; `schema` is the name of the document."""
    return object_of(
        lambda verdict, problems: (verdict, problems),
        constant("schema", schema),
        field("verdict", NULL, of=lambda _: None),
        field("problems", PROBLEMS, of=list),
        description="Nothing could be judged: exit code 2 or 4.",
    )


JUDGED_BY = list_of(
    object_of(
        lambda tool, judges, declared_by: Judging(tool, judges, by_policy=declared_by == "policy"),
        field("tool", TEXT),
        field("judges", TEXTS, "The scorers that judged, in words."),
        field(
            "declared_by",
            one_of(Literal["policy", "file"]),
            "The policy's `judged_by`, or the file itself.",
            of=lambda judging: "policy" if judging.by_policy else "file",
        ),
        description="Who judged the records of one tool.",
    )
)


QUARANTINED = list_of(
    object_of(
        QuarantinedScenario,
        field("id", TEXT),
        field("why", TEXT),
        field("until", optional(TEXT), "The last day; null if it has no end."),
    )
)


CANARIES = object_of(
    CanaryReport,
    field("statements", COUNT),
    field("wrong", COUNT),
    field("p_value", SHARE),
    field("failed", FLAG, "Whether the judge is not believed."),
)


def _write_where(where: Where, _context: Context) -> dict[str, list[str]]:
    return {column: list(values) for column, values in where}


def _read_where(found: Any, context: Context) -> Where:
    return tuple(read_members(read_object(found), dict.fromkeys(found, _one_or_more), context).items())


def _one_or_more(found: Any, context: Context) -> tuple[str, ...]:
    return (found,) if isinstance(found, str) else TEXTS.read(found, context)


SELECTION = optional(
    object_of(
        Selection,
        field("where", Form({"type": "object", "additionalProperties": TEXTS.schema}, _write_where, _read_where)),
        field("rows_left_out", COUNT, of="rows"),
        field("scenarios_left_out", COUNT, of="scenarios_count"),
        description="Which rows were judged, and what was left out.",
    )
)


def _write_slice(where: Where, _context: Context) -> dict[str, Any] | None:
    return {column: values[0] if len(values) == 1 else list(values) for column, values in where} or None


SLICE = Form(
    {"type": ["object", "null"], "additionalProperties": {"type": ["string", "array"], "items": TEXT.schema}},
    _write_slice,
    lambda found, context: () if found is None else _read_where(found, context),
)
"""The scenarios that a rule is about: for each column its value, or a list of values; null for all scenarios."""


def of_value(name: str) -> Callable[[Any], Any]:
    """A getter for an attribute of a rule's value; it returns None for a rule without a value."""
    return lambda rule: None if rule.value is None else getattr(rule.value, name)


def _read_by(found: Any, _context: Context) -> tuple[str, str]:
    if isinstance(found, dict) and len(found) == 1 and all(isinstance(value, str) for value in found.values()):
        return next(iter(found.items()))
    raise DamagedError(((), f"found {document_value(found)}, wanted an object with one column and its value"))


BY = Form(
    {"type": "object", "additionalProperties": TEXT.schema, "minProperties": 1, "maxProperties": 1},
    lambda by, _context: {by[0]: by[1]},
    _read_by,
)
"""The column that a slice is made by, and its value."""


def schema_of(title: str, choices: Iterable[str], definitions: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A whole schema, in draft 2020-12. It allows additional fields, because a later version may add some."""
    return {
        "$schema": DRAFT,
        "title": title,
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in choices],
        "$defs": dict(definitions),
    }
