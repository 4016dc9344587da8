"""A baseline as text: one line for each metric, rule and scenario, sorted, so that a review shows what changed.

Numbers are exact: a decimal if a finite one exists, else a quotient in quotes ("2/3"). ASCII only, no exponents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction

from highbar.language.exact import write_decimal
from highbar.model import Source, Value, Where
from highbar.model.baseline import SCHEMA, Baseline, RecordedRule, Scoring
from highbar.model.records import ONE, ScenarioRecord


def render(baseline: Baseline) -> str:
    """The whole file. The same baseline gives the same bytes."""
    lines = {
        "schema": _text(SCHEMA),
        "agent_version": _text(baseline.agent_version),
        "date": _text(baseline.date),
        "verdict": _text(baseline.verdict),
        "forced": _text(baseline.forced),
        "confidence": _number(baseline.confidence),
        "scoring": _fields(
            {"pass_score": _number(baseline.scoring.pass_score), "positive": _text(baseline.scoring.positive)}
        ),
        **_scoring_keys(baseline.scoring),
        "judges": _texts(baseline.judges),
        "suites": _texts(baseline.suites),
        "policy": _source(baseline.policy),
        "suite": _source(baseline.suite),
        "results": _block("[", (_source(source) for source in baseline.results), "]"),
        **({"pooled": _texts(baseline.pooled)} if baseline.pooled else {}),
        "metrics": _block("{", (f"{_text(name)}: {_value(value)}" for name, value in baseline.metrics.items()), "}"),
        "rules": _block("[", (_rule(rule) for rule in baseline.rules), "]"),
        "scenarios": _block("{", (_scenario(scenario) for scenario in baseline.scenarios), "}"),
    }
    return "{\n" + ",\n".join(f"  {_text(key)}: {line}" for key, line in lines.items()) + "\n}\n"


def _scoring_keys(scoring: Scoring) -> dict[str, str]:
    """The keys `select` and `judged_by`: which rows were judged, and by which scorers. Most baselines have neither."""
    judges = {tool: _texts(names) for tool, names in scoring.judged_by}
    lines = {"select": _where(scoring.select)} if scoring.select else {}
    return {**lines, "judged_by": _fields(judges)} if judges else lines


def _block(opening: str, lines: Iterable[str], closing: str) -> str:
    inside = ",\n".join(f"    {line}" for line in lines)
    return f"{opening}\n{inside}\n  {closing}" if inside else opening + closing


def _fields(fields: Mapping[str, str | None]) -> str:
    """An object on one line; a field without a value is left out."""
    return "{" + ", ".join(f"{_text(key)}: {token}" for key, token in fields.items() if token is not None) + "}"


def _text(text: str | None) -> str:
    return json.dumps(text)


def _texts(texts: Iterable[str]) -> str:
    return "[" + ", ".join(_text(text) for text in texts) + "]"


def _source(source: Source | None) -> str:
    return "null" if source is None else _fields({"file": _text(source.file), "sha256": _text(source.sha256)})


def _number(value: Fraction | int | None) -> str:
    if value is None:
        return "null"
    # It starts with a bracket if no finite decimal is exact.
    written = write_decimal(Fraction(value))
    return _text(f"{value.numerator}/{value.denominator}") if written.startswith("(") else written


def _end(end: float | None) -> str:
    return "null" if end is None else f"{Decimal(repr(end)):f}"


def _value_fields(value: Value) -> dict[str, str | None]:
    return {
        "value": _number(value.value),
        "low": _end(value.low),
        "high": _end(value.high),
        "scenarios": str(value.scenarios),
        "missing": str(value.missing),
        "unit": _text(value.unit),
        "better": _text(value.better),
        "reason": _text(value.reason) if value.reason else None,
    }


def _value(value: Value) -> str:
    return _fields(_value_fields(value))


def _rule(rule: RecordedRule) -> str:
    return _fields(
        {
            "rule": _text(rule.rule),
            "metric": _text(rule.metric),
            "slice": _where(rule.slice),
            "threshold": _text(rule.threshold),
            **_value_fields(rule.value),
        }
    )


def _where(where: Where) -> str:
    return _fields({column: _texts(values) for column, values in where}) if where else "null"


def _scenario(scenario: ScenarioRecord) -> str:
    return f"{_text(scenario.id)}: {scenario_text(scenario)}"


def scenario_text(scenario: ScenarioRecord) -> str:
    """A scenario without its id, as JSON on one line. Fields with their default are left out, such as a weight of 1."""
    ranks = {
        column: "[" + ", ".join(_number(value) for value in values) + "]"
        for column, values in sorted(scenario.ranks.items())
    }
    columns = {column: _text(value) for column, value in sorted(scenario.columns.items())}
    return _fields(
        {
            "columns": _fields(columns) if columns else None,
            "cluster": _text(scenario.cluster) if scenario.cluster is not None else None,
            "weight": _number(scenario.weight) if scenario.weight != ONE else None,
            "trials": str(scenario.trials),
            "passed": str(scenario.passed),
            "lone": _texts(sorted(scenario.lone)) if scenario.lone else None,
            "valueless": _texts(sorted(scenario.valueless)) if scenario.valueless else None,
            "values": _fields({column: _number(value) for column, value in sorted(scenario.values.items())}),
            "ranks": _fields(ranks) if ranks else None,
        }
    )
