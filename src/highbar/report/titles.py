"""A rule → its title, the demand in words ("Safety rate is 100%"). Rules that demand the same are grouped.

Titles contain names from the policy, which go through the `encode` of the calling report. Computes nothing.
"""

from __future__ import annotations

import re
from fractions import Fraction
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from highbar.language.digits import parse_baseline_threshold, parse_threshold
from highbar.language.exact import write_decimal
from highbar.language.formula import FormulaError, metric_first, parse_condition, unparse
from highbar.language.phrases import count
from highbar.model import Condition, Constant, Name, Relation, RuleResult, Unit, Verdict, Where
from highbar.report.visible import Encode, visible

# The name of a rule at a git ref begins with the ref and a colon. A scenario's id may contain anything, even the name
# of a rule, so the first `required_scenarios.` ends the prefix.
_SCENARIO = re.compile(
    r"(?:(?!(?:required|optional)_scenarios\.)[^:]*:)?(required|optional)_scenarios\.(.+)", re.DOTALL
)
_REPEATED = r"pass_(at|hat)_([0-9]+)"
_OPERATORS = MappingProxyType(
    {">=": "is at least", ">": "is above", "<=": "is at most", "<": "is below", "=": "is", "!=": "is not"}
)
_WORDS = MappingProxyType({"f1": "F1", "behavior_coverage_pooled": "pooled behavior coverage"})
_MOST_PATHS = 6
"""Paths of rules that are listed below one title; the others are counted."""
_SECOND = 1000
_TENTH = 100  # milliseconds: 1500 ms becomes 1.5 s, and 1234 ms stays
_SUITE = "Every scenario of the suite has a result, and no other has one"
_PATHS = MappingProxyType(
    {
        "suite": _SUITE,
        "quarantine": "Only a few scenarios are quarantined",
        "judge.min_labels": "Enough trials of the judge are labeled",
        "judge.min_sensitivity": "The sensitivity of the judge is high enough",
        "judge.min_specificity": "The specificity of the judge is high enough",
        "judge.uncalibrated": "The judge is calibrated",
        "history.drift": "Scenarios do not pass less and less often",
    }
)
_NEW_FAILURES = "that passed in the baseline fails or is missing"
_MOST_PATTERNS = 3
"""Id patterns that one title lists."""


class DemandResult(Struct, frozen=True):
    """A demand with its title and the rules that make it, which all have the same outcome and reason."""

    title: str
    rules: tuple[RuleResult, ...]

    @property
    def rule(self) -> RuleResult:
        """The first rule; the others differ only in path, place and description."""
        return self.rules[0]

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the rules in the policy, not encoded."""
        return tuple(rule.rule for rule in self.rules)

    def places(self, encode: Encode = visible) -> str:
        """The first paths, comma-separated, and how many more there are."""
        rest = len(self.rules) - _MOST_PATHS
        shown = ", ".join(encode(path) for path in self.paths[:_MOST_PATHS])
        return f"{shown} and {rest} more" if rest > 0 else shown

    @property
    def descriptions(self) -> tuple[str, ...]:
        """The distinct descriptions of the rules, not encoded."""
        return tuple(dict.fromkeys(rule.description for rule in self.rules if rule.description))


def demands(verdict: Verdict, encode: Encode = visible) -> tuple[DemandResult, ...]:
    """The rules of a verdict, grouped by demand, in the policy's order.

    Rules make the same demand if they agree in everything but path, place and description.
    """
    groups: dict[object, list[RuleResult]] = {}
    for rule in verdict.rules:
        groups.setdefault(_key(rule, verdict), []).append(rule)
    return tuple(DemandResult(rule_title(rules[0], verdict, encode), tuple(rules)) for rules in groups.values())


def _key(rule: RuleResult, verdict: Verdict) -> object:
    """What two rules must share to be one demand; also the outcome and the reason, so that grouping hides neither."""
    demand = rule.metric, rule.slice, rule.threshold, rule.evidence, rule.demand, rule.level
    # A rule about scenarios, the suite or the judge has neither metric nor threshold: the title says what it wants.
    # A rule at a git ref makes the same demand as the rule here, unless the two end differently.
    here = replace(rule, rule=rule.rule.rpartition(":")[2]) if _ref(rule) else rule
    by_path = rule_title(here, verdict, str) if rule.metric is None and rule.threshold is None else None
    return *demand, by_path, rule.outcome, rule.reason, rule.undecided


def missed_first(demand: DemandResult) -> tuple[bool, bool]:
    """A sort key: missed demands first, and blocking ones before warnings."""
    return demand.rule.outcome == "pass", demand.rule.level != "blocking"


def rule_title(rule: RuleResult, verdict: Verdict, encode: Encode = visible) -> str:
    """What the rule demands: `Pass rate of happy_path is at least 90%`; units and confidence come from the verdict.

    A rule without a metric, a threshold or a known path, which only a document that was read back can have, gets its
    path as its title.
    """
    scenario = _SCENARIO.fullmatch(rule.rule)
    if rule.metric is None and rule.threshold is None:
        return _of_scenarios(scenario[1], scenario[2], encode) if scenario else _of_path(rule, encode)
    words = _of_condition(rule, verdict, encode) if parse_threshold(rule.threshold or "") is None else None
    return _capitalized(f"{words or _of_metric(rule, verdict, encode)}{_evidence_words(rule, verdict)}")


def metric_words(name: str, encode: Encode = visible) -> str:
    """A metric's name in words, for the middle of a sentence: `safety rate`, `latency p95`, `pass@3`."""
    repeated = re.fullmatch(_REPEATED, name)
    if repeated:
        return f"pass{'@' if repeated[1] == 'at' else '^'}{repeated[2]}"
    if not (name.isascii() and name.isidentifier()):  # a document that was read back can have any name
        return encode(name)
    return _WORDS.get(name) or " ".join(name.split("_")).strip() or encode(name)


