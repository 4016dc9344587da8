"""Every rule: its outcome, the reason, and its value, interval and threshold on one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from highbar.language.digits import bounds_by_metric, held_against, show, wanted
from highbar.model import RuleResult, Value, Where
from highbar.model.details import Details
from highbar.report.headline import accepted, could_change, not_passed, unsettled
from highbar.report.html.charts import ThresholdMark, change_line, rule_line
from highbar.report.html.markup import EMPTY, Markup, element, join
from highbar.report.html.parts import badge, code, heading

Bounds = Mapping[str, tuple[Fraction, ...]]


class _Drawn(Struct, frozen=True):
    """A value and the canonical text of its threshold; `metric` if the row does not show it."""

    value: Value
    threshold: str | None
    metric: str | None = None


def rules(judged: tuple[RuleResult, ...], details: Details) -> Markup:
    """The table of all rules: those that did not pass, those that passed but are fragile, the others."""
    if not judged:
        return EMPTY
    passed = [rule for rule in judged if rule.outcome == "pass"]
    groups = (
        ("Did not pass", not_passed(judged)),
        (
            "Passed, but fragile: a second run on the same scenarios may be judged differently",
            [r for r in passed if could_change(r)],
        ),
        ("Passed", [rule for rule in passed if not could_change(rule)]),
    )
    bounds = bounds_by_metric(judged)
    bodies = [_body(title, found, details, bounds) for title, found in groups if found]
    names = ("outcome", "rule", "value", "wanted")
    head = element(
        "thead",
        element("tr", *(element("th", name, scope="col") for name in names), element("th", _legend(), scope="col")),
    )
    table = element("table", head, *bodies, class_="rules")
    return element("section", heading("Rules", "rules"), table, aria_labelledby="rules")


def look(rule: RuleResult) -> str:
    """The style in which a rule is drawn."""
    if rule.outcome == "pass":
        return "fragile" if could_change(rule) else "met"
    if rule.outcome == "fail":
        return "missed" if rule.level == "blocking" else "warned"
    return "unsure"


def _legend() -> Markup:
    return join("interval, and ", element("span", "threshold", class_="key"))


def _body(title: str, found: Sequence[RuleResult], details: Details, bounds: Bounds) -> Markup:
    counted = f"{title} ({len(found)})"
    head = element("tr", element("th", counted, colspan=5, scope="rowgroup", class_="group"))
    return element("tbody", head, *(_row(rule, details, bounds) for rule in found))


def _row(rule: RuleResult, details: Details, bounds: Bounds) -> Markup:
    value = rule.value
    shown = show(value, bounds.get(rule.metric or "", ())) if value else ""
    charts = _charts(rule, details)
    return element(
        "tr",
        element("td", badge(rule.outcome, rule.level), class_="outcome"),
        element("th", _name_cell(rule, details), scope="row", class_="told"),
        element("td", *_amounts(shown), class_="value"),
        element("td", _wanted(rule), class_="wanted"),
        element("td", *charts, class_="chart"),
        class_=f"rule {look(rule)}",
        data_rule=rule.rule,
        data_outcome=rule.outcome,
        data_level=rule.level,
    )


def _amounts(shown: str) -> tuple[Markup, ...]:
    """`92.0% (82.6–97.2)`, the interval in an element of its own, so that it can wrap to the next line."""
    number, _, interval = shown.partition(" (")
    return element("b", number), element("span", f" ({interval}" if interval else "", class_="dim")


def _name_cell(rule: RuleResult, details: Details) -> Markup:
    name = f"{rule.rule} {rule.metric}" if rule.rule.startswith("rules[") else rule.rule
    return join(
        code(name),
        element("span", *_where(rule.slice), class_="where") if rule.slice else EMPTY,
        element("p", rule.reason, class_="why") if rule.outcome != "pass" or rule.value is None else EMPTY,
        element("p", accepted(rule), class_="dim") if accepted(rule) else EMPTY,
        element("p", unsettled(rule), class_="unsettled") if unsettled(rule) else EMPTY,
        element("p", rule.description, class_="dim") if rule.description else EMPTY,
        _place(rule, details),
    )


def _where(where: Where) -> Iterator[Markup]:
    for column, values in where:
        yield join(" ", code(f"{column}: {' or '.join(values)}"))


def _place(rule: RuleResult, details: Details) -> Markup:
    """The line of the policy, as a link if the page shows its text."""
    line = rule.place.line
    if line is None or rule.outcome == "pass":
        return EMPTY
    text = f"policy, line {line}"
    there = (details.policy_text or "").count("\n") + 1 >= line
    reference = element("a", text, href=f"#policy-{line}") if there else text
    return element("p", reference, class_="dim")


def _wanted(rule: RuleResult) -> Markup:
    if rule.threshold is None:
        return EMPTY
    return join(wanted(rule.threshold, rule.value.unit if rule.value else None)) or code(rule.threshold)


def _charts(rule: RuleResult, details: Details) -> list[Markup]:
    """A rule about the baseline is drawn as its difference, if that is known."""
    compared = details.comparison.metrics if details.comparison else {}
    if rule.rule.startswith("baseline.") and not rule.slice and (found := compared.get(rule.metric or "")) is not None:
        about = element("p", "difference to the baseline", class_="dim")
        return [about, change_line(found.difference, look(rule))]
    return [_chart(drawn, look(rule)) for drawn in _drawn(rule, details)]


def _drawn(rule: RuleResult, details: Details) -> list[_Drawn]:
    """What is drawn for a rule: its value, or for a condition each of its comparisons."""
    parts = [_Drawn(part.value, part.threshold, part.metric) for part in details.conditions if part.rule == rule.rule]
    return parts or ([_Drawn(rule.value, rule.threshold)] if rule.value else [])


def _chart(drawn: _Drawn, how: str) -> Markup:
    found = held_against(drawn.threshold or "")
    bar = None if found is None else ThresholdMark(*found)
    text = wanted(drawn.threshold or "", drawn.value.unit)
    label = element("p", drawn.metric, " ", text, class_="dim") if drawn.metric else EMPTY
    return join(label, rule_line(drawn.value, bar, how))
