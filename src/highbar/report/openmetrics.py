r"""The verdict as OpenMetrics text, for Prometheus and for GitLab's metrics reports.

An undefined value, or an open end of an interval, has no sample: never 0, never NaN. The number of scenarios behind a
metric always has one. Values are in the metric's own unit, which the `unit` label names.

GitLab cuts a line at any `#` and then fails on the unpaired quotes, so `#` becomes `\x23` in labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, get_args

from msgspec import Struct, field

from highbar.errors import Problem
from highbar.language.digits import Bounds, bounds_by_metric, rule_bounds
from highbar.model import Decision, Outcome, RuleResult, Value, Verdict, Where
from highbar.report import PAGE, Display
from highbar.report.numbers import interval_end, number, threshold_number
from highbar.report.visible import visible

if TYPE_CHECKING:  # few results use a judge
    from highbar.model.judge_quality import JudgeReport

_Labels = Mapping[str, str]
_NO_LABELS: _Labels = {}
_LIKE_AN_ESCAPE = re.compile(r"\\(?=[ntr]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
"""A backslash with which a text looks like the escape of another one: two samples with equal labels would be one."""
_DECISIONS: Sequence[str] = (*get_args(Decision), "none")
_OUTCOMES: Sequence[str] = get_args(Outcome)


class _Family(Struct):
    """A metric family: its type and help text, and one sample for each set of labels."""

    name: str
    type: str
    help: str
    samples: dict[str, str] = field(default_factory=dict)

    def add(self, value: str, labels: _Labels = _NO_LABELS, suffix: str = "") -> None:
        """Add one sample, unless the value is empty or the labels have one already."""
        if value:
            label = ",".join(f'{name}="{_label(text)}"' for name, text in labels.items())
            self.samples.setdefault(f"{self.name}{suffix}{{{label}}}" if label else f"{self.name}{suffix}", value)

    def add_state(self, state: str, states: Sequence[str], labels: _Labels = _NO_LABELS) -> None:
        """Add one sample per state: 1 for the current one, 0 for the others."""
        for one in states:
            self.add("1" if one == state else "0", {**labels, self.name: one})

    def render(self) -> Iterator[str]:
        if self.samples:
            yield f"# TYPE {self.name} {self.type}"
            yield f"# HELP {self.name} {self.help}"
            yield from (f"{sample} {value}" for sample, value in self.samples.items())


def render(verdict: Verdict, _display: Display = PAGE) -> str:
    """The verdict, the counts, and every metric, slice and rule, as gauges and state sets."""
    bounds = bounds_by_metric(verdict.rules or verdict.advice)
    about = _Family("highbar", "info", "What was judged.")
    about.add("1", _about(verdict), "_info")
    families = [_verdict(verdict.verdict or "none"), about, *_counts(verdict)]
    families += [_problems(verdict.problems)] if verdict.problems else []
    families += _metrics(verdict.metrics, bounds)
    families += _slices(verdict, bounds)
    families += _rules(verdict.rules, bounds)
    families += [_advice(verdict.advice)]
    families += _judge(verdict.judge) if verdict.judge else []
    return _text(families)


def render_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """The verdict's state `none`, and the number of problems; their texts do not belong in labels."""
    return _text([_verdict("none"), _problems(problems)])


def _problems(problems: Iterable[Problem]) -> _Family:
    count = _Family("highbar_problems", "gauge", "How many problems kept a verdict from being made.")
    count.add(str(sum(1 for _ in problems)))
    return count


def _advice(rules: Iterable[RuleResult]) -> _Family:
    family = _Family("highbar_advice_outcome", "stateset", "What a typical threshold comes to; it decides nothing.")
    for rule in rules:
        family.add_state(rule.outcome, _OUTCOMES, {"rule": rule.rule, "level": rule.level})
    return family


def _text(families: Iterable[_Family]) -> str:
    return "\n".join([*(line for family in families for line in family.render()), "# EOF", ""])


def _verdict(state: str) -> _Family:
    family = _Family("highbar_verdict", "stateset", "The verdict; none if nothing could be judged.")
    family.add_state(state, _DECISIONS)
    return family


def _about(verdict: Verdict) -> _Labels:
    policy = verdict.policy
    return {
        "agent_version": verdict.agent_version or "",
        "policy": policy.file if policy else "",
        "policy_sha256": (policy.sha256 or "") if policy else "",
    }


def _counts(verdict: Verdict) -> Iterator[_Family]:
    counts = verdict.counts
    for name, value, help_text in (
        (
            "highbar_confidence",
            number(verdict.confidence),
            "The confidence with which each end of an interval holds by itself.",
        ),
        ("highbar_scenarios", str(counts.scenarios), "Scenarios that have a result."),
        ("highbar_scenarios_failed", str(counts.failed), "Scenarios that failed a trial."),
        ("highbar_scenarios_quarantined", str(len(verdict.quarantined)), "Scenarios that are no new failures."),
        ("highbar_trials", str(counts.trials), "Trials."),
        ("highbar_trials_errors", str(counts.errors), "Trials that ended in an error."),
        ("highbar_trials_unjudged", str(counts.unjudged), "Trials that say that they are unjudged."),
        ("highbar_trials_undecided", str(counts.undecided), "Trials that neither passed nor failed."),
        ("highbar_rows_left_out", str(counts.left_out), "Rows that select or --where did not choose."),
    ):
        family = _Family(name, "gauge", help_text)
        family.add(value)
        yield family