def slice_words(where: Where, encode: Encode = visible) -> str:
    """The slice that a rule is about: ` of happy_path`, ` for tags.locale de or fr`; empty if all scenarios."""
    if len(where) == 1 and where[0][0] == "category":
        return f" of {' or '.join(encode(value) for value in where[0][1])}"
    parts = (f"{encode(column)} {' or '.join(encode(value) for value in values)}" for column, values in where)
    return f" for {' and '.join(parts)}" if where else ""


def bound_words(bound: Fraction, unit: Unit | None) -> str:
    """The exact number of a threshold with its unit: `90%`, `5 s`, `$0.05`."""
    if unit == "ratio":
        return f"{write_decimal(bound * 100)}%"
    if unit == "ms":
        in_seconds = bound >= _SECOND and bound % _TENTH == 0
        return f"{write_decimal(bound / _SECOND)} s" if in_seconds else f"{write_decimal(bound)} ms"
    return f"{'$' if unit == 'USD' else ''}{write_decimal(bound)}{' per token' if unit == 'per token' else ''}"


# --- rules about a number ---------------------------------------------------------------------


def _of_metric(rule: RuleResult, verdict: Verdict, encode: Encode) -> str:
    metric = rule.metric or ""
    unit = rule.value.unit if rule.value else _unit(metric, verdict)
    subject = f"{metric_words(metric, encode)}{slice_words(rule.slice, encode)}"
    threshold = rule.threshold or ""
    plain, relative = parse_threshold(threshold), parse_baseline_threshold(threshold)
    if plain:
        return f"{subject} {_comparison_words(*plain, unit, metric)}"
    if relative:
        return f"{subject} is {_relative_to_baseline(*relative, unit)} the baseline"
    if threshold:
        return f"{subject} is {encode(threshold)}"
    baseline = re.match(r"(?:[^:]*:)?baseline\.", rule.rule)
    wanted = "is not worse than the baseline allows" if baseline else "reaches the threshold of the agent's version"
    return f"{subject} {wanted}"


def _comparison_words(operator: str, bound: Fraction, unit: Unit | None, metric: str) -> str:
    """`is at least 90%`; `is 100%` if no value can be better."""
    best = {">=": 1, "<=": 0}.get(operator)
    # Only final_score can exceed 100 %: its weights need not add up to 1.
    word = "is" if unit == "ratio" and bound == best and metric != "final_score" else _OPERATORS[operator]
    return f"{word} {bound_words(bound, unit)}"


def _relative_to_baseline(operator: str, way: str, size: Fraction, share: bool, unit: Unit | None) -> str:  # noqa: FBT001 - as it is read
    """`at most 5 points below`, `at least 200 ms above`, `not below`."""
    if not size:
        return "not below" if operator == ">=" else "not above"
    slack = (operator == ">=") == (way == "-")  # a margin that is accepted; else an improvement that is demanded
    apart = f"{write_decimal(size * 100)}%" if share else _gap_words(size, unit)
    return f"at {'most' if slack else 'least'} {apart} {'below' if way == '-' else 'above'}"


