"""The oracle's second half: a policy as a plain dict becomes rules, and rules over metrics become a verdict."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tests.oracle.formulas import FORMULAS, columns_in, names_in
from tests.oracle.oracle import (
    REPEATED,
    UNITS,
    Answer,
    Group,
    UndefinedError,
    lower_is_better,
)
from tests.oracle.scenarios import DEMANDS, FAILED, PASSED, UNDECIDED, Scenario, scenarios_of
from tests.oracle.trials import LIMITS, Column, Row, Settings, Trial, exact, forbidden_names, observed_names

COMPARE: dict[str, Callable[[Fraction, Fraction], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "=": operator.eq,
}
TYPICAL = {
    "pass_rate": "≥ 85%",
    "accuracy": "≥ 95%",
    "precision": "≥ 90%",
    "recall": "≥ 85%",
    "safety_rate": "100%",
    "behavior_coverage": "≥ 90%",
    "latency_p95": "< 5000ms",
}
RISK = {"critical": "blocking", "high": "blocking", "medium": "warning", "low": "warning"}
FINAL_SCORE = "final_score"


@dataclass(frozen=True)
class Bound:
    """A threshold: an operator and an exact number in the metric's unit."""

    operator: str
    value: Fraction

    def met_by(self, value: Fraction) -> bool:
        """Whether a value reaches it, exactly."""
        return COMPARE[self.operator](value, self.value)


@dataclass(frozen=True)
class RuleOutcome:
    """What became of one rule."""

    level: str
    outcome: str
    metric: str | None = None
    bound: Bound | None = None
    answer: Answer | None = None


@dataclass(frozen=True)
class Judgment:
    """What the product must say of these rows under this policy."""

    verdict: str
    counts: Mapping[str, int]
    whole: Group
    slices: Mapping[tuple[str, str], Group]
    rules: Mapping[str, RuleOutcome]
    failed: frozenset[str]
    undecided: frozenset[str]


def judge(rows: Sequence[Row], policy: Mapping[str, Any] | None, suite: Sequence[Any] | None = None) -> Judgment:
    """The verdict over `rows`; `policy` None means the guide's typical thresholds; `suite` is the suite file's list."""
    settings = settings_of(rows, policy or {})
    scenarios = scenarios_of(rows, settings, suite)
    whole = Group(scenarios, settings)
    rules = dict(default_rules(whole) if policy is None else policy_rules(whole, policy, rows, suite))
    states = [state for s in scenarios for state in s.states]
    failed = frozenset(s.id for s in scenarios if s.outcome == FAILED)
    undecided = frozenset(s.id for s in scenarios if s.outcome == UNDECIDED)
    counts = {
        "scenarios": len(scenarios),
        "trials": len(rows),
        "errors": sum(1 for row in rows if row.get("error")),
        "unjudged": sum(1 for row in rows if row.get("unjudged")),
        "undecided": states.count(UNDECIDED),
        "failed": len(failed),
    }
    slices = {
        (column, value): whole.where({column: value})
        for column in (policy or {}).get("slices", ())
        for value in sorted({s.column(column) for s in scenarios if s.column(column) is not None})
    }
    return Judgment(verdict_of(rules), counts, whole, slices, rules, failed, undecided)


def verdict_of(rules: Mapping[str, RuleOutcome]) -> str:
    """fail, else inconclusive, else pass; only blocking rules count."""
    outcomes = {rule.outcome for rule in rules.values() if rule.level == "blocking"}
    if outcomes & {"fail", "undefined"}:
        return "fail"
    return "inconclusive" if "inconclusive" in outcomes else "pass"


# --- reading a policy ----------------------------------------------------------------------------


def settings_of(rows: Sequence[Row], policy: Mapping[str, Any]) -> Settings:
    """What of the policy changes scores and metrics."""
    given: dict[str, Any] = {
        name: {key: exact(weight) for key, weight in described(block)}
        for name, block in described(policy.get("weights", {}))
    }
    metrics = {metric["name"]: metric for metric in policy.get("metrics", ())}
    if "composite" in policy:
        metrics[FINAL_SCORE] = {"name": FINAL_SCORE, "formula": composite_of(policy)[0], "range": "0-100%"}
    settings = Settings(positive=policy.get("positive"), metrics=metrics)
    given |= {name: exact(policy[name]) for name in ("pass_score", "latency_limit") if name in policy}
    given["limits"] = {column: exact(policy[name]) for column, name in LIMITS.items() if name in policy}
    given["own_columns"] = own_columns(metrics)
    if settings.positive is not None:
        given["labels"] = frozenset(row["expected"] for row in rows if isinstance(row.get("expected"), str))
    return replace(settings, output_column=any("output" in row for row in rows), **given)


