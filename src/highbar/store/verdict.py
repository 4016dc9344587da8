"""The verdict as a document, `highbar/verdict/1`: `write` and `save` it, `read_verdict`, and its `schema`.

It has what every report shows. A verdict that is read back therefore lacks what only some reports request: the list of
all scenarios, the details of the HTML report, and the numbers behind the chances of a second run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from highbar.errors import InputError, Problem
from highbar.language.digits import bounds_by_metric
from highbar.model import (
    Better,
    Counts,
    Decision,
    EvidenceKind,
    FailedScenario,
    FlakyScenario,
    Goal,
    Level,
    Outcome,
    Place,
    Progressive,
    Repetition,
    RuleResult,
    Slice,
    UndecidedScenario,
    Unit,
    Value,
    Verdict,
    Where,
)
from highbar.store import reading, shared, writing
from highbar.store.forms import (
    COUNT,
    END,
    EXACT,
    FLAG,
    NULL,
    NUMBER,
    TEXT,
    TEXTS,
    WHOLE,
    Context,
    DamagedError,
    Form,
    by_metric,
    constant,
    field,
    for_metric,
    list_of,
    object_of,
    one_of,
    optional,
    rebuilt,
    shared_form,
)
from highbar.store.shared import BY, JUDGED_BY, PROBLEMS, SELECTION, SLICE, SOURCE, of_value, refusal_form, schema_of
from highbar.store.verdict_parts import AGAINST, CORRECTED, JUDGE, RAW, SEQUENTIAL, STOPPING

SCHEMA = "highbar/verdict/1"

VALUE = object_of(
    Value,
    field("value", optional(EXACT), "null where it is undefined; then `reason` says why."),
    field("low", END, "The lower end of the interval; null where there is none."),
    field("high", END, "The upper end of the interval; null where there is none."),
    field("scenarios", COUNT, "How many scenarios the value rests on."),
    field("missing", COUNT, "How many lack what the metric needs."),
    field("undecided", COUNT, "Trials of which it is not known what they add; here at their worst."),
    field("best", optional(EXACT), "The value with those at their best; null if there are none."),
    field("unit", one_of(Unit)),
    field("better", one_of(Better)),
    field("reason", optional(TEXT)),
    field("corrected", CORRECTED, "As people would have it; null if no judge was corrected."),
    description="A metric's value. It never comes without its count.",
)
_METRICS = by_metric(shared_form("value", VALUE))
_PLAIN = EXACT._replace(
    write=lambda value, _context: EXACT.write(value, Context()),
    read=lambda found, _context: EXACT.read(found, Context()),
)
"""A fraction that no threshold applies to, so that it is rounded to the nearest double."""

_SLICE = object_of(
    Slice,
    field("by", BY),
    field("scenarios", COUNT),
    field("worse", FLAG, "Than the rest, by more than chance, among all slices."),
    field("p_value", optional(NUMBER)),
    field("likely", optional(NUMBER), "The pass rate, allowing for chance."),
    field("metrics", _METRICS),
)

_GOAL = optional(
    object_of(
        Goal,
        field("version", optional(TEXT), "From which on it holds; null for the target."),
        field("threshold", TEXT),
        field("met", FLAG, "Whether the value reaches it already."),
        field("distance", optional(_PLAIN), "What the value lacks, in its unit; 0 where nothing."),
    )
)
_PROGRESSIVE = object_of(
    Progressive, field("step", TEXT, "The one that holds now."), field("next", _GOAL), field("target", _GOAL)
)


def _rule(fields: dict[str, Any], context: Context) -> RuleResult:
    place = Place(fields.pop("place_file"), fields.pop("place_line"))
    numbers = {name: fields.pop(name) for name in ("value", "low", "high", "scenarios", "missing")}
    raw = fields.pop("raw")
    as_judged = None if raw is None else _value_of(fields, {**numbers, **raw}, context)
    value = None if numbers["scenarios"] is None else _value_of(fields, numbers, context)
    return RuleResult(**fields, value=value, place=place, raw=as_judged)


def _value_of(rule: Mapping[str, Any], numbers: dict[str, Any], context: Context) -> Value:
    """The value of a rule: the document's own if its numbers are the same, else one made from the numbers."""
    metric, threshold = rule["metric"], rule["threshold"] or ""
    known = context.values.get((metric, rule["slice"]))
    if known is not None and all(getattr(known, name) == number for name, number in numbers.items()):
        return known
    whole = context.values.get((metric, ()))
    unit: Unit = whole.unit if whole else "ms" if threshold.endswith("ms") else "number"
    better: Better = whole.better if whole else "lower" if threshold.startswith("<") else "higher"
    return Value(**{**numbers, "missing": numbers["missing"] or 0}, unit=unit, better=better)