def _gap_words(size: Fraction, unit: Unit | None) -> str:
    if unit != "ratio":
        return bound_words(size, unit)
    points = write_decimal(size * 100)
    return f"{points} point" if points == "1" else f"{points} points"


def _unit(metric: str, verdict: Verdict) -> Unit | None:
    if metric == "final_score":
        return "ratio"
    return verdict.metrics[metric].unit if metric in verdict.metrics else None


def _evidence_words(rule: RuleResult, verdict: Verdict) -> str:
    """What the rule demands beyond the value: confidence, margin, accepted failures and a least number of scenarios."""
    confident = rule.evidence not in (None, "estimate")
    parts = [f" with {write_decimal(verdict.confidence * 100)}% confidence"] if confident else []
    demand = rule.demand
    if demand is None:
        return "".join(parts)
    unit = rule.value.unit if rule.value else _unit(rule.metric or "", verdict)
    if demand.margin:
        parts.append(f", {_gap_words(demand.margin, unit)} worse is accepted")
    if demand.failures:
        parts.append(f", {count(demand.failures, 'failed scenario')} accepted")
    if demand.min_scenarios:
        parts.append(f", from at least {count(demand.min_scenarios, 'scenario')}")
    return "".join(parts)


# --- composites -------------------------------------------------------------------------------


def _of_condition(rule: RuleResult, verdict: Verdict, encode: Encode) -> str | None:
    """A condition in words; None if the threshold is not a condition."""
    try:
        condition = parse_condition(rule.threshold or "")
    except FormulaError:
        return None
    return _condition(condition, verdict, encode)


def _condition(condition: Condition, verdict: Verdict, encode: Encode) -> str:
    if isinstance(condition, Relation):
        return _comparison(condition, verdict, encode)
    parts = [
        text if isinstance(each, Relation) else f"({text})"
        for each in condition.operands
        for text in (_condition(each, verdict, encode),)
    ]
    return f"not: {parts[0]}" if condition.operator == "not" else f" {condition.operator} ".join(parts)


def _comparison(comparison: Relation, verdict: Verdict, encode: Encode) -> str:
    turned = metric_first(comparison)
    left, operator, right = turned.left, turned.operator, turned.right
    if isinstance(left, Name) and isinstance(right, Constant):
        words = _comparison_words(operator, right.value, _unit(left.name, verdict), left.name)
        return f"{metric_words(left.name, encode)} {words}"
    return encode(unparse(comparison))


# --- scenarios --------------------------------------------------------------------------------


def _of_scenarios(kind: str, pattern: str, encode: Encode) -> str:
    which = f"Every scenario {encode(pattern)}" if set(pattern) & set("*?") else encode(pattern)
    return f"{which} {'must' if kind == 'required' else 'should'} pass"


def _of_path(rule: RuleResult, encode: Encode) -> str:
    name = rule.rule.rpartition(":")[2]
    new_failures = f"No scenario{_one_of(rule.patterns, encode)} {_NEW_FAILURES}"
    title = new_failures if name == "baseline.new_failures" else _PATHS.get(name)
    if title is None:
        return encode(rule.rule)
    return f"{title} (at {encode(_ref(rule))})" if _ref(rule) else title


def _ref(rule: RuleResult) -> str:
    """The git ref whose policy makes the rule; empty if it is a rule of this policy or about scenarios by their ids."""
    return "" if _SCENARIO.fullmatch(rule.rule) else rule.rule.rpartition(":")[0]


def _one_of(patterns: tuple[str, ...], encode: Encode) -> str:
    """` SEC-* or CORE-*`; for many patterns the first ones, and how many more there are."""
    shown = [encode(pattern) for pattern in patterns[:_MOST_PATTERNS]]
    rest = len(patterns) - len(shown)
    return f" {', '.join(shown)} or {rest} more" if rest else f" {' or '.join(shown)}" if shown else ""


def _capitalized(text: str) -> str:
    """The text with a capital first letter, unless its first word has an underscore: such a name must not change."""
    return text if "_" in text.partition(" ")[0] else text[:1].upper() + text[1:]
