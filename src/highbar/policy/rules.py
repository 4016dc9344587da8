"""Reads the rules of each block of a policy, and names them by their place in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from highbar.language.spelling import spelled_out
from highbar.language.threshold import meant
from highbar.language.threshold import read as read_threshold
from highbar.model import (
    BaselineRule,
    ConditionRule,
    Demand,
    Level,
    Metric,
    Name,
    Place,
    Policy,
    ProgressiveRule,
    Rule,
    ScenarioRule,
    Step,
    StepRule,
    Threshold,
    ThresholdRule,
    Where,
)
from highbar.policy.composite import CompositePart, check_condition, check_formula
from highbar.policy.cursor import DESCRIPTION, Cursor, read_description
from highbar.policy.directions import value_range
from highbar.policy.metrics import Definition, MetricTable
from highbar.policy.notes import time_notes
from highbar.policy.scenario_ids import matches, read_id
from highbar.policy.settings import (
    LEVELS,
    attempt_for,
    check_category,
    read_evidence,
    read_failures,
    read_level,
    read_threshold_margin,
    read_tolerate,
    read_where,
)
from highbar.policy.shapes import (
    category_hints,
    entry_hint,
    entry_text,
    is_misspelled_level,
    read_rule,
    refuse_between_levels,
)
from highbar.policy.versions import HINT, Ordered, order

DEMAND_KEYS = ("evidence", "spending", "horizon", "margin", "tolerate", "failures", "min_scenarios", "description")
THRESHOLD_KEYS = ("threshold", *DEMAND_KEYS)
RULE_KEYS = ("metric", "where", "level", *THRESHOLD_KEYS)
THRESHOLDS_KEYS = ("blocking", "warning", "description")
RISK_KEYS = ("critical", "high", "medium", "low", "description")
PASS_CRITERIA_KEYS = ("overall", "by_category", "description")
SCENARIOS_KEYS = ("ids", "description")
RISK_LEVELS: dict[str, Level] = {"critical": "blocking", "high": "blocking", "medium": "warning", "low": "warning"}
TARGET = "target"


class Bar(Struct, frozen=True):
    """A threshold as read from a policy, with its demands on the evidence."""

    threshold: Threshold
    demand: Demand
    description: str | None
    place: Place

    def rule(self, name: str, level: Level, metric: str, place: Place, where: Where = ()) -> ThresholdRule:
        """The rule that a metric meets this bar."""
        return ThresholdRule(
            name, level, metric, self.threshold, where, self.demand, self.description, place, self.place
        )


class RuleReader(Struct):
    """Reads rules, with the settings and metrics of their policy."""

    settings: Policy
    demand: Demand  # that of every rule without its own
    table: MetricTable
    notes: list[str] = field(default_factory=list)
    """Notes that need the text of a threshold, such as on a time without a unit."""

    def thresholds(self, cursor: Cursor) -> list[Rule]:
        """`thresholds.blocking.M` and `thresholds.warning.M`. Metrics directly below `thresholds` block."""
        keys = {key.text for key, _ in cursor.node.entries} - {DESCRIPTION}
        if keys and keys.isdisjoint(LEVELS):
            entries = cursor.metrics().items()
            return [rule for name, entry in entries if (rule := self._flat_rule(entry, name))]
        fields = cursor.entries()
        for key in [key for key in fields if key not in LEVELS]:
            self._refuse_beside_levels(fields.pop(key), key)
        return self._by_level(fields, {level: level for level in LEVELS})

    def _flat_rule(self, entry: Cursor, name: str) -> Rule | None:
        if name not in self.table.broken and not self.table.find(name) and is_misspelled_level(entry, name, LEVELS):
            self._refuse_beside_levels(entry, name)
            return None
        return self._rule(entry, f"thresholds.blocking.{name}", "blocking", name)

    def _refuse_beside_levels(self, entry: Cursor, name: str) -> None:
        if self.table.find(spelled_out(name)):
            refuse_between_levels(entry, name, LEVELS)
            return
        known = f"known: {', '.join(THRESHOLDS_KEYS)}, or the name of a metric"
        hint = f"put it under risk: {name}" if name in RISK_LEVELS else entry.suggest(name, LEVELS) or known
        replace(entry, path="thresholds").refuse("policy.unknown-key", f"unknown key '{name}'", hint, at=entry.key_at)

    def risk(self, cursor: Cursor) -> list[Rule]:
        """`risk.LEVEL.M`: critical and high block, medium and low warn."""
        metrics = (key.text for key, _ in cursor.node.entries if self.table.find(spelled_out(key.text)))
        hint = "put it under critical or high, which block, or under medium or low, which warn"
        return self._by_level(cursor.fields(RISK_KEYS, lambda: dict.fromkeys(metrics, hint)), RISK_LEVELS)

    def _by_level(self, fields: Mapping[str, Cursor], levels: Mapping[str, Level]) -> list[Rule]:
        read_description(fields)
        return [
            rule
            for key, level in levels.items()
            if key in fields
            for name, entry in fields[key].metrics().items()
            if (rule := self._rule(entry, entry.path, level, name))
        ]

    def progressive(self, cursor: Cursor) -> list[Rule]:
        """`progressive.M`: steps by version, and the target, which is a goal, not a rule."""
        entries = cursor.metrics().items()
        return [rule for name, entry in entries if (rule := self._progressive_rule(entry, name))]

    def _progressive_rule(self, cursor: Cursor, name: str) -> Rule | None:
        metric = self.table.look_up(cursor, name)
        if cursor.is_kind("text", "number"):
            value = entry_text(cursor)
            hint = f"write {{ v1.0: {value} }}, or put it under thresholds if it is the same for every version"
            cursor.refuse_kind("thresholds by version", hint)
            return None
        entries = cursor.entries(keep_description=True)
        description = entries.pop("description").text() if "description" in entries else None
        target = next((key for key in entries if key.lower() == TARGET), None)
        goal = self.bar(entries.pop(target), metric) if target else None
        steps = self._steps(entries, metric)
        if not entries and cursor.is_kind("mapping"):
            cursor.refuse("policy.missing-key", "no step of a version", "v1.0: ≥ 80%")
        if metric is None or not steps:
            return None
        goal_threshold = goal.threshold if goal else None
        return ProgressiveRule(cursor.path, "blocking", name, tuple(steps), goal_threshold, description, cursor.place)

    def _steps(self, entries: Mapping[str, Cursor], metric: Metric | None) -> list[Step]:
        steps: list[tuple[Ordered, Step]] = []
        seen: dict[Ordered, str] = {}
        for version, entry in entries.items():
            ordered = order(version)
            bar = self.bar(entry, metric)
            if ordered is None:
                entry.refuse(
                    "version.unreadable", f"'{version}' is not a version", f"{HINT}; or the word target", entry.key_at
                )
            elif ordered in seen:
                entry.refuse(
                    "policy.duplicate-key", f"'{version}' is the same version as '{seen[ordered]}'", at=entry.key_at
                )
            else:
                seen[ordered] = version
                if bar:
                    steps.append((ordered, Step(version, bar.threshold, bar.demand, bar.description, bar.place)))
        return [step for _, step in sorted(steps, key=lambda pair: pair[0])]

    def pass_criteria(self, cursor: Cursor) -> list[Rule]:
        """`pass_criteria.overall` and `pass_criteria.by_category.C`, on the pass rate."""
        if cursor.is_kind("text", "number"):
            overall = self._rule(cursor, "pass_criteria.overall", "blocking", "pass_rate")
            return [overall] if overall else []
        fields = cursor.fields(PASS_CRITERIA_KEYS, lambda: category_hints(cursor, PASS_CRITERIA_KEYS))
        read_description(fields)
        rules = []
        if "overall" in fields:
            rules.append(self._rule(fields["overall"], "pass_criteria.overall", "blocking", "pass_rate"))
        for category, entry in (fields["by_category"].entries() if "by_category" in fields else {}).items():
            check_category(entry, category, self.settings.allow_categories, entry.key_at)
            where = (("category", (category,)),)
            rules.append(self._rule(entry, entry.path, "blocking", "pass_rate", where))
        return [rule for rule in rules if rule]

    def listed(self, cursor: Cursor) -> list[Rule]:
        """`rules[N]`."""
        if not cursor.is_kind("list"):
            cursor.refuse_kind("a list", 'write a list: rules: ["accuracy >= 90%"]; or use thresholds')
            return []
        read = (
            self._written_rule(item) if item.is_kind("text") else self._listed_rule(item) for item in cursor.items()
        )
        return [rule for rule in read if rule]

    def _written_rule(self, item: Cursor) -> Rule | None:
        """A rule in one text: `accuracy >= 90%`."""
        written = read_rule(item)
        if written is None:
            return None
        name, at, threshold = written
        bar = self.bar(threshold, self.table.look_up(item, name, at))
        return bar.rule(item.path, "blocking", name, item.place) if bar else None

    def _listed_rule(self, item: Cursor) -> Rule | None:
        fields = item.fields(RULE_KEYS, lambda: self._entry_hints(item))
        level = read_level(fields)
        where = read_where(fields.get("where"), self.settings)
        for key in ("metric", "threshold"):
            if key not in fields and item.is_kind("mapping"):
                item.refuse("policy.missing-key", f"a rule without a {key}")
        name = spelled_out((fields["metric"].text() if "metric" in fields else None) or "")
        metric = self.table.look_up(fields["metric"], name, fields["metric"].place) if name else None
        if "threshold" not in fields:
            self._demand(fields, metric)
            return None
        bar = self.bar(fields["threshold"], metric, fields)
        return bar.rule(item.path, level, name, item.place, where) if bar else None

    def _entry_hints(self, item: Cursor) -> dict[str, str]:
        """For each key of a rule that is the name of a metric, a hint how to write that rule."""
        found = {
            key: (entry, metric)
            for key in (key.text for key, _ in item.node.entries)
            if (entry := item.child(key)) and (metric := self.table.find(spelled_out(key)))
        }
        return {key: entry_hint(entry, key, metric) for key, (entry, metric) in found.items()}

    def typical(self, definitions: Iterable[Definition], others: Iterable[Rule], judged: frozenset[str]) -> list[Rule]:
        """`metrics.M.typical_threshold`: a warning, unless another rule is about that metric or it is in `judged`."""
        about_a_metric = ThresholdRule | ProgressiveRule | BaselineRule | StepRule
        named = judged | {rule.metric for rule in others if isinstance(rule, about_a_metric)}
        for threshold in self.table.unread:
            self.bar(threshold, None)
        rules = []
        for definition in definitions:
            cursor, name = definition.typical_threshold, definition.metric.name
            rule = self._rule(cursor, f"metrics.{name}.typical_threshold", "warning", name) if cursor else None
            if rule and name not in named:
                rules.append(rule)
        return rules

    def composite(self, part: CompositePart) -> list[Rule]:
        """`composite.pass`."""
        if part.definition is not None:
            check_formula(part.definition, self.table)
        demand, description = self._demand(part.fields or {}, None)
        if part.condition is None or part.cursor is None:
            return []
        check_condition(part.cursor, part.condition, self.table)
        return [
            ConditionRule(
                "composite.pass", "blocking", part.condition, part.text, demand, description, part.cursor.place
            )
        ]

    def baseline(self, cursor: Cursor, folder: Path, scenarios: list[Rule]) -> list[Rule]:
        """The rules of the block `baseline`; `scenarios` has the rules about required and optional scenarios."""
        from highbar.policy.baseline import BaselineReader  # few policies have one

        return BaselineReader(self.settings, self.table, self._demand, scenarios).read(cursor, folder)

    def _rule(self, cursor: Cursor, name: str, level: Level, metric_name: str, where: Where = ()) -> Rule | None:
        bar = self.bar(cursor, self.table.look_up(cursor, metric_name))
        return bar.rule(name, level, metric_name, cursor.place, where) if bar else None

    def bar(self, cursor: Cursor, metric: Metric | None, outer: Mapping[str, Cursor] | None = None) -> Bar | None:
        """A threshold as text, as a number, or as a mapping with demands; `outer` has the demands beside it.

        If `metric` is None, which is a problem already, everything is read for its own problems.
        """
        fields = {key: value for key, value in (outer or {}).items() if key in DEMAND_KEYS}
        if cursor.is_kind("mapping"):
            for key, value in cursor.fields(THRESHOLD_KEYS).items():
                if key in fields:
                    value.refuse("policy.duplicate-key", f"'{key}' is given twice", "keep one of the two")
                fields[key] = value
            if "threshold" not in fields:
                cursor.refuse("policy.missing-key", "no threshold", "threshold: ≥ 95%")
        else:
            fields["threshold"] = cursor
        demand, description = self._demand(fields, metric)
        threshold = _read_threshold(fields["threshold"], metric) if "threshold" in fields else None
        if threshold and metric:
            self.notes.extend(time_notes(fields["threshold"], threshold.value if metric.unit == "ms" else None))
            _check_margin(fields, threshold, demand, metric)
        return Bar(threshold, demand, description, fields["threshold"].place) if threshold else None

    def _demand(self, fields: Mapping[str, Cursor], metric: Metric | None) -> tuple[Demand, str | None]:
        demand = read_evidence(fields, self.demand)
        read = {
            "margin": read_threshold_margin(fields["margin"], metric) if "margin" in fields else None,
            "tolerate": read_tolerate(fields["tolerate"]) if "tolerate" in fields else None,
            "min_scenarios": fields["min_scenarios"].whole_number(1) if "min_scenarios" in fields else None,
            "failures": read_failures(fields["failures"], demand.evidence) if "failures" in fields else None,
        }
        demand = replace(demand, **{key: value for key, value in read.items() if value is not None})
        return demand, read_description(fields)


def _check_margin(fields: Mapping[str, Cursor], threshold: Threshold, demand: Demand, metric: Metric) -> None:
    """Refuse a margin that accepts any value, and `failures` beside a threshold that is not 100 %, or not with it."""
    moved = threshold.less(demand.margin, metric.better)
    low, high = value_range(Name(metric.name), {metric.name: metric})
    leaves_nothing = (
        low is not None and moved.value <= low < threshold.value
        if metric.better == "higher"
        else high is not None and moved.value >= high > threshold.value
    )
    if leaves_nothing:
        fields["margin"].refuse(
            "threshold.constant", "this margin leaves nothing of its threshold", "give a smaller one"
        )
    if demand.failures and not moved.is_perfection(metric.better):
        wanted = "a threshold of 100%, or of 0% if lower is better"
        found = f"{threshold.text}{' with a margin' if demand.margin else ''}"
        fields["failures"].refuse(
            "policy.conflict", f"failures needs {wanted}, found {found}", "use `margin`, or write 100%"
        )


def scenario_rules(required: Cursor | None, optional: Cursor | None) -> list[Rule]:
    """`required_scenarios.ID` (blocking) and `optional_scenarios.ID` (warning). An id that is both is a problem."""
    blocking = _scenario_rules(required, "blocking")
    warning = _scenario_rules(optional, "warning")
    for rule, item in warning:
        both = next((each for each, _ in blocking if _either_matches(each.pattern, rule.pattern)), None)
        if both:
            item.refuse(
                "policy.conflict",
                f"'{rule.pattern}' is required as well (as '{both.pattern}')",
                "keep it in one of the two",
            )
    return [rule for rule, _ in (*blocking, *warning)]


def _scenario_rules(cursor: Cursor | None, level: Level) -> list[tuple[ScenarioRule, Cursor]]:
    if cursor is None:
        return []
    if cursor.is_kind("text", "number"):
        cursor.refuse_kind("a list of ids", f"write {cursor.path}: [{cursor.node.text[:60]}]")
        return []
    fields = {"ids": cursor} if cursor.is_kind("list") else cursor.fields(SCENARIOS_KEYS)
    description = read_description(fields)
    if "ids" not in fields:
        if cursor.is_kind("mapping"):
            cursor.refuse("policy.missing-key", "no ids", "ids: [SEC-001, SEC-002]")
        return []
    found = fields["ids"].texts(read_id)
    if fields["ids"].is_kind("list") and not fields["ids"].node.items:
        fields["ids"].refuse("policy.empty-value", "the list is empty")
    return [(ScenarioRule(f"{cursor.path}.{text}", level, text, description, item.place), item) for text, item in found]


def _either_matches(first: str, second: str) -> bool:
    return matches(first, second) or matches(second, first)


def _read_threshold(cursor: Cursor, metric: Metric | None) -> Threshold | None:
    if cursor.node.block:
        value = meant(cursor.node.text, metric.unit if metric else "ratio") or "90%"
        sign = "≤" if metric and metric.better == "lower" else "≥"
        hint = f"write it on one line, in quotes or as {sign} {value.lstrip('≥≤ ')}"
        cursor.refuse(
            "yaml.unquoted", "found a block of text, wanted a threshold; YAML starts one at an unquoted >", hint
        )
        return None
    text = cursor.scalar("a threshold, such as ≥ 95%")
    return None if text is None else attempt_for(cursor, metric, lambda known: read_threshold(text, known))