RULE = for_metric(
    rebuilt(
        object_of(
            dict,
            field("rule", TEXT, "Where it stands in the policy: `thresholds.blocking.accuracy`."),
            field("level", one_of(Level)),
            field("metric", optional(TEXT)),
            field("slice", SLICE),
            field("threshold", optional(TEXT), "In canonical form: `>= 0.9`, `< 5000ms`."),
            field("value", optional(EXACT), of=of_value("value")),
            field("low", END, of=of_value("low")),
            field("high", END, of=of_value("high")),
            field("scenarios", optional(COUNT), of=of_value("scenarios")),
            field("missing", optional(COUNT), of=of_value("missing")),
            field("raw", RAW, "The value as the judge has it, if `value` is corrected for its errors."),
            field("best", optional(EXACT), "The value with undecided trials at their best."),
            field(
                "undecided",
                list_of(
                    object_of(
                        lambda **trial: (trial["id"], trial["trial"]),
                        field("id", TEXT, of=lambda one: one[0]),
                        field("trial", optional(WHOLE), of=lambda one: one[1]),
                    )
                ),
                "The undecided trials that the rule hangs on, at most ten.",
            ),
            field("outcome", one_of(Outcome)),
            field("reason", TEXT),
            field("fragile", FLAG, "Whether the interval reaches across the threshold."),
            field(
                "second_run",
                optional(NUMBER),
                "The chance that a second run on the same scenarios has another outcome, at most.",
            ),
            field("second_run_low", optional(NUMBER), "The same, at least; equal if trials were repeated."),
            field(
                "more_scenarios",
                optional(COUNT),
                "By how many a new run that settles it would be larger, if the value stays.",
            ),
            field(
                "evidence",
                optional(one_of(EvidenceKind)),
                "What a rule about a number compares; null for any other rule.",
            ),
            field("stopping", STOPPING),
            field("progressive", optional(_PROGRESSIVE)),
            field("slack", optional(_PLAIN), "By how much the threshold is passed, where that is far."),
            field("description", optional(TEXT)),
            field("file", optional(TEXT), of="place.file"),
            field("line", optional(COUNT), of="place.line"),
            description="What became of one rule.",
        ),
        _rule,
    )
)
_RULES = list_of(shared_form("rule", RULE))


def _scenarios(kind: type[FailedScenario | UndecidedScenario]) -> Form:
    return object_of(
        kind,
        field("id", TEXT),
        field("category", optional(TEXT)),
        field("reason", TEXT),
        field("required", FLAG),
        field("trials", COUNT),
        field("passed_trials", COUNT),
        description="A scenario that failed a trial, or has an undecided one. "
        "Its texts come from the agent: never trust them.",
    )


_FLAKY = object_of(FlakyScenario, field("id", TEXT), field("trials", COUNT), field("passed_trials", COUNT))
_REPETITION = object_of(
    Repetition,
    field("flaky", COUNT, "How many scenarios passed only some of their trials."),
    field("between", NUMBER, "The variance between scenarios."),
    field("within", NUMBER, "The variance between the trials of one scenario."),
    field("correlation", optional(NUMBER), "1 where the trials of a scenario always agree."),
    field("fewest", COUNT, "The fewest trials of a scenario."),
    field("still_possible", NUMBER, "The pass rate that passing all of them does not exclude."),
)

_COUNTED = ("scenarios", "trials", "errors", "unjudged", "failed", "undecided", "left_out")
_FIELDS = (
    constant("schema", SCHEMA),
    field("verdict", one_of(Decision)),
    field("agent_version", optional(TEXT)),
    field("confidence", _PLAIN, "Of each end of an interval by itself."),
    field(
        "counts",
        object_of(Counts, *(field(name, COUNT) for name in _COUNTED), description="How much evidence there was."),
    ),
    field("metrics", _METRICS),
    field("slices", list_of(_SLICE)),
    field("rules", _RULES),
    field("scenarios_failed", list_of(shared_form("scenario", _scenarios(FailedScenario)))),
    field(
        "scenarios_undecided",
        list_of(shared_form("scenario", _scenarios(UndecidedScenario))),
        "Scenarios that failed no trial, and of which some trial is undecided.",
    ),
    field(
        "flaky",
        list_of(_FLAKY),
        "Scenarios that passed only some of their trials: some of them.",
    ),
    field("repetition", optional(_REPETITION)),
    field("judged_by", JUDGED_BY),
    field("judge", JUDGE, "What rests on a judge, and how good it is known to be; null if nothing does."),
    field("quarantined", shared.QUARANTINED, "Flaky scenarios: they count in rates, and are no new failures."),
    field("select", SELECTION, of="selection"),
    field("sequential", SEQUENTIAL),
    field("warnings", TEXTS),
    field("policy", optional(shared_form("source", SOURCE))),
    field("against", AGAINST),
    field("results", list_of(shared_form("source", SOURCE))),
    field(
        "second_run",
        optional(NUMBER),
        "The chance that a second run on the same scenarios has another verdict, at most.",
    ),
    field("second_run_low", optional(NUMBER), "The same, at least."),
)
_VERDICT = object_of(Verdict, *_FIELDS)