CATALOGUE_COLUMNS = {"latency_ms", "tokens_used", "cost_usd", "quality_score", "passed", "error", "violated", "correct"}
CATALOGUE_COLUMNS |= {"behavior_score"}


def own_columns(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Column]:
    """The caller's own number columns that a metric uses.

    A metric that is exactly a mean or a percentile of one says its range and direction.
    """
    found: dict[str, Column] = {}
    for metric in metrics.values():
        for column in columns_in(metric["formula"]):
            if column in CATALOGUE_COLUMNS:
                continue
            bare = re.fullmatch(r"mean\(\w+\)|percentile\(\w+,\s*[0-9.]+%?\)", metric["formula"])
            before = found.get(column, Column())
            if bare:
                before = Column(range_of(metric) or before.range, metric.get("better") == "lower")
            found[column] = before
    return found


def range_of(metric: Mapping[str, Any]) -> tuple[Fraction, Fraction] | None:
    """`0-100%`, `0-1` or `1-5` as its two ends."""
    if "range" not in metric:
        return None
    if metric["range"] == "0-100%":
        return Fraction(0), Fraction(1)
    low, high = metric["range"].split("-")
    return Fraction(low), Fraction(high)


def composite_of(policy: Mapping[str, Any]) -> tuple[str, str | None]:
    """The composite's formula and its pass rule, from the mapping or from the guide's own text."""
    composite = policy["composite"]
    if isinstance(composite, str):
        formula, condition = re.fullmatch(r"\s*final_score\s*=(.*?)pass\s*=(.*)", composite, re.DOTALL).groups()  # type: ignore[union-attr]
        return " ".join(formula.split()), " ".join(condition.split())
    return composite["formula"], composite.get("pass")


def unit_and_direction(name: str, settings: Settings) -> tuple[str, bool]:
    """A metric's unit, and whether lower is better."""
    own, lower = settings.metrics.get(name), lower_is_better(name, settings)
    if own is None:
        return ("ratio" if REPEATED.fullmatch(name) else UNITS[name]), lower
    unit = (
        "ratio"
        if own.get("range") in ("0-100%", "0-1")
        else "ms"
        if own.get("unit") in ("milliseconds", "ms")
        else "number"
    )
    return unit, lower


def read_threshold(given: Any, unit: str, *, lower: bool) -> Bound:
    """A threshold in any of its forms; without an operator it takes the good direction, equality passing."""
    given = given["threshold"] if isinstance(given, Mapping) else given
    sign = "<=" if lower else ">="
    if not isinstance(given, str):
        value = exact(given)
        return Bound(sign, value / 100 if unit == "ratio" and value > 1 else value)
    found = re.fullmatch(r"\s*(>=|≥|<=|≤|>|<|=)?\s*([0-9]+(?:\.[0-9]+)?)\s*(%|ms|s)?\s*", given)
    assert found is not None, given
    scale = {"%": Fraction(1, 100), "s": Fraction(1000)}.get(found[3] or "", Fraction(1))
    return Bound({"≥": ">=", "≤": "<=", None: sign}.get(found[1], found[1]), Fraction(found[2]) * scale)


# --- rules ---------------------------------------------------------------------------------------

Rules = Iterator[tuple[str, RuleOutcome]]


def threshold_rule(group: Group, level: str, metric: str, given: Any, where: Any = None) -> RuleOutcome:
    """One metric against one threshold. Too few scenarios take away a pass; they never excuse a miss."""
    unit, lower = unit_and_direction(metric, group.settings)
    bound = read_threshold(given, unit, lower=lower)
    least = given.get("min_scenarios", 0) if isinstance(given, Mapping) else 0
    chosen = group.where(where)
    answer = chosen.answer(metric)
    best = answer.best if answer.undecided else answer.value
    enough = answer.scenarios >= least
    ends = [value_outcome(value, bound, enough=enough) for value in (answer.value, best)]
    outcome = combined(*ends, is_not_judged=chosen.at_best.is_not_judged(metric))
    return RuleOutcome(level, outcome, metric, bound, answer)


def value_outcome(value: Fraction | None, bound: Bound, *, enough: bool) -> str:
    """A value against a threshold."""
    if value is None:
        return "undefined"
    if not bound.met_by(value):
        return "fail"
    return "pass" if enough else "inconclusive"


