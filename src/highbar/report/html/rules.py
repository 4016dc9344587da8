"""Every demand: its outcome, title and value, and a chart of the value, its interval and the threshold.

All demands with the same unit share an axis, so that their dots can be compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from highbar.language.digits import (
    amount,
    bounds_by_metric,
    parse_baseline_threshold,
    parse_threshold,
    rule_bounds,
    show,
    show_threshold,
)
from highbar.language.phrases import count
from highbar.model import RuleResult, Unit, Value, Verdict
from highbar.model.comparison import Difference
from highbar.model.details import ConditionPart, Details
from highbar.report.early_words import at_stopping
from highbar.report.failures import failure_filter
from highbar.report.html.axis import Axis
from highbar.report.html.charts import axis_scale, change_line, demand_line, shared_axis
from highbar.report.html.markup import EMPTY, Markup, element, join, to_markup
from highbar.report.html.parts import badge, code, for_screen_readers, named_section
from highbar.report.reruns import is_close, rerun_words
from highbar.report.titles import DemandResult, demands
from highbar.report.value_words import accepted_words, missing_words, short_reason, uncorrected_words
from highbar.report.visible import revealed

Axes = Mapping[Unit, Axis]
_EMPTY_DETAILS = Details()


def rules(verdict: Verdict) -> Markup:
    """The section: missed demands, warnings, demands that are met narrowly, and the other met demands folded."""
    found = demands(verdict, to_markup)
    if not found:
        return EMPTY
    table = _DemandTables(verdict, _axes(verdict))
    missed = [each for each in found if each.rule.outcome != "pass"]
    met = [each for each in found if each.rule.outcome == "pass"]
    clear = [each for each in met if not is_close(each.rule)]
    groups = (
        ("Not met", [each for each in missed if each.rule.level == "blocking"]),
        ("Warnings", [each for each in missed if each.rule.level == "warning"]),
        ("Met, but narrowly: a re-run may end differently", [each for each in met if is_close(each.rule)]),
    )
    shown = [(f"{name} ({_group_size(group, name)})", group) for name, group in groups if group]
    return named_section(
        "Demands",
        "rules",
        _legend(verdict) if table.axes or verdict.details else EMPTY,
        table.markup(shown) if shown else EMPTY,
        _folded(table, clear) if clear else EMPTY,
    )


def _legend(verdict: Verdict) -> Markup:
    """The legend of the charts."""
    bounds = f"{amount(verdict.confidence, 'ratio', [verdict.confidence])} bounds"
    marks = f"dot: measured value (diamond: not met, ring: undecided); line: its {bounds}"
    return element("p", f"{marks}; stroke: threshold; green: accepted", class_="dim legend")


def _group_size(group: Sequence[DemandResult], name: str) -> str:
    """`15, and 4 of level warning`: separate counts, because the headline counts only blocking demands."""
    warn = sum(each.rule.level == "warning" for each in group)
    if not warn or name == "Warnings":
        return str(len(group))
    return f"{len(group) - warn}, and {warn} of level warning" if warn < len(group) else f"{warn} of level warning"


def look(rule: RuleResult) -> str:
    """The CSS class in which a rule is drawn."""
    if rule.outcome == "pass":
        return "fragile" if is_close(rule) else "met"
    if rule.outcome == "fail":
        return "missed" if rule.level == "blocking" else "warned"
    return "inconclusive"


def _folded(table: _DemandTables, clear: Sequence[DemandResult]) -> Markup:
    blocking = sum(each.rule.level == "blocking" for each in clear)
    more = f", and {len(clear) - blocking} of level warning" if blocking < len(clear) else ""
    summary = f"{count(blocking, 'demand')} {'is' if blocking == 1 else 'are'} met{more}"
    return element("details", element("summary", summary), table.markup([("", clear)]), class_="met")


def _axes(verdict: Verdict) -> Axes:
    """One axis for each unit, long enough for every value, interval and threshold."""
    details = verdict.details or _EMPTY_DETAILS
    # A difference to the baseline has an axis of its own, around 0.
    drawn = [
        each
        for rule in verdict.rules
        if _difference(rule, details) is None
        for each in _drawn(rule, details)
        if each.value.value is not None
    ]
    bounds = [(each.value.unit, found[1]) for each in drawn if (found := parse_threshold(each.threshold))]
    return {
        unit: shared_axis(
            [each.value for each in drawn if each.value.unit == unit], [bound for of, bound in bounds if of == unit]
        )
        for unit in dict.fromkeys(each.value.unit for each in drawn)
    }


class _DemandTables:
    """Tables of demands with common axes."""

    def __init__(self, verdict: Verdict, axes: Axes) -> None:
        self.verdict = verdict
        self.axes = axes
        self.details = verdict.details or _EMPTY_DETAILS
        self.bounds = bounds_by_metric(verdict.rules)

    def markup(self, groups: Sequence[tuple[str, Sequence[DemandResult]]]) -> Markup:
        """One table for all groups, with a heading above each group that has a name."""
        ratio = self.axes.get("ratio")
        drawn = join(for_screen_readers("drawn"), axis_scale(ratio) if ratio else None)
        names = ("outcome", "demand", "value", drawn)
        head = element("thead", element("tr", *(element("th", name, scope="col") for name in names)))
        return element("table", head, *(self._body(name, found) for name, found in groups), class_="rules")

    def _body(self, name: str, found: Sequence[DemandResult]) -> Markup:
        head = element("tr", element("th", name, colspan=4, scope="rowgroup", class_="group")) if name else EMPTY
        return element("tbody", head, *(self._row(demand) for demand in found))

    def _row(self, demand: DemandResult) -> Markup:
        rule = demand.rule
        return element(
            "tr",
            element("td", badge(rule.outcome, rule.level), class_="outcome"),
            element("th", *self._about(demand), scope="row", class_="demand"),
            element("td", *_amounts(rule.value, rule_bounds(rule, self.bounds)), class_="value"),
            element("td", *self._charts(rule), class_="chart"),
            class_=f"rule {look(rule)}",
            data_rules=json.dumps(demand.paths),
            data_outcome=rule.outcome,
            data_level=rule.level,
        )

    def _about(self, demand: DemandResult) -> Iterator[Markup]:
        rule = demand.rule
        missed = rule.outcome != "pass"
        yield element("b", Markup(demand.title))  # markup already: `demands` encoded the names in it
        if missed:
            yield self._link(rule)
        if missed and (rule.value is None or rule.outcome != "fail" or parse_threshold(rule.threshold or "") is None):
            yield element("p", Markup(short_reason(rule, self.verdict, to_markup)), class_="why")
        rerun = rerun_words(rule, self.verdict)
        facts = [
            *self._paths(demand),
            element("span", rerun, class_="unsettled") if rerun else EMPTY,
            *(to_markup(text) for text in (at_stopping(rule), uncorrected_words(rule), accepted_words(rule))),
            *(to_markup(text) for text in demand.descriptions),
        ]
        shown = [fact for fact in facts if fact]
        # The slice drops the separator before the first fact.
        yield element("small", *(part for fact in shown for part in (" · ", fact)[fact is shown[0] :]), class_="dim")

    def _link(self, rule: RuleResult) -> Markup:
        """A link to the failed scenarios behind a missed demand; empty if there are none or they are unknown."""
        found = failure_filter(rule)
        listed = found.scenarios(self.verdict) if found else []
        if found is None or not listed:
            return EMPTY
        return element(
            "a",
            "the scenario" if len(listed) == 1 else "the scenarios",
            href="#failed",
            class_="broken",
            data_kind=found.kind or None,
            data_category=found.category or None,
            data_ids=json.dumps([revealed(one.id) for one in listed], ensure_ascii=False) if found.pattern else None,
        )

    def _paths(self, demand: DemandResult) -> Iterator[Markup]:
        """The paths of the rules, as links to their lines if the page shows the policy's text."""
        lines = (self.details.policy_text or "").count("\n") + 1
        for rule in demand.rules:
            name = f"{rule.rule} {rule.metric}" if rule.rule.startswith("rules[") else rule.rule
            line = rule.place.line
            there = self.details.policy_text is not None and line is not None and line <= lines
            yield element("a", code(name), href=f"#policy-{line}") if there else code(name)

    def _charts(self, rule: RuleResult) -> list[Markup]:
        difference = _difference(rule, self.details)
        if difference is not None:
            drawn = change_line(difference, look(rule), _allowed_difference(rule, difference))
            return [element("p", "difference to the baseline", class_="dim"), drawn] if drawn else []
        return [self._chart(part, look(rule)) for part in _drawn(rule, self.details)]

    def _chart(self, drawn: ConditionPart, how: str) -> Markup:
        text = show_threshold(drawn.threshold, drawn.value.unit)
        label = element("p", drawn.metric, " ", text, class_="dim") if drawn.metric else EMPTY
        axis, threshold = self.axes.get(drawn.value.unit), parse_threshold(drawn.threshold)
        return EMPTY if axis is None else join(label, demand_line(axis, drawn.value, threshold, how))