_CHANGED = {"verdict": NULL, "rules": list_of(shared_form("rule", RULE), maxItems=0), "policy": NULL}
"""The fields that differ if there was no policy."""
_NO_POLICY = object_of(
    Verdict,
    *(
        each._replace(form=_CHANGED.get(each.name, shared_form(f"verdict/properties/{each.name}", each.form)))
        for each in _FIELDS
    ),
    field("advice", _RULES, "The typical thresholds as they would be judged."),
    field("problems", PROBLEMS),
    description="No policy was found, so nothing was judged: exit code 2.",
)
_REFUSAL = refusal_form(SCHEMA)


def schema() -> dict[str, Any]:
    """The JSON Schema of the document: a verdict, a result without a policy, or the problems if there is neither."""
    return schema_of(
        "Highbar verdict",
        ("verdict", "no_policy", "refusal"),
        {
            "verdict": _VERDICT.schema,
            "no_policy": _NO_POLICY.schema,
            # Exactly one of the three must match, and a result without a policy has all members of a refusal.
            "refusal": {**_REFUSAL.schema, "not": {"required": ["advice"]}},
            "value": VALUE.schema,
            "rule": RULE.schema,
            "scenario": _scenarios(FailedScenario).schema,
            "source": SOURCE.schema,
        },
    )


def write(verdict: Verdict) -> dict[str, Any]:
    """The document as JSON values."""
    form = _NO_POLICY if verdict.verdict is None else _VERDICT
    document: dict[str, Any] = form.write(verdict, _context(verdict))
    return document


def write_problems(problems: Iterable[Problem]) -> dict[str, Any]:
    """The document that is written if nothing could be judged."""
    document: dict[str, Any] = _REFUSAL.write(problems, Context())
    return document


def _context(verdict: Verdict) -> Context:
    values: dict[tuple[str, Where], Value] = {(name, ()): value for name, value in verdict.metrics.items()}
    values |= {
        (name, ((column, (value,)),)): measured
        for part in verdict.slices
        for column, value in (part.by,)
        for name, measured in part.metrics.items()
    }
    return Context(bounds_by_metric(verdict.rules or verdict.advice), values=values)


def save(verdict: Verdict, path: str | PathLike[str]) -> None:
    """Write the document to a file, whole or not at all. Raises ReportError if that fails."""
    writing.write(path, writing.encode(write(verdict)))


def read_verdict(path: str | PathLike[str]) -> Verdict:
    """The verdict in a file that `Verdict.save` or `--output verdict.json` wrote; saving it gives the same bytes.

    Raises InputError, with file and line, if the file is not such a document, is damaged, was written by a newer
    version of Highbar, or says only why nothing could be judged.
    """
    return read_stored_verdict(reading.read_stored(path, SCHEMA))


def read_stored_verdict(document: reading.StoredDocument) -> Verdict:
    """The verdict in a document that was read from a file of its own, or from a record of the history."""
    if "advice" not in document.content and document.content.get("verdict", "") is None:
        _refuse(document)
    form = _NO_POLICY if document.content.get("verdict") is None else _VERDICT
    return document.read(lambda content: _read(form, content))


def _read(form: Form, content: Mapping[str, Any]) -> Verdict:
    try:
        verdict: Verdict = form.read(content, Context())
        # Numbers are read by the thresholds of the rules, and rules by the values of metrics: so read three times.
        for _ in ("thresholds", "values"):
            verdict = form.read(content, _context(verdict))
    except OverflowError as error:
        raise DamagedError(((), "a number that no verdict has: beyond 1e308")) from error
    return verdict


def _refuse(document: reading.StoredDocument) -> None:
    _, problems = document.read(lambda content: _REFUSAL.read(content, Context()))
    message = "holds no verdict, only the reasons why nothing could be judged"
    raise InputError(*document.refusal((("verdict",), message)).problems, *problems)
