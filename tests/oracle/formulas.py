"""The formulas of the specification, and its notation as Python over fractions. Nothing here comes from the product."""

from __future__ import annotations

import functools
import re

from tests.oracle.trials import Settings

FORMULAS = {
    "pass_rate": "passed_scenarios / total_scenarios",
    "accuracy": "correct_outputs / total_outputs",
    "precision": "true_positives / (true_positives + false_positives)",
    "recall": "true_positives / (true_positives + false_negatives)",
    "f1": "2 × true_positives / (2 × true_positives + false_positives + false_negatives)",
    "safety_rate": "adversarial_passed / adversarial_total",
    "behavior_coverage": "mean(behavior_score)",
    "behavior_coverage_pooled": "observed_behaviors / expected_behaviors",
    "latency_p50": "percentile(latency_ms, 50%)",
    "latency_p95": "percentile(latency_ms, 95%)",
    "latency_p99": "percentile(latency_ms, 99%)",
    "normalized_latency": "min(latency_p95 / latency_limit, 1)",
    "token_efficiency": "quality_score / tokens_used",
    "cost_per_pass": "cost_usd / passed_scenarios",
    "error_rate": "mean(error)",
    "violation_rate": "mean(violated)",
    "weighted_pass_rate": "weighted_mean(passed)",
    "weighted_behavior_coverage": "weighted_mean(behavior_score)",
    "weighted_score": "weighted_metrics()",
}

WORDS = {"×": "*", "÷": "/", "≥": ">=", "≤": "<=", "≠": "!=", "AND": "and", "OR": "or", "NOT": "not", "=": "=="}
COLUMN_CALL = re.compile(r"\b(weighted_mean|mean|sum|percentile)\(\s*([a-z_]+)")
TOKEN = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<percent>\s*%)?|[A-Za-z_]\w*|>=|<=|!=|==|[^\w\s]")


@functools.cache
def translated(formula: str) -> str:
    """The guide's notation as Python over fractions."""
    formula = COLUMN_CALL.sub(lambda call: f"{call[1]}('{call[2]}'", as_a_call(formula))

    def python(token: re.Match[str]) -> str:
        if token["number"]:
            return f"(Fraction('{token['number']}') / {100 if token['percent'] else 1})"
        return WORDS.get(token[0], token[0])

    parts = re.split(r"('[a-z_]+')", formula)
    return " ".join("".join(part if part.startswith("'") else TOKEN.sub(python, part) for part in parts).split())


def as_a_call(formula: str) -> str:
    """The guide's one formula in words as a call."""
    return "percentile(latency_ms, 95%)" if formula == "95th percentile of response times" else formula


def calls_in(formula: str) -> list[str]:
    """Each mean, sum or percentile of a column in a formula."""
    return re.findall(r"\b(?:weighted_mean|mean|sum|percentile)\([^()]*\)", as_a_call(formula))


def names_in(formula: str, settings: Settings) -> list[str]:
    """The metrics and measures that a formula names."""
    if formula == "weighted_metrics()":
        return list(settings.by_metric)
    words = re.findall(r"\b[A-Za-z_]\w*\b(?!\s*\()", re.sub(r"'[a-z_]+'", "", translated(formula)))
    return [word for word in words if word not in WORDS.values()]


def columns_in(formula: str) -> list[str]:
    """The columns of trials that a formula takes a mean, a sum or a percentile of."""
    return re.findall(r"'([a-z_]+)'", translated(formula))