def _amounts(value: Value | None, bounds: tuple[Fraction, ...]) -> tuple[Markup, ...]:
    """`92.0% (82.6–97.2)`, with the interval in its own element, and what the value lacks."""
    number, _, interval = (show(value, bounds) if value else "").partition(" (")
    lacking = missing_words(value, bounds) if value else ""
    rest = (f" ({interval}" if interval else "", f" {lacking}" if lacking else "")
    return element("b", number), element("span", *rest, class_="dim")


def _difference(rule: RuleResult, details: Details) -> Difference | None:
    """The difference to draw for a rule about the baseline; None for other rules, or if it is unknown."""
    comparison = details.comparison
    # The name of a rule at a git ref begins with the ref; such a rule has another baseline than this comparison.
    if comparison is None or not rule.rule.startswith("baseline."):
        return None
    metrics = comparison.metrics
    if rule.slice:
        metrics = next((part.metrics for part in comparison.slices if _is_about(rule, part.by)), {})
    found = metrics.get(rule.metric or "")
    return found.difference if found else None


def _is_about(rule: RuleResult, by: tuple[str, str]) -> bool:
    return rule.slice == ((by[0], (by[1],)),)


def _allowed_difference(rule: RuleResult, difference: Difference) -> Fraction | None:
    """The worst difference to the baseline that the rule accepts, where its threshold is drawn; None if unknown."""
    found = parse_baseline_threshold(rule.threshold or "")
    if found is None:
        return None
    _, way, size, share = found
    of = difference.base.value if share else 1
    return None if of is None else (-size if way == "-" else size) * of


def _drawn(rule: RuleResult, details: Details) -> list[ConditionPart]:
    """The values to draw for a rule: its own, whose row names the metric, or one for each comparison of a condition."""
    parts = [part for part in details.conditions if part.rule == rule.rule]
    if rule.value is None or parse_baseline_threshold(rule.threshold or ""):
        return parts  # for a rule about the baseline, the value alone does not show whether it is within the margin
    return parts or [ConditionPart(rule.rule, "", rule.threshold or "", rule.value)]