def _metrics(metrics: Mapping[str, Value], bounds: Bounds) -> list[_Family]:
    families = _value_families("highbar_metric", "Of a metric over all scenarios")
    for name, value in metrics.items():
        _add_value(families, value, bounds.get(name, ()), {"metric": name, "unit": value.unit})
    return families


def _slices(verdict: Verdict, bounds: Bounds) -> list[_Family]:
    families = _value_families("highbar_slice", "Of a metric over the scenarios of one slice")
    for part in verdict.slices:
        for name, value in part.metrics.items():
            labels = {"metric": name, "unit": value.unit, "column": part.by[0], "slice": part.by[1]}
            _add_value(families, value, bounds.get(name, ()), labels)
    return families


def _rules(rules: Iterable[RuleResult], bounds: Bounds) -> list[_Family]:
    outcome = _Family("highbar_rule_outcome", "stateset", "What became of a rule.")
    threshold = _Family("highbar_rule_threshold", "gauge", "What a rule demands of its metric.")
    values = _value_families("highbar_rule", "Of the metric that a rule is about")
    for rule in rules:
        labels = {"rule": rule.rule, "level": rule.level}
        outcome.add_state(rule.outcome, _OUTCOMES, labels)
        about = {**labels, "metric": rule.metric or "", "where": _where(rule.slice)}
        operator = (rule.threshold or "").partition(" ")[0]
        threshold.add(threshold_number(rule), {**about, "operator": operator})
        if rule.value:
            _add_value(values, rule.value, rule_bounds(rule, bounds), {**about, "unit": rule.value.unit})
    return [outcome, threshold, *values]


def _where(where: Where) -> str:
    return ", ".join(f"{column}: {' or '.join(values)}" for column, values in where)


def _value_families(prefix: str, what: str) -> list[_Family]:
    return [
        _Family(f"{prefix}_value", "gauge", f"{what}: its value; no sample if it is undefined."),
        _Family(f"{prefix}_low", "gauge", f"{what}: the lower end of its interval; no sample if it has none."),
        _Family(f"{prefix}_high", "gauge", f"{what}: the upper end of its interval; no sample if it has none."),
        _Family(f"{prefix}_scenarios", "gauge", f"{what}: how many scenarios it rests on."),
        _Family(f"{prefix}_missing", "gauge", f"{what}: how many lack what it needs."),
        _Family(f"{prefix}_undecided", "gauge", f"{what}: how many trials are undecided; the value has them at worst."),
        _Family(f"{prefix}_best", "gauge", f"{what}: its value with undecided trials at their best."),
        _Family(f"{prefix}_corrected", "gauge", f"{what}: its value as people would have it."),
    ]


def _add_value(families: Sequence[_Family], value: Value, bounds: tuple[Fraction, ...], labels: _Labels) -> None:
    known = (
        number(value.value, bounds),
        interval_end(value.low),
        interval_end(value.high),
        str(value.scenarios),
        str(value.missing),
    )
    amounts = (*known, str(value.undecided), number(value.best, bounds), _corrected(value, bounds))
    for family, amount in zip(families, amounts, strict=True):
        family.add(amount, labels)


def _corrected(value: Value, bounds: tuple[Fraction, ...]) -> str:
    return "" if value.corrected is None else number(value.corrected.value, bounds)


def _judge(report: JudgeReport) -> list[_Family]:
    """Which judges judged, how much, and how good they are according to labels."""
    about = _Family("highbar_judge", "info", "The judge that results rest on.")
    for name in report.by:
        about.add("1", {"judge": name, "calibrated": str(report.calibrated).lower()}, "_info")
    families = [about]
    for name, number_of, help_text in (
        ("highbar_judge_trials", report.trials, "Trials that rest on the judge."),
        ("highbar_judge_statements", report.statements, "Statements that it judged."),
        ("highbar_judge_undecided", report.undecided, "Trials that it left open."),
        ("highbar_judge_labels", report.labels.trials if report.labels else 0, "Trials that people labeled."),
    ):
        families.append(_Family(name, "gauge", help_text))
        families[-1].add(str(number_of))
    for name, rate in (("sensitivity", report.sensitivity), ("specificity", report.specificity)):
        for suffix, amount in (("", rate and number(rate.value)), ("_low", rate and interval_end(rate.low))):
            families.append(_Family(f"highbar_judge_{name}{suffix}", "gauge", f"The {name} of the judge, by trial."))
            families[-1].add(amount or "")
    return families


def _label(text: str) -> str:
    """The only encoder of this format: visible text for the inside of a label's quotes. No two texts become equal."""
    text = _LIKE_AN_ESCAPE.sub(r"\\x5c", text)
    # `#` goes first: its escape contains a backslash, which the format wants doubled like any other.
    return visible(text).replace("#", r"\x23").replace("\\", r"\\").replace('"', r"\"")
