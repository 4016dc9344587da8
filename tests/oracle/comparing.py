"""Compares a verdict, from the Python API or from the JSON of the command line, with the judgment of the oracle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tests.oracle.judging import Judgment, metric_names, read_threshold, unit_and_direction
from tests.oracle.oracle import Answer
from tests.oracle.policies import INEXACT

CLOSE = 1e-9


LOOSE = "gap"
"""The metric (lower is better) that does not follow its parts even by one part alone."""


def differences(found: Mapping[str, Any], judged: Judgment, policy: Mapping[str, Any] | None) -> list[str]:
    """Every difference between a verdict (in the JSON form, values exact where they are Fractions) and the judgment."""
    settings = judged.whole.settings
    wrong = []
    for count, wanted in judged.counts.items():
        if count in found["counts"] and found["counts"][count] != wanted:
            wrong.append(f"counts.{count}: {found['counts'][count]}, wanted {wanted}")
    absent = [name for name in metric_names(policy, settings) if name not in found["metrics"]]
    wrong += [f"metric {name} is not there" for name in absent]
    for name, value in found["metrics"].items():
        wrong += value_differences(f"metric {name}", value, judged.whole.answer(name), exact=name not in INEXACT)
    wrong += slice_differences(found["slices"], judged)
    wrong += rule_differences({rule["rule"]: rule for rule in found["rules"]}, judged)
    if len(found["rules"]) != len(judged.rules):
        wrong.append(f"{len(found['rules'])} rules, wanted {len(judged.rules)}")
    failed = {scenario["id"] for scenario in found["scenarios_failed"]}
    if failed != judged.failed:
        wrong.append(f"failed: {sorted(failed)}, wanted {sorted(judged.failed)}")
    undecided = {scenario["id"] for scenario in found["scenarios_undecided"]}
    if undecided != judged.undecided:
        wrong.append(f"undecided: {sorted(undecided)}, wanted {sorted(judged.undecided)}")
    if found["verdict"] != judged.verdict:
        wrong.append(f"verdict {found['verdict']}, wanted {judged.verdict}")
    return wrong


def slice_differences(found: Any, judged: Judgment) -> list[str]:
    """The slices: those that the policy names at least, each with the right number of scenarios and values."""
    slices = {next(iter(part["by"].items())): part for part in found}
    columns = {column for column, _ in judged.slices}
    if {by for by in slices if by[0] in columns} != set(judged.slices) or len(slices) != len(found):
        return [f"slices: {sorted(slices)}, wanted {sorted(judged.slices)}"]
    wrong = []
    for by, part in slices.items():
        group = judged.whole.where(dict([by]))
        if part["scenarios"] != len(group.scenarios):
            wrong.append(f"slice {by}: {part['scenarios']} scenarios, wanted {len(group.scenarios)}")
        for name, value in part["metrics"].items():
            answer = group.answer(name)
            wrong += value_differences(f"slice {by}, {name}", value, answer, exact=name not in INEXACT)
        if "pass_rate" not in part["metrics"]:
            wrong.append(f"slice {by} has no pass_rate")
    return wrong


def rule_differences(found: Mapping[str, Any], judged: Judgment) -> list[str]:
    """The rules: the same names, each with its level, outcome, threshold and value."""
    odd = sorted(set(found) ^ set(judged.rules))
    wrong = [f"rule {name} is {'not wanted' if name in found else 'not there'}" for name in odd]
    for name in sorted(set(found) & set(judged.rules)):
        have, wanted = found[name], judged.rules[name]
        if wanted.metric == LOOSE and wanted.answer is not None and wanted.answer.undecided:
            # Its value is a bound: the outcome may be worse for that, never a pass that is none.
            wrong += [f"rule {name}: pass, wanted {wanted.outcome}"] * (have["outcome"] == "pass" != wanted.outcome)
            continue
        if (have["level"], have["outcome"]) != (wanted.level, wanted.outcome):
            wrong.append(f"rule {name}: {have['level']} {have['outcome']}, wanted {wanted.level} {wanted.outcome}")
        if not have["reason"]:
            wrong.append(f"rule {name} has no reason")
        if wanted.bound is None or wanted.metric is None or wanted.answer is None:
            continue
        unit, lower = unit_and_direction(wanted.metric, judged.whole.settings)
        if have["metric"] != wanted.metric or read_threshold(have["threshold"], unit, lower=lower) != wanted.bound:
            wrong.append(f"rule {name}: {have['metric']} {have['threshold']}, wanted {wanted.metric} {wanted.bound}")
        if not same_value(have["value"], wanted.answer.value, exact=wanted.metric not in INEXACT):
            wrong.append(f"rule {name}: value {have['value']}, wanted {wanted.answer.value}")
        if not same_value(have["best"], wanted.answer.best, exact=wanted.metric not in INEXACT):
            wrong.append(f"rule {name}: best {have['best']}, wanted {wanted.answer.best}")
    return wrong


def value_differences(place: str, found: Any, wanted: Answer, *, exact: bool) -> list[str]:
    """A value with its counts, and a reason exactly where it is undefined."""
    wrong = []
    if place.endswith(LOOSE) and wanted.undecided and None not in (wanted.value, wanted.best):
        # Bounded, not computed: never better than what can be.
        beyond = found["value"] is None or (found["value"] >= wanted.value and found["best"] <= wanted.best)
        return [] if beyond else [f"{place}: {found['value']} to {found['best']}, wanted {wanted.value}, {wanted.best}"]
    if not same_value(found["value"], wanted.value, exact=exact):
        wrong.append(f"{place}: {found['value']}, wanted {wanted.value} ({wanted.why})")
    if not same_value(found["best"], wanted.best, exact=exact):
        wrong.append(f"{place}: best {found['best']}, wanted {wanted.best}")
    counts = {"scenarios": wanted.scenarios, "missing": wanted.missing, "undecided": wanted.undecided}
    wrong += [f"{place}: {n} {found[n]}, wanted {w}" for n, w in counts.items() if n in found and found[n] != w]
    if "reason" in found and (wanted.value is None) != bool(found["reason"]):
        wrong.append(f"{place}: reason {found['reason']!r}")
    return wrong


def same_value(found: Any, wanted: Fraction | None, *, exact: bool) -> bool:
    """Equal; a Fraction exactly, a float of the JSON to its last digit, sums of decimals nearly."""
    if found is None or wanted is None:
        return found is None and wanted is None
    if isinstance(found, Fraction) and exact:
        return found == wanted
    return math.isclose(found, wanted, rel_tol=CLOSE if not exact else 1e-15)


def as_json(verdict: Any) -> dict[str, Any]:
    """The product's frozen verdict in the shape of its JSON, its values left exact."""
    return {
        "verdict": verdict.verdict,
        "counts": {
            name: getattr(verdict.counts, name)
            for name in ("scenarios", "trials", "errors", "unjudged", "undecided", "failed")
        },
        "metrics": {name: one_value(value) for name, value in verdict.metrics.items()},
        "slices": [
            {
                "by": {part.by[0]: part.by[1]},
                "scenarios": part.scenarios,
                "metrics": {name: one_value(value) for name, value in part.metrics.items()},
            }
            for part in verdict.slices
        ],
        "rules": [
            {
                "rule": rule.rule,
                "level": rule.level,
                "outcome": rule.outcome,
                "metric": rule.metric,
                "threshold": rule.threshold,
                "value": None if rule.value is None else rule.value.value,
                "best": rule.best,
                "reason": rule.reason,
            }
            for rule in verdict.rules
        ],
        "scenarios_failed": [{"id": scenario.id} for scenario in verdict.scenarios_failed],
        "scenarios_undecided": [{"id": scenario.id} for scenario in verdict.scenarios_undecided],
    }


def one_value(value: Any) -> dict[str, Any]:
    """A metric's value in the shape of the JSON."""
    return {name: getattr(value, name) for name in ("value", "best", "scenarios", "missing", "undecided", "reason")}
