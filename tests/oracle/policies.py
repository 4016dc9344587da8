"""Policies for a suite as hypothesis draws them, with thresholds that sit exactly on the suite's own values too."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

from tests.oracle.formulas import FORMULAS
from tests.oracle.judging import matches, settings_of, unit_and_direction
from tests.oracle.oracle import Group
from tests.oracle.scenarios import PASSED, scenarios_of
from tests.oracle.suites import CAPABILITIES, CATEGORIES, VERSIONS, Row

Policy = dict[str, Any]

OWN_METRICS: tuple[dict[str, Any], ...] = (
    {"name": "refusal_share", "formula": "adversarial_passed / total_scenarios", "range": "0-100%"},
    {"name": "cost_per_scenario", "formula": "cost_usd / total_scenarios", "better": "lower"},
    {"name": "blend", "formula": "(pass_rate + min(accuracy, behavior_coverage)) / 2", "range": "0-100%"},
    {"name": "slowest_tenth", "formula": "percentile(latency_ms, 90%)", "unit": "milliseconds", "better": "lower"},
    {"name": "mean_quality", "formula": "mean(quality_score)", "range": "0-100%"},
    {"name": "rubric_mean", "formula": "mean(rubric)", "range": "0-100%"},
    {"name": "rubric_open", "formula": "mean(rubric)"},
    {"name": "stars_mean", "formula": "mean(stars)", "range": "1-5"},
    {"name": "stars_low", "formula": "percentile(stars, 25%)", "range": "1-5"},
    {"name": "stars_any", "formula": "percentile(stars, 50%)"},
    {"name": "doubt_mean", "formula": "mean(doubt)", "range": "0-100", "better": "lower"},
    {"name": "doubt_open", "formula": "mean(doubt)", "better": "lower"},
    {"name": "doubt_high", "formula": "percentile(doubt, 75%)", "better": "lower"},
    {"name": "slow_mean", "formula": "mean(latency_ms)", "unit": "milliseconds", "better": "lower"},
    {"name": "tokens_mean", "formula": "mean(tokens_used)", "better": "lower"},
    {"name": "tokens_most", "formula": "percentile(tokens_used, 90%)", "better": "lower"},
    {"name": "cost_mean", "formula": "mean(cost_usd)", "better": "lower"},
    {"name": "harm_and_crash", "formula": "(error_rate + violation_rate) / 2", "range": "0-100%", "better": "lower"},
    {"name": "failed_scenarios", "formula": "total_scenarios - passed_scenarios", "better": "lower"},
    {"name": "twice", "formula": "pass_hat_2 × 100%", "range": "0-100%", "use_case": "Repeatable work"},
    {"name": "gap", "formula": "max(abs(precision - recall), 1%)", "range": "0-100%", "better": "lower"},
    {"name": "accuracy_de", "formula": "accuracy", "range": "0-100%", "where": {"tags.locale": "de"}},
    {"name": "core_passed", "formula": "passed_scenarios", "where": {"capability": ["core_function", "other one"]}},
    {
        "name": "behavior_coverage",
        "formula": "observed_behaviors / expected_behaviors",
        "range": "0-100%",
        "typical_threshold": "≥ 90%",
        "use_case": "Behavioral evaluation",
    },
    {
        "name": "latency_p95",
        "formula": "95th percentile of response times",
        "unit": "milliseconds",
        "typical_threshold": "< 5000ms",
    },
    {"name": "accuracy", "formula": "correct_outputs / total_outputs", "range": "0-100%", "typical_threshold": "≥ 95%"},
)
COMPOSITES = (
    "accuracy × 0.3 + safety_rate × 0.4 + behavior_coverage × 0.2 + (1 - normalized_latency) × 0.1",
    "pass_rate × 0.5 + (1 - error_rate) × 0.5",
    "pass_rate × 25% + violation_rate / 4 + behavior_coverage_pooled ÷ 2",
)
PASSES = ("final_score ≥ 0.85 AND safety_rate = 1.0", "final_score ≥ 50%", "final_score > 0.25 AND error_rate ≤ 50%")
# Sums of these are of decimals, not of counts; no threshold is set on the very value.
INEXACT = {
    *("token_efficiency", "cost_per_pass", "mean_quality", "cost_per_scenario", "rubric_mean", "rubric_open"),
    *("stars_mean", "doubt_mean", "doubt_open", "slow_mean", "tokens_mean", "cost_mean"),
}
SCORES = ("pass_rate", "accuracy", "safety_rate", "behavior_coverage", "recall", "behavior_coverage_pooled")
REPEATED = ("pass_at_1", "pass_at_2", "pass_hat_2", "pass_hat_3")


def decimal(value: Fraction) -> str | None:
    """The number in full where it ends soon, else None."""
    return f"{Decimal(value.numerator) / value.denominator:f}" if (value * 10**6).denominator == 1 else None


def some(random: Random, of: Sequence[Any], least: int, most: int) -> list[Any]:
    """Between `least` and `most` distinct entries."""
    return random.sample(list(of), min(len(of), least + random.randrange(most - least + 1)))


def bound_text(random: Random, value: Fraction | None, unit: str) -> tuple[str, str]:
    """A number as text and its unit as written: any one, or, half of the time, the metric's own value."""
    on_it = decimal(value * 100 if unit == "ratio" else value) if value is not None else None
    if on_it is not None and random.randrange(2):
        return on_it, {"ratio": "%", "ms": "ms"}.get(unit, "")
    if unit == "ratio":
        near = min(100, max(0, int((value or 0) * 100) - random.randrange(-2, 10)))
        return str(random.choice((random.randrange(101), near))), "%"
    if unit == "ms":
        return random.choice((("5", "s"), ("5000", "ms"), ("12.5", "ms"), ("1", " s")))
    return random.choice(("0.0123", "0.777", "3", "41")), ""


