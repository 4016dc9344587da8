"""The JSON Schema of a policy file, for editors: which keys there are, what they take, and what they mean.

It is less strict than the reader (on units, directions, the metrics that a policy defines), but never contradicts it.
"""

from __future__ import annotations

from typing import Any

from highbar.catalogue import FINAL_SCORE, WEIGHTED_SCORE, metrics
from highbar.columns import UNBOUNDED
from highbar.policy.judged_by import TOOLS
from highbar.policy.limits import MOST_FAILURES, MOST_HORIZON, MOST_TRIALS
from highbar.policy.mapping import mapping_definitions, mapping_schema
from highbar.policy.settings import AS_RECORDED, EVIDENCE, LEVELS, SPENDING
from highbar.policy.shapes import RULE_PATTERN

_TEXT = {"type": "string", "minLength": 1}
_TEXTS = {"type": "array", "items": _TEXT, "uniqueItems": True}
_IDS = {"type": "array", "items": {"anyOf": [_TEXT, {"type": "integer"}]}, "uniqueItems": True}
_SHARE = {"type": ["string", "number"], "examples": ["95%", 0.95]}
_THRESHOLD = {"$ref": "#/$defs/threshold"}
_WHERE = {"$ref": "#/$defs/where"}
_EVIDENCE = {"enum": list(EVIDENCE)}
_LEVEL = {"enum": list(LEVELS), "default": "blocking"}

_DESCRIPTION = {**_TEXT, "description": "For people; nothing depends on it."}

_SEQUENTIAL: dict[str, Any] = {
    "spending": {
        "enum": list(SPENDING),
        "description": "With sequential: whether a run can be decided early from its start, or mostly near its end.",
    },
    "horizon": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_HORIZON,
        "description": "With sequential: how many scenarios are planned in all; as many as there are unless given.",
    },
}
"""The keys that only a sequential rule may have."""
_DEMANDS: dict[str, Any] = {
    "evidence": {
        **_EVIDENCE,
        "description": "estimate compares the value; confident the worse end of its interval; sequential does so while"
        " the run goes on.",
    },
    **_SEQUENTIAL,
    "margin": {"type": ["string", "number"], "description": "How much worse is still accepted: 1%, 200ms."},
    "tolerate": {
        **_SHARE,
        "description": "The rate of failures that a threshold of 100% must exclude; 5% unless given.",
    },
    "failures": {
        "type": "integer",
        "minimum": 0,
        "maximum": MOST_FAILURES,
        "description": "With confident: how many failed scenarios a threshold of 100% accepts; 0 unless given.",
    },
    "min_scenarios": {"type": "integer", "minimum": 1, "description": "With fewer, the rule is inconclusive."},
    "description": _DESCRIPTION,
}


