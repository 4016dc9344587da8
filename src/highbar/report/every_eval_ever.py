"""The verdict as an aggregate of Every Eval Ever (`eval.schema.json`): one evaluation result for each metric.

What the schema requires and a verdict lacks (the model, who evaluated it, the dataset, the date) comes from `--meta`.
An undefined metric is no evaluation result: it is listed with its reason in `eval_library`, beside verdict and rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import highbar
from highbar.errors import InputError, Problem
from highbar.language.digits import as_float, bounds_by_metric
from highbar.model import RuleResult, Unit, Value, Verdict
from highbar.model.verdict import NO_POLICY
from highbar.report import PAGE, Display
from highbar.report.numbers import interval_end, number, two_sided_level
from highbar.report.titles import metric_words
from highbar.store.writing import encode

SCHEMA_VERSION = "0.3.0"
_Texts = dict[str, str]
_Meta = Mapping[str, str]

_REQUIRED: Mapping[str, str] = MappingProxyType(
    {
        "model_id": "example/agent-2",
        "source_organization_name": "Example",
        "evaluator_relationship": "first_party",
        "dataset_name": "support-suite",
        "date": "2026-11-17",
    }
)
"""The required keys of `--meta`, each with an example."""
_CHOICES: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "evaluator_relationship": ("first_party", "third_party", "collaborative", "other"),
        "deployment_type": ("self_deployed", "externally_managed", "unknown"),
        "model_availability": ("open_weights", "closed_weights", "unknown"),
    }
)
_SOURCE = ("source_name", "source_organization_url")
_MODEL = ("developer", "inference_platform")
_DATASET = ("evaluation_name", "dataset_url", "hf_repo", "hf_split")
_KNOWN = frozenset((*_REQUIRED, *_CHOICES, *_SOURCE, *_MODEL, *_DATASET, "model_name"))
_SECONDS = re.compile(r"[0-9]{9,11}(\.[0-9]{1,9})?")  # 8 digits are a date: 20261117
_UNITS: Mapping[Unit, str] = MappingProxyType({"ratio": "proportion"})


def render(verdict: Verdict, display: Display = PAGE) -> str:
    """Every defined metric with its interval. Raises InputError if `--meta` lacks a required key."""
    meta = dict(display.meta)
    problems = meta_problems(meta)
    if problems:
        raise InputError(*problems)
    name = meta.get("evaluation_name", meta["dataset_name"])
    seconds = _seconds(meta["date"]) or ""
    bounds = bounds_by_metric(verdict.rules or verdict.advice)
    document = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{name}/{meta['model_id']}/{seconds}",
        "retrieved_timestamp": seconds,
        "source_metadata": _source(meta),
        "eval_library": _library(_findings(verdict)),
        "model_info": _model(verdict, meta),
        "evaluation_results": [
            {
                "evaluation_result_id": metric,
                "evaluation_name": name,
                "source_data": _dataset(meta),
                "metric_config": _metric(metric, value),
                "score_details": _score(value, value.value, bounds.get(metric, ()), verdict),
            }
            for metric, value in verdict.metrics.items()
            if value.value is not None
        ],
    }
    return encode(document)


def render_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """A document with the problems and no evaluation result.

    It lacks what the schema requires, so that nobody can publish it as a record.
    """
    found = {f"problem.{place}": problem.message for place, problem in enumerate(problems, 1)}
    found["verdict"] = "none"
    return encode({"schema_version": SCHEMA_VERSION, "eval_library": _library(found), "evaluation_results": []})


def meta_problems(meta: _Meta) -> list[Problem]:
    """One problem that names all required keys that `--meta` lacks, and one for each value that is not valid."""
    missing = [key for key in _REQUIRED if not meta.get(key)]
    problems = []
    if missing:
        message = f"the format every-eval-ever needs {', '.join(missing)}, which results do not say"
        hint = " ".join(f"--meta {key}={_REQUIRED[key]}" for key in missing)
        problems.append(Problem(message, hint=hint))
    for key, choices in _CHOICES.items():
        if meta.get(key) and meta[key] not in choices:
            problems.append(Problem(f"--meta {key}={meta[key]}: wanted one of {', '.join(choices)}"))
    if meta.get("date") and _seconds(meta["date"]) is None:
        hint = "--meta date=2026-11-17, --meta date=2026-11-17T15:00:00Z, or seconds since 1970"
        problems.append(Problem(f"--meta date={meta['date']}: cannot read this as a date", hint=hint))
    return problems


def _seconds(date: str) -> str | None:
    """The date as seconds since 1970, as the schema wants it; None if it is not valid. UTC if it has no time zone."""
    if _SECONDS.fullmatch(date):
        return date
    try:
        found = datetime.fromisoformat(date)
    except ValueError:
        return None
    seconds = int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
    return str(seconds) if seconds >= 0 else None


def _source(meta: _Meta) -> dict[str, Any]:
    """Who evaluated. Other keys of `--meta` (commit, link) go into the additional details."""
    others = {key: value for key, value in meta.items() if key not in _KNOWN}
    return {
        **_chosen(meta, _SOURCE),
        "source_type": "evaluation_run",
        "source_organization_name": meta["source_organization_name"],
        "evaluator_relationship": meta["evaluator_relationship"],
        **({"additional_details": others} if others else {}),
    }


def _model(verdict: Verdict, meta: _Meta) -> dict[str, Any]:
    version = {} if verdict.agent_version is None else {"agent_version": verdict.agent_version}
    unknown = {key: meta.get(key, "unknown") for key in ("deployment_type", "model_availability")}
    return {
        "name": meta.get("model_name", meta["model_id"]),
        "id": meta["model_id"],
        **_chosen(meta, _MODEL),
        "additional_details": {**unknown, **version},
    }


def _dataset(meta: _Meta) -> dict[str, Any]:
    if "hf_repo" in meta:
        kind: dict[str, Any] = {"source_type": "hf_dataset", **_chosen(meta, ("hf_repo", "hf_split"))}
    elif "dataset_url" in meta:
        kind = {"source_type": "url", "url": [meta["dataset_url"]]}
    else:
        kind = {"source_type": "other"}
    return {"dataset_name": meta["dataset_name"], **kind}


def _chosen(meta: _Meta, keys: Iterable[str]) -> _Texts:
    return {key: meta[key] for key in keys if key in meta}


def _library(details: _Texts) -> dict[str, Any]:
    return {"name": "highbar", "version": highbar.__version__, "additional_details": details}


def _findings(verdict: Verdict) -> _Texts:
    """The verdict, the counts, the policy, every rule and the undefined metrics; all as text, as the schema demands."""
    counts, policy = verdict.counts, verdict.policy
    found = {
        "verdict": verdict.verdict or "none",
        "scenarios": str(counts.scenarios),
        "trials": str(counts.trials),
        "errors": str(counts.errors),
        "undecided_trials": str(counts.undecided),
        "rows_left_out": str(counts.left_out),
    }
    if policy is None:
        found["policy"] = NO_POLICY
    elif policy.sha256 is not None:
        found["policy_sha256"] = policy.sha256  # not its path: a record is made to be published
    if verdict.judge is not None:
        found |= {"judge": ", ".join(verdict.judge.by), "judge_calibrated": str(verdict.judge.calibrated).lower()}
    found |= {f"judged_by.{one.tool}": ", ".join(one.judges) for one in verdict.judged_by}
    found |= {f"rule.{one.rule}": _rule(one) for one in verdict.rules}
    return found | {f"undefined.{name}": one.reason or "" for name, one in verdict.metrics.items() if one.value is None}


def _rule(rule: RuleResult) -> str:
    """Level, outcome and threshold, without the reason, which may quote the agent and ids of a private suite."""
    return f"{rule.level}: {rule.outcome}" + (f": {rule.threshold}" if rule.threshold else "")


def _metric(name: str, value: Value) -> dict[str, Any]:
    """The identity of a metric. Its id has the prefix `highbar.`, since Highbar or the policy defines the metric."""
    words = metric_words(name, str)
    return {
        "evaluation_description": f"{words}, as Highbar or the policy of the run defines it",
        "metric_id": f"highbar.{name}",
        "metric_name": name,
        "metric_unit": _UNITS.get(value.unit, value.unit),
        "lower_is_better": value.better == "lower",
        **_scale(value),
    }


def _scale(value: Value) -> dict[str, Any]:
    """The lowest and the highest possible score; empty for a plain number: without a range the schema wants no type."""
    if value.unit == "number":
        return {}
    if value.unit == "ratio":
        return {"score_type": "continuous", "min_score": 0.0, "max_score": 1.0}
    least: float | str = 0.0 if value.value is not None and value.value >= 0 else "-Infinity"
    return {"score_type": "continuous", "min_score": least, "max_score": "Infinity"}


def _score(value: Value, score: Fraction, bounds: tuple[Fraction, ...], verdict: Verdict) -> dict[str, Any]:
    details = dict(_details(value, bounds))
    return {
        "score": as_float(score, bounds),
        **({"details": details} if details else {}),
        "uncertainty": {**_interval(value, verdict), "num_samples": value.scenarios},
    }


def _interval(value: Value, verdict: Verdict) -> dict[str, Any]:
    """The interval; empty unless both ends are known, because the schema has no one-sided intervals."""
    if value.low is None or value.high is None or not (math.isfinite(value.low) and math.isfinite(value.high)):
        return {}
    method = f"two one-sided bounds, each with confidence {number(verdict.confidence)}, over scenarios"
    return {
        "confidence_interval": {
            "lower": value.low,
            "upper": value.high,
            "confidence_level": two_sided_level(verdict.confidence),
            "method": f"{method}; see Highbar's page on confidence",
        }
    }


def _details(value: Value, bounds: tuple[Fraction, ...]) -> Iterator[tuple[str, str]]:
    """What the schema has no field for: undecided trials, missing scenarios, the correction, a one-sided interval."""
    if value.undecided:
        yield "undecided_trials", str(value.undecided)
        yield "score_at_best", number(value.best, bounds) or "undefined"
    if value.missing:
        yield "missing_scenarios", str(value.missing)
    if value.corrected is not None:
        yield "score_corrected_for_judge", number(value.corrected.value, bounds) or "undefined"
    low, high = interval_end(value.low), interval_end(value.high)
    if bool(low) != bool(high):
        yield ("lower", low) if low else ("upper", high)