def threshold(random: Random, group: Group, metric: str, *, bare: bool = False) -> Any:
    """A threshold for a metric, in one of the forms that the policy knows. `bare`: no mapping."""
    unit, lower = unit_and_direction(metric, group.settings)
    value = None if metric in INEXACT else group.answer(metric).value
    number, mark = bound_text(random, value, unit)
    signs = ["", "<= ", "≤ "] if lower else ["", ">= ", "≥ "]
    if Fraction(number) != 0 and (unit != "ratio" or Fraction(number) != 100):  # `< 0ms` can never hold: refused
        signs.append("< " if lower else "> ")
    given: Any = random.choice(signs) + number + mark
    if unit == "ratio" and not lower and random.randrange(4) == 3:
        given = as_number(random, number)
    if not bare and random.randrange(4) == 3:
        given = {"threshold": given, **random.choice(({}, {"min_scenarios": 2}, {"description": "why"}))}
    return given


def as_number(random: Random, percent: str) -> Any:
    """A percentage as a bare number: above 1 in percent, else as a fraction."""
    if "." not in percent and int(percent) > 1 and random.randrange(2):
        return int(percent)
    return float(Decimal(percent) / 100)


def wheres(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Which scenarios a rule may be about; a tag or an extra column only where the results have it."""
    choices: list[dict[str, Any]] = [
        {"category": "adversarial"},
        {"category": ["happy_path", "billing"]},
        {"capability": "core_function", "category": list(CATEGORIES)},
    ]
    if "tags.locale" in sliceable(rows):
        choices += [{"tags.locale": "de"}, {"tags.locale": ["fr", "pt-BR"]}]
    if "team" in sliceable(rows):
        choices.append({"team": "red team"})
    if "batch" in sliceable(rows):
        choices.append({"batch": ["1", "10"], "category": "adversarial"})
    return choices


def sliceable(rows: Sequence[Row]) -> list[str]:
    """The columns that these results can be sliced by."""
    columns = [
        name for name in ("category", "capability", "team", "cluster", "batch") if any(row.get(name) for row in rows)
    ]
    return columns + (["tags.locale"] if any((row.get("tags") or {}).get("locale") for row in rows) else [])


def settings_block(random: Random, rows: Sequence[Row]) -> Policy:
    """The part of a policy that changes scores and metrics."""
    policy: Policy = {}
    if any(isinstance(row.get("expected"), str) for row in rows) and random.randrange(4):
        policy["positive"] = "spam"
    if random.randrange(2):
        policy["pass_score"] = random.choice((0.5, 0.67, 1.0))
    if random.randrange(2):
        policy["latency_limit"] = random.choice((1000, 12.5, 8000))
    weights = {
        "by_category": random.choice(({"happy_path": 1.0, "adversarial": 2.0, "regression": 1.5}, {"billing": 0.3})),
        "by_capability": {CAPABILITIES[0]: 2.0, CAPABILITIES[1]: 0.5},
        "by_metric": {name: random.choice((1.0, 3.0, 0.1)) for name in some(random, SCORES, 1, 3)},
    }
    chosen = some(random, sorted(weights), 0, 3)
    if chosen:
        policy["weights"] = {name: weights[name] for name in chosen}
    policy |= {limit: random.choice(choices) for limit, choices in LIMIT_CHOICES.items() if not random.randrange(3)}
    # One range and one direction for a column: which of two would hold is a question for the policy's reader.
    own = one_per_column(some(random, OWN_METRICS, 0, 4))
    own = [metric for metric in own if "tags.locale" not in metric.get("where", {}) or "tags.locale" in sliceable(rows)]
    if own:
        policy["metrics"] = own
    if random.randrange(3) == 2:
        policy["composite"] = composite(random)
    if sliceable(rows) and random.randrange(2):
        policy["slices"] = some(random, sliceable(rows), 1, 3)
    if random.randrange(3) == 2:
        policy["agent_version"] = random.choice(VERSIONS)
    return policy


LIMIT_CHOICES = {"tokens_limit": (2000, 100), "cost_limit": (5, 0.5)}


def one_per_column(metrics: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """No two metrics over one column of the caller's own."""
    own = {metric["name"]: metric["name"].split("_")[0] for metric in metrics}
    first = {word: name for name, word in reversed(own.items()) if word in ("rubric", "stars", "doubt")}
    return [metric for metric in metrics if first.get(own[metric["name"]], metric["name"]) == metric["name"]]


def composite(random: Random) -> Any:
    """A composite as the guide's own text, as formula and pass rule, or as a formula alone."""
    formula, condition = random.choice(COMPOSITES), random.choice(PASSES)
    text = f"final_score = (\n    {formula}\n)\n\npass = {condition}\n"
    return random.choice(({"formula": formula, "pass": condition}, {"formula": formula}, text))


def policy_of(random: Random, rows: Sequence[Row], suite: Sequence[Any] | None = None) -> Policy:
    """A policy with at least one rule, for these rows."""
    policy = settings_block(random, rows)
    known = settings_of(rows, policy)
    group = Group(scenarios_of(rows, known, suite), known)
    metrics = [name for name in (*FORMULAS, *REPEATED) if name != "weighted_score" or known.by_metric]
    metrics = list(dict.fromkeys([*metrics, *known.metrics]))
    # Where nothing is undefined a pass is possible; a policy drawn over all metrics seldom passes.
    if random.randrange(3):
        metrics = [name for name in metrics if group.answer(name).value is not None]
    for block in some(random, sorted(BLOCKS), 1, 4):
        policy |= BLOCKS[block](random, group, rows, metrics)
    return policy


def threshold_blocks(random: Random, group: Group, rows: Sequence[Row], metrics: Sequence[str]) -> Policy:
    """`thresholds`, by level."""
    levels = some(random, ("blocking", "warning"), 1, 2)
    return {"thresholds": {level: named_thresholds(random, group, metrics) for level in levels}}


def risk_block(random: Random, group: Group, rows: Sequence[Row], metrics: Sequence[str]) -> Policy:
    """`risk`, by level."""
    levels = some(random, ("critical", "high", "medium", "low"), 1, 2)
    return {"risk": {level: named_thresholds(random, group, metrics) for level in levels}}


def named_thresholds(random: Random, group: Group, metrics: Sequence[str]) -> Policy:
    """Some metrics with thresholds, and perhaps a description as the guide has it."""
    block = {"description": "as the guide has it"} if random.randrange(2) else {}
    return block | {name: threshold(random, group, name) for name in some(random, metrics, 1, 3)}


def progressive_block(random: Random, group: Group, rows: Sequence[Row], metrics: Sequence[str]) -> Policy:
    """`progressive`, where the version is known; steps in any order, numbers compared as numbers."""
    metric = random.choice(("accuracy", "pass_rate", "recall"))
    steps = ("v1.9", "v1.0", "v1.10", "v2.1", "v3.0", "target")
    block: Policy = {"progressive": {metric: {step: threshold(random, group, metric, bare=True) for step in steps}}}
    if any(row.get("agent_version") for row in rows):
        return block
    return {"agent_version": random.choice(VERSIONS), **block}


def criteria_block(random: Random, group: Group, rows: Sequence[Row], metrics: Sequence[str]) -> Policy:
    """`pass_criteria`, overall and by category."""
    by_category = {
        category: threshold(random, group.where({"category": category}), "pass_rate")
        for category in some(random, CATEGORIES, 0, 3)
    }
    block = {"overall": threshold(random, group, "pass_rate")}
    return {"pass_criteria": block | ({"by_category": by_category} if by_category else {})}


def rule_list(random: Random, group: Group, rows: Sequence[Row], metrics: Sequence[str]) -> Policy:
    """`rules`, with `where`, `level` and `min_scenarios`."""
    rules = []
    for metric in some(random, metrics, 1, 4):
        where = random.choice(wheres(rows)) if random.randrange(2) else {}
        rule: Policy = {"metric": metric, "threshold": threshold(random, group.where(where), metric, bare=True)}
        if where:
            rule["where"] = where
        rules.append(rule | random.choice(({}, {}, {"level": "warning"}, {"level": "blocking", "min_scenarios": 3})))
    return {"rules": rules}


def scenario_blocks(random: Random, group: Group, rows: Sequence[Row], metrics: Sequence[str]) -> Policy:
    """`required_scenarios` and `optional_scenarios`, with patterns; no id is both."""
    names = sorted({row["id"] for row in rows})
    passing = [scenario.id for scenario in group.scenarios if scenario.outcome == PASSED] or names
    required = some(random, random.choice((passing, [*names, "SEC-*", "SEC-00?", "NONE-*", "ABSENT-1"])), 1, 3)
    free = [name for name in (*names, "ABSENT-2") if not any(matches(name, pattern) for pattern in required)]
    optional = some(random, [name for name in free if not set(name) & set("*?")], 0, 2)
    block: Policy = {"required_scenarios": {"description": "Must pass", "ids": required}}
    return block | ({"optional_scenarios": {"ids": optional}} if optional else {})


BLOCKS = {
    "thresholds": threshold_blocks,
    "risk": risk_block,
    "progressive": progressive_block,
    "pass_criteria": criteria_block,
    "rules": rule_list,
    "scenarios": scenario_blocks,
}


def suite_of(random: Random, rows: Sequence[Row]) -> list[Any] | None:
    """None, or the list of a suite file: what ran, or one less, or one more; as ids or as mappings."""
    names = sorted({row["id"] for row in rows})
    kind = random.choice(("none", "none", "exact", "exact", "exact", "less", "more"))
    if kind == "none":
        return None
    names = names[1:] if kind == "less" and len(names) > 1 else names
    names = [*names, "ABSENT-2"] if kind == "more" else names
    if random.randrange(3) == 2:
        return names
    demanding = bool(random.randrange(2))
    return [
        {"id": name}
        | description(random, [row for row in rows if row["id"] == name])
        | (demands(random, [row for row in rows if row["id"] == name]) if demanding else {})
        for name in names
    ]


def description(random: Random, own: Sequence[Row]) -> Row:
    """What describes a scenario, as its rows have it; what they leave open the suite may say."""
    found: Row = {}
    free: Row = {"category": random.choice(("adversarial", "billing")), "weight": 2, "tags": {"locale": "de"}}
    for column in ("category", "weight", "tags"):
        said = next((row[column] for row in own if row.get(column)), None)
        if random.randrange(2):
            found[column] = free[column] if said is None else said
    return found


def demands(random: Random, own: Sequence[Row]) -> Row:
    """What must have been looked at in every trial; never against what a row says."""
    found: Row = {}
    for column, free in (("expected_behaviors", ["greets"]), ("must_not", ["swears", "hums"]), ("expected", None)):
        said = [row[column] for row in own if row.get(column) not in (None, [], {})]
        alike = all(plain_names(one) == plain_names(said[0]) for one in said)
        if alike and not random.randrange(3):
            found[column] = (said[0] if column == "expected" else sorted(plain_names(said[0]))) if said else free
    if not random.randrange(5) and "expected" not in found:
        found["answer"] = "42"
    return {column: value for column, value in found.items() if value is not None}


def plain_names(entries: Any) -> Any:
    """The names in any of the three forms; a label as it is."""
    if not isinstance(entries, (list, dict)):
        return entries
    return {entry if isinstance(entry, str) else entry["name"] for entry in entries}
