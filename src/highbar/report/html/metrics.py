"""The metrics, the scores split into their terms, and the distribution of latencies."""

from __future__ import annotations

from fractions import Fraction

from highbar.language.digits import amount, bounds_by_metric, parse_threshold, show, show_threshold
from highbar.language.phrases import count
from highbar.model import Verdict
from highbar.model.details import Latency, Score
from highbar.report.headline import bounds_label
from highbar.report.html.charts import Limit, axis_scale, histogram, shared_axis, term_bar, value_line
from highbar.report.html.markup import EMPTY, Markup, element, join
from highbar.report.html.parts import code, folded, for_screen_readers, scenarios, table, undefined_metrics
from highbar.report.value_words import undefined_by_reason

_WHOLE = (Fraction(0), Fraction(1))


def metrics_section(verdict: Verdict) -> Markup:
    """Every metric with its interval, ratios also drawn on a common axis; undefined metrics with the reason."""
    if not verdict.metrics:
        return EMPTY
    bounds = bounds_by_metric(verdict.rules)
    known = {name: value for name, value in verdict.metrics.items() if value.value is not None}
    axis = shared_axis([value for value in known.values() if value.unit == "ratio"], _WHOLE)
    rows = [
        (
            code(name),
            show(value, bounds.get(name, ())),
            scenarios(value, bounds.get(name, ())),
            value_line(axis, value, "plain") if value.unit == "ratio" else EMPTY,
        )
        for name, value in known.items()
    ]
    names = ("metric", bounds_label(verdict), "scenarios", join(for_screen_readers("drawn"), axis_scale(axis)))
    listed = table(names, rows, "metrics") if rows else EMPTY
    return folded(f"All metrics ({len(verdict.metrics)})", "metrics", listed, _undefined(verdict))


def _undefined(verdict: Verdict) -> Markup:
    """The undefined metrics by reason."""
    found = undefined_by_reason(verdict.metrics)
    number = sum(len(names) for names in found.values())
    return undefined_metrics(f"{count(number, 'metric')} without a value", found)


# --- scores ----------------------------------------------------------------------------------


def scores_section(verdict: Verdict) -> Markup:
    """For each score the contribution of each term, and the most that it could contribute."""
    found = verdict.details.scores if verdict.details else ()
    if not found:
        return EMPTY
    parts = [_score(score, verdict) for score in found]
    return folded("What the score is made of", "score", *parts)


def _score(score: Score, verdict: Verdict) -> Markup:
    longest = max((abs(part.most or part.adds or Fraction(0)) for part in score.parts), default=Fraction(0))
    rows = [
        (
            code(part.text),
            "undefined" if part.adds is None else amount(part.adds, "ratio"),
            "" if part.most is None else f"of {amount(part.most, 'ratio')}",
            term_bar(part.adds, part.most, longest),
        )
        for part in score.parts
    ]
    value = verdict.metrics.get(score.metric)
    shown = show(value) if value else ""
    equation = element("p", code(score.metric), " ", element("b", shown), " = ", code(score.formula))
    return join(equation, table(("term", "adds", "at most", for_screen_readers("drawn")), rows, "terms"))


# --- latency ---------------------------------------------------------------------------------


def latencies(verdict: Verdict) -> Markup:
    """A histogram of the trials' latencies, with the thresholds of rules and the values of the percentiles."""
    found = verdict.details.latency if verdict.details else None
    if found is None:
        return EMPTY
    errors = (
        f" {count(found.errors, 'trial')} crashed and {'has' if found.errors == 1 else 'have'} no latency."
        if found.errors
        else ""
    )
    limits = _limits(found, verdict)
    title = "Trials by latency. " + "; ".join(limit.text for limit in limits)
    return folded(
        "Latency",
        "latency",
        element("p", "Trials by how long they took; dashed: what rules accept.", errors, class_="dim"),
        element("figure", histogram(found.bins, limits, title), tabindex=0, aria_label="Latency of trials"),
    )


def _limits(found: Latency, verdict: Verdict) -> list[Limit]:
    """The thresholds of rules and the metrics' values, each number once; the 12 smallest at most, ascending."""
    limits: dict[tuple[Fraction, str], Limit] = {}
    for rule in verdict.rules:
        against = parse_threshold(rule.threshold or "") if rule.metric in found.metrics and not rule.slice else None
        if against is not None:
            text = f"{rule.metric} {show_threshold(rule.threshold or '', 'ms')}"
            limits.setdefault((against[1], "bound"), Limit(text, against[1], "bound"))
    for name in found.metrics:
        value = verdict.metrics.get(name)
        if value is not None and value.value is not None:
            text = f"{name} {amount(value.value, 'ms')}"
            limits.setdefault((value.value, "rank"), Limit(text, value.value, "rank"))
    return sorted(limits.values(), key=lambda limit: limit.value)[:12]