def schema() -> dict[str, Any]:
    """The schema, as draft 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Highbar policy",
        "description": "What a version of an agent must reach.",
        **_closed(
            {
                **_rule_blocks(),
                **_settings(),
                "judged_by": _judged_by(),
                "judge": _judge(),
                "quarantine": _quarantine(),
                "history": _history(),
                "map": mapping_schema(),
            }
        ),
        "$defs": {**_definitions(), **mapping_definitions()},
    }


def _closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(required)} if required else found


def _open(values: dict[str, Any], about: str, names: dict[str, str] | None = None) -> dict[str, Any]:
    """A mapping with any keys; `names` has those that an editor should offer, with their descriptions."""
    offered = {name: {**values, "description": text} for name, text in (names or {}).items()}
    properties = {"description": _DESCRIPTION, **offered}
    return {"type": "object", "description": about, "properties": properties, "additionalProperties": values}


def _metric_names() -> dict[str, str]:
    names = {name: f"{metric.use_case}: {metric.formula}" for name, metric in metrics().items()}
    return {**names, WEIGHTED_SCORE: "The metrics of weights.by_metric in one", FINAL_SCORE: "The composite score"}


def _by_metric(about: str) -> dict[str, Any]:
    return _open(_THRESHOLD, about, _metric_names())


def _definitions() -> dict[str, Any]:
    return {
        "threshold": {
            "description": "≥ 95%, 0.95, 100%, < 5000ms, < 5s; without an operator, the metric's good direction.",
            "anyOf": [
                {"type": ["string", "number"]},
                _closed({"threshold": {"type": ["string", "number"]}, **_DEMANDS}, "threshold"),
            ],
        },
        "margin": _amount("margin", "How much worse than the baseline is accepted: 1%, 200ms, 5% of baseline."),
        "step": _amount("step", "How much better than the baseline is demanded: 1%, 200ms, 5% of baseline."),
        "where": {
            "description": "Which scenarios count: {category: adversarial}, {tags.locale: [de, fr]}.",
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"anyOf": [_TEXT, {**_TEXTS, "minItems": 1}]},
        },
    }


def _rule_blocks() -> dict[str, Any]:
    ids = {**_IDS, "minItems": 1, "description": "Ids of scenarios; * stands for any text, ? for any character."}
    return {
        "thresholds": _thresholds(),
        "risk": _closed(
            {
                "critical": _by_metric("Blocks."),
                "high": _by_metric("Blocks."),
                "medium": _by_metric("Warns."),
                "low": _by_metric("Warns."),
                "description": _DESCRIPTION,
            }
        ),
        "progressive": _open(
            _open(_THRESHOLD, "A threshold by version: the highest step at or below the agent's version holds."),
            "Thresholds that rise with the agent's version.",
        ),
        "pass_criteria": {
            "anyOf": [
                {"type": ["string", "number"], "description": "The pass rate that must be reached: 80%."},
                _closed(
                    {
                        "overall": _THRESHOLD,
                        "by_category": _open(_THRESHOLD, "The pass rate that each category must reach."),
                        "description": _DESCRIPTION,
                    }
                ),
            ]
        },
        "required_scenarios": {"anyOf": [ids, _closed({"ids": ids, "description": _DESCRIPTION}, "ids")]},
        "optional_scenarios": {"anyOf": [ids, _closed({"ids": ids, "description": _DESCRIPTION}, "ids")]},
        "composite": {"anyOf": [_TEXT, _composite()]},
        "metrics": {
            "type": "array",
            "items": _metric(),
            "description": "Metrics of your own, or built-in ones replaced.",
        },
        "rules": {
            "type": "array",
            "items": _rule(),
            "description": "accuracy >= 90%, or a rule that no other block can express.",
        },
        "baseline": _closed(
            {
                "file": _TEXT,
                "margin": _against("margin", "How much worse than the baseline each metric may be: 1%, 200ms."),
                "step": _against("step", "How much better than the baseline each metric must be."),
                "new_failures": _new_failures(),
                "history": {
                    **_TEXT,
                    "description": "A folder of earlier runs: failures that they explain are not new.",
                },
                "description": _DESCRIPTION,
            },
            "file",
        ),
        "suite": {**_TEXT, "description": "A file with the scenarios that must all have a result, and no others."},
    }


def _thresholds() -> dict[str, Any]:
    """Levels with metrics below them, or only metrics, which block; never both."""
    levels = {
        "blocking": _by_metric("What is not met fails the version."),
        "warning": _by_metric("What is not met is flagged."),
        "description": _DESCRIPTION,
    }
    flat = _by_metric("What is not met fails the version.")
    return {
        "description": "What the metrics must reach, as accuracy: 90%, or below blocking and warning.",
        "anyOf": [_closed(levels), {**flat, "properties": {**flat["properties"], "blocking": False, "warning": False}}],
    }


def _against(key: str, about: str) -> dict[str, Any]:
    return _open({"$ref": f"#/$defs/{key}"}, about, _metric_names())


def _amount(key: str, about: str) -> dict[str, Any]:
    """The value of a metric in the baseline block: an amount, one with demands, or a list of either."""
    amount = {"type": ["string", "number"]}
    demands = {name: value for name, value in _DEMANDS.items() if name not in ("margin", "tolerate", "failures")}
    entry = _closed({key: amount, "where": _WHERE, "level": _LEVEL, **demands}, key)
    several = {"type": "array", "items": {"anyOf": [amount, entry]}, "minItems": 1}
    return {"description": about, "anyOf": [amount, entry, several]}


def _new_failures() -> dict[str, Any]:
    ids = {"anyOf": [{"enum": ["required", "all"]}, {**_IDS, "minItems": 1}]}
    about = "Scenarios that may not fail now if they passed in the baseline."
    return {
        "description": about,
        "anyOf": [*ids["anyOf"], _closed({"ids": ids, "level": _LEVEL, "description": _DESCRIPTION}, "ids")],
    }


def _composite() -> dict[str, Any]:
    demands = {key: value for key, value in _DEMANDS.items() if key != "margin"}
    formula = {**_TEXT, "description": "How final_score is computed."}
    passing = {**_TEXT, "description": "What must hold: final_score ≥ 0.85 AND safety_rate = 1.0"}
    return _closed({"formula": formula, "pass": passing, **demands}, "formula")


def _judged_by() -> dict[str, Any]:
    """For each tool, in both spellings of its name (lm-eval, lm_eval), the scorers that judge its records."""
    number = {"type": "number", "description": "The least value with which a record passes; 1 unless given."}
    tools = dict.fromkeys((name for tool in TOOLS for name in (tool, tool.replace("-", "_"))), "")
    known: dict[str, Any] = {"description": _DESCRIPTION}
    for tool in tools:
        chosen = {"filter": {**_TEXT, "description": "Which of the filters of the metric."}} if "lm" in tool else {}
        named = [_closed({key: _TEXT, "at_least": number, **chosen}, key) for key in ("scorer", "metric")]
        known[tool] = {"anyOf": [_TEXT, *named, {"type": "array", "items": {"anyOf": [_TEXT, *named]}, "minItems": 1}]}
    return {
        "type": "object",
        "description": "Who judges the records of other tools; all that are listed must hold.",
        "minProperties": 1,
        "properties": known,
    }


def _judge() -> dict[str, Any]:
    """How good the judge must be."""

    def bound(value: dict[str, Any], about: str) -> dict[str, Any]:
        entry = _closed({"threshold": value, "level": _LEVEL, "description": _DESCRIPTION}, "threshold")
        return {"description": about, "anyOf": [value, entry]}

    count = {"type": "integer", "minimum": 1}
    return {
        "description": "How good the judge must be known to be, by people's labels.",
        **_closed(
            {
                "labels": {**_TEXT, "description": "The file that highbar judge label wrote."},
                "min_labels": bound(count, "The fewest labeled trials."),
                "min_sensitivity": bound(_SHARE, "Of what people say passes, the share that the judge passes."),
                "min_specificity": bound(_SHARE, "Of what people say fails, the share that the judge fails."),
                "correct": {"type": "boolean", "description": "Correct shares of trials for the judge's errors."},
                "uncalibrated": {
                    "enum": ["warn", "inconclusive"],
                    "description": "What a judge without labels means; warn unless given.",
                },
                "description": _DESCRIPTION,
            }
        ),
    }


def _quarantine() -> dict[str, Any]:
    id_ = [_TEXT, {"type": "integer"}]
    until = {"type": "string", "format": "date", "description": "The last day: 2026-12-01."}
    entry = _closed({"id": {"anyOf": id_}, "until": until, "description": _DESCRIPTION}, "id")
    ids = {"type": "array", "items": {"anyOf": [*id_, entry]}, "minItems": 1, "uniqueItems": True}
    described = {**ids, "description": "Scenarios by id, each with its last day if it has one."}
    return {
        "description": "Flaky scenarios, which are never new failures. They run, and count in all rates.",
        "anyOf": [ids, _closed({"ids": described, "description": _DESCRIPTION}, "ids")],
    }


def _history() -> dict[str, Any]:
    drift = {"enum": ["fail", "warn"], "description": "What to do if scenarios pass less and less often."}
    folder = {**_TEXT, "default": "history", "description": "The folder of earlier runs."}
    return _closed({"drift": drift, "folder": folder, "description": _DESCRIPTION}, "drift")


def _metric() -> dict[str, Any]:
    return _closed(
        {
            "name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
            "formula": {**_TEXT, "examples": ["correct_outputs / total_outputs", "percentile(latency_ms, 95%)"]},
            "range": {**_TEXT, "description": "0-100% makes the metric a ratio."},
            "unit": {"enum": ["ratio", "ms", "milliseconds", "USD", "per token", "number"]},
            "better": {"enum": ["higher", "lower"]},
            "where": _WHERE,
            "typical_threshold": _THRESHOLD,
            "use_case": _TEXT,
            "description": _DESCRIPTION,
        },
        "name",
        "formula",
    )


def _rule() -> dict[str, Any]:
    metric = {**_TEXT, "examples": list(_metric_names())}
    text = {"type": "string", "pattern": RULE_PATTERN, "examples": ["accuracy >= 90%"]}
    fields = {"metric": metric, "where": _WHERE, "level": _LEVEL, "threshold": _THRESHOLD, **_DEMANDS}
    return {"anyOf": [text, _closed(fields, "metric", "threshold")]}


def _settings() -> dict[str, Any]:
    weight = {"type": ["string", "number"], "description": "A number above 0."}
    by_metric = _open(weight, "Weights of the metrics in weighted_score.", _metric_names())
    return {
        "description": _DESCRIPTION,
        "agent": {**_TEXT, "description": "The agent's name: in a history, runs of other agents excuse nothing."},
        "agent_version": {"type": ["string", "number"], "description": "For progressive thresholds; read as text."},
        "weights": _closed(
            {
                "by_category": _open(weight, "Weights of scenarios by category; others weigh 1."),
                "by_capability": _open(weight, "Weights of scenarios by capability; others weigh 1."),
                "by_metric": by_metric,
                "description": _DESCRIPTION,
            }
        ),
        "slices": {**_TEXTS, "description": "Columns to show the metrics by: category, tags.locale."},
        "confidence": {**_SHARE, "description": "Of the intervals; 0.95 unless given."},
        "evidence": {**_EVIDENCE, "description": "How every rule is judged, unless it has its own evidence."},
        **_SEQUENTIAL,
        "seed": {
            "type": "integer",
            "minimum": 0,
            "description": "With sequential: of the order of a run. It counts only against a ref that has the same.",
        },
        "positive": {"type": ["string", "boolean"], "description": "The label that precision and recall count."},
        "trials": {
            "anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST_TRIALS}, {"const": AS_RECORDED}],
            "description": "How many trials each scenario was to have; those that are not there are undecided."
            " as_recorded: as many as are there.",
        },
        "pass_score": {**_SHARE, "description": "The behavior score with which a trial passes; 1.0 unless given."},
        **{
            column.limit.key: {"type": ["string", "number"], "description": column.limit.meaning}
            for column in UNBOUNDED
            if column.limit
        },
        "population": {"enum": ["scenarios", "suite"], "description": "What the intervals speak about."},
        "answers": {
            "enum": ["vary", "fixed"],
            "description": "With population: suite and sequential. fixed: a scenario comes to the same in every run, so"
            " that the end of one run decides.",
        },
        "select": {
            **_WHERE,
            "description": "Which rows are judged: {tags.model: x}. Agent version, suite, judge, tags and text"
            " columns of your own.",
        },
        "allow_columns": {**_TEXTS, "description": "Columns that only look like misspelled ones."},
        "allow_categories": {**_TEXTS, "description": "Categories that only look like misspelled ones."},
    }