def combined(worst: str, best: str, *, is_not_judged: bool) -> str:
    """A rule computed twice: pass in both is pass, in one inconclusive, in neither what it is at worst.

    But if it is undefined even at best because trials were not judged, and for no other reason, nobody knows.
    """
    passes = [worst, best].count("pass")
    if passes == 0 and best == "undefined" and is_not_judged:
        return "inconclusive"
    return worst if passes in (0, 2) else "inconclusive"


def default_rules(group: Group) -> Rules:
    """Without a policy: the guide's typical thresholds, for the metrics that have data."""
    for metric, threshold in TYPICAL.items():
        if group.answer(metric).scenarios:
            level = "warning" if metric == "latency_p95" else "blocking"
            yield f"default.{metric}", threshold_rule(group, level, metric, threshold)


def policy_rules(
    group: Group, policy: Mapping[str, Any], rows: Sequence[Row], suite: Sequence[Any] | None = None
) -> Rules:
    """Every rule of a policy, by name."""
    thresholds = list(written_thresholds(policy, version_of(policy, rows)))
    for name, level, metric, given, where in thresholds:
        yield name, threshold_rule(group, level, metric, given, where)
    for metric in policy.get("metrics", ()):
        if "typical_threshold" in metric and metric["name"] not in {named for _, _, named, _, _ in thresholds}:
            rule = threshold_rule(group, "warning", metric["name"], metric["typical_threshold"])
            yield f"metrics.{metric['name']}.typical_threshold", rule
    for block, level in (("required_scenarios", "blocking"), ("optional_scenarios", "warning")):
        for pattern in policy.get(block, {}).get("ids", ()):
            yield f"{block}.{pattern}", RuleOutcome(level, scenario_outcome(group.scenarios, pattern))
    if "composite" in policy and composite_of(policy)[1]:
        yield "composite.pass", RuleOutcome("blocking", composite_outcome(group, composite_of(policy)[1] or ""))
    if suite is not None:
        optional = policy.get("optional_scenarios", {}).get("ids", ())
        yield "suite", RuleOutcome("blocking", suite_outcome(group.scenarios, suite, optional))


def written_thresholds(policy: Mapping[str, Any], version: str | None) -> Iterator[tuple[str, str, str, Any, Any]]:
    """(rule, level, metric, threshold, where) of every threshold in the policy."""
    for level in ("blocking", "warning"):
        for metric, given in described(policy.get("thresholds", {}).get(level, {})):
            yield f"thresholds.{level}.{metric}", level, metric, given, None
    for risk, level in RISK.items():
        for metric, given in described(policy.get("risk", {}).get(risk, {})):
            yield f"risk.{risk}.{metric}", level, metric, given, None
    for metric, steps in described(policy.get("progressive", {})):
        assert version is not None
        yield f"progressive.{metric}", "blocking", metric, step_for(version, steps), None
    criteria = policy.get("pass_criteria", {})
    if "overall" in criteria:
        yield "pass_criteria.overall", "blocking", "pass_rate", criteria["overall"], None
    for category, given in described(criteria.get("by_category", {})):
        yield f"pass_criteria.by_category.{category}", "blocking", "pass_rate", given, {"category": category}
    for number, rule in enumerate(policy.get("rules", ())):
        yield f"rules[{number}]", rule.get("level", "blocking"), rule["metric"], rule, rule.get("where")


