"""Runs and their numbers in words, for the page of a history. Anyone may have written a record; `markup` escapes."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from highbar.language.digits import amount, show, show_threshold
from highbar.model import Unit, Value
from highbar.model.history import MetricInRun, RuleInRun, RunRecord
from highbar.report.visible import cut, revealed

UNKNOWN = "not known"
LONGEST = 120
_SIGNS = {"pass": "✓ pass", "fail": "✕ fail", "inconclusive": "? inconclusive"}
_SOURCES = {"run": "when it ended", "given": "as given", "added": "when it was added"}
_MOST_RULES = 8
"""Missed rules that the facts about a run name; the others are counted."""


def short_text(text: str | None) -> str:
    """A text from a record with invisible characters as escapes, cut at `LONGEST`; `not known` if None."""
    return UNKNOWN if text is None else cut(revealed(text), LONGEST) or "(empty)"


def moment(run: RunRecord) -> str:
    """The time of a run, to the minute."""
    return run.time[:16].replace("T", " ")


def commit(run: RunRecord) -> str:
    """The first 12 characters of a run's commit; with `+` if the working tree had changes."""
    return UNKNOWN if run.commit is None else cut(revealed(run.commit), 13)[:12] + ("+" if run.changed else "")


def run_line(run: RunRecord) -> str:
    """A run on one line: verdict, time, branch and commit."""
    return f"{run.verdict}, {moment(run)}, {short_text(run.branch)}, {commit(run)}"


def number_words(value: float, unit: Unit) -> str:
    """A number with its unit."""
    return amount(Fraction(str(value)), unit)


def measured_words(value: MetricInRun, rules: Iterable[RuleInRun]) -> str:
    """`96.0% (91.2–98.6); ≥ 90%: pass`."""
    known = list(rules)
    bounds = [Fraction(str(rule.bound)) for rule in known if rule.bound is not None]
    exact = None if value.value is None else Fraction(str(value.value))
    shown = show(Value(exact, value.scenarios, 0, value.unit, value.better, low=value.low, high=value.high), bounds)
    open_ = f", {value.undecided} undecided" if value.undecided else ""
    return "; ".join([shown + open_, *(f"{demand(rule, value.unit)}: {rule.outcome}" for rule in known)])


def demand(rule: RuleInRun, unit: Unit) -> str:
    """What a rule demands: `≥ 90%`, or `≥ 90% (warning)`."""
    text = show_threshold(rule.threshold or "", unit) or short_text(rule.threshold or rule.rule)
    return text if rule.level == "blocking" else f"{text} (warning)"


def facts(run: RunRecord, metrics: Iterable[str]) -> list[tuple[str, str]]:
    """The facts about a run, as pairs of a name and a text, with the values of `metrics`."""
    missed = [short_text(rule.rule) for rule in run.rules if rule.outcome != "pass" and rule.level == "blocking"]
    more = f" and {len(missed) - _MOST_RULES} more" if len(missed) > _MOST_RULES else ""
    counts = run.counts
    found = [
        ("Verdict", _SIGNS.get(run.verdict, run.verdict)),
        ("Time", f"{moment(run)} UTC, {_SOURCES[run.time_of]}"),
        ("Branch", short_text(run.branch)),
        ("Commit", commit(run) + (" (with changes in the working tree)" if run.changed else "")),
        *((("Agent", short_text(run.agent_name)),) if run.agent_name else ()),
        ("Agent version", short_text(run.agent_version)),
        ("Failed scenarios", f"{counts.failed} of {counts.scenarios}"),
        ("Missed", ", ".join(missed[:_MOST_RULES]) + more if missed else "none of the blocking rules about metrics"),
    ]
    for name in metrics:
        if name in run.metrics:
            rules = [rule for rule in run.rules if rule.metric == name and not rule.slice]
            found.append((short_text(name), measured_words(run.metrics[name], rules)))
    return [*found, ("Record", run.record)]