def described(block: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The entries of a block without its description."""
    return ((name, given) for name, given in block.items() if name != "description")


def version_of(policy: Mapping[str, Any], rows: Sequence[Row]) -> str | None:
    """The policy's version, else the results' own."""
    if "agent_version" in policy:
        return str(policy["agent_version"])
    return next((row["agent_version"] for row in rows if row.get("agent_version") is not None), None)


def step_for(version: str, steps: Mapping[str, Any]) -> Any:
    """The highest step at or below the version; below the first, the first. The target is no step."""
    numbered = sorted((version_key(step), given) for step, given in described(steps) if step.lower() != "target")
    reached = [given for key, given in numbered if key <= version_key(version)]
    return reached[-1] if reached else numbered[0][1]


def version_key(version: str) -> tuple[int, ...]:
    """v2.0 and 2.0.0 are one version; 1.10 comes after 1.9."""
    numbers = [int(part) for part in version.lower().removeprefix("v").split(".")]
    return tuple(numbers + [0] * (5 - len(numbers)))


def scenario_outcome(scenarios: Sequence[Scenario], pattern: str) -> str:
    """Whether at least one scenario matches, and all that match pass every trial."""
    outcomes = {s.outcome for s in scenarios if matches(s.id, pattern)}
    if outcomes == {PASSED}:
        return "pass"
    return "inconclusive" if UNDECIDED in outcomes and FAILED not in outcomes else "fail"


def matches(name: str, pattern: str) -> bool:
    """`*` is any text, `?` any one character, all else itself."""
    escaped = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(escaped, name, re.DOTALL) is not None


def composite_outcome(group: Group, condition: str) -> str:
    """The condition with undecided trials at their worst, and at their best; and nowhere in between may it fail."""
    ends = condition_outcome(group, condition), condition_outcome(group.at_best, condition)
    outcome = combined(*ends, is_not_judged=group.at_best.is_not_judged(condition))
    if outcome == "pass" and any(condition_outcome(mixed, condition) != "pass" for mixed in group.mixed(condition)):
        return "inconclusive"
    return outcome


def condition_outcome(group: Group, condition: str) -> str:
    """Conditions joined by AND: one that fails decides; else one that is undefined does."""
    outcomes = set()
    for part in re.split(r"\bAND\b", condition):
        try:
            outcomes.add("pass" if group.evaluate(part) else "fail")
        except UndefinedError:
            outcomes.add("undefined")
    return next(outcome for outcome in ("fail", "undefined", "pass") if outcome in outcomes)


LISTS = ("expected_behaviors", "must_not")


def suite_outcome(scenarios: Sequence[Scenario], suite: Sequence[Any], optional: Sequence[str]) -> str:
    """Every scenario of the suite must have a result, as the suite describes it, and no other may have one.

    The absence of an optional one only warns. What the suite demands must have been looked at in every trial, one
    with an error too (a run has looked at all that there was); an unjudged one leaves it open.
    """
    wanted = {entry if isinstance(entry, str) else entry["id"]: entry for entry in suite}
    present = {s.id for s in scenarios}
    excused = {name for name in wanted if any(matches(name, pattern) for pattern in optional)}
    if not present <= set(wanted) or not set(wanted) - excused <= present:
        return "fail"
    looked = {looked_at(s, trial) for s in scenarios for trial in s.trials}
    return next(outcome for outcome in ("fail", "inconclusive", "pass") if outcome in looked)


def looked_at(scenario: Scenario, trial: Trial) -> str:
    """Whether one trial was checked for everything that the suite demands of its scenario."""
    demands = {name: scenario.demands.get(name) for name in DEMANDS}
    violations = trial.row.get("violations") or ()
    is_number = isinstance(violations, int)
    seen = observed_names(trial.row.get("behaviors")) & forbidden_names(demands["must_not"])
    if not is_number and seen - trial.must_not - set(violations):
        return "fail"  # the row contradicts the suite: it saw this, and does not count it
    if any(
        not forbidden_names(demands[name]) <= forbidden_names(trial.row[name]) for name in LISTS if trial.says(name)
    ):
        return "fail"  # and so it does if it lists less
    if trial.unjudged:
        return "inconclusive"
    if trial.error and trial.says("highbar_run"):
        return "pass"  # a run has looked at all that there was
    checked = {
        "expected_behaviors": trial.says("behaviors"),
        "must_not": trial.says("violations", "behaviors") or says_what_happened(trial, demands["must_not"]),
        "expected": trial.says("predicted", "correct", "expected"),
        "answer": trial.says("correct"),
    }
    demanded = [name for name, demand in demands.items() if demand is not None and demand != []]
    return "pass" if all(checked[name] for name in demanded) else "fail"


def says_what_happened(trial: Trial, demanded: Any) -> bool:
    """Whether the row's own `must_not` says it of everything that the suite lists."""
    return trial.must_nots_marked and forbidden_names(demanded) <= trial.must_not


def metric_names(policy: Mapping[str, Any] | None, settings: Settings) -> list[str]:
    """The catalogue, the policy's own metrics, and every pass_at_K and pass_hat_K that it names.

    weighted_score is only there where the policy weighs metrics.
    """
    texts = [text for metric in settings.metrics.values() for text in names_in(metric["formula"], settings)]
    texts += [metric for _, _, metric, _, _ in written_thresholds(policy or {}, "0")]
    repeated = sorted({text for text in texts if REPEATED.fullmatch(text)})
    catalogue = [name for name in FORMULAS if name != "weighted_score" or settings.by_metric]
    return list(dict.fromkeys([*catalogue, *settings.metrics, *repeated]))
