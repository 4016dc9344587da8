"""Sentences about the rules of a run that may stop early: when one was decided, and what would decide it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from highbar.language import digits
from highbar.language.phrases import count
from highbar.model import RuleResult
from highbar.report.titles import bound_words, slice_words
from highbar.report.visible import visible

if TYPE_CHECKING:  # every text report loads this module, and few need a plan
    from highbar.planning.plans import EarlyChance


def at_stopping(rule: RuleResult) -> str:
    """`at stopping, after 38 of 200 scenarios`: when value and interval were taken; empty if at the end of the run."""
    stopping = rule.stopping
    if stopping is None or stopping.method == "at the end":
        return ""
    of = f"of {count(stopping.planned, 'scenario')}"
    if stopping.decided_at is None:
        return f"after {stopping.seen} {of}"
    return f"at stopping, after {stopping.decided_at} {of}"


def open_line(rule: RuleResult) -> str:
    """A line about a rule that is still open during a run: its value, and what would decide it."""
    value, stopping = rule.value, rule.stopping
    number, bounds = None if value is None else value.value, digits.rule_bounds(rule)
    named = rule.rule
    if rule.metric is not None and value is not None and rule.threshold is not None:
        wanted = digits.show_threshold(rule.threshold, value.unit) or rule.threshold
        named = f"{visible(rule.metric)}{slice_words(rule.slice)} {wanted}"
    if value is None or number is None:
        return f"{visible(named)}: {stopping.standing if stopping and stopping.standing else 'open'}"
    if stopping is not None and stopping.standing is not None:
        # The progress line beside it counts trials that ended after this look.
        return f"{named}: at the last look {digits.amount(number, value.unit, bounds)}; {stopping.standing}"
    if rule.best is None:
        return f"{named}: {digits.amount(number, value.unit, bounds)}; open"
    ends = [digits.amount(end, value.unit, bounds) for end in (number, rule.best)]
    return f"{named}: {ends[0]} if all the rest fails, {ends[1]} if it passes"


def expected_line(rows: Sequence[EarlyChance]) -> str:
    """The expected number of scenarios until a rule is decided, for several true rates."""
    first, *others = [f"{round(row.expected)} if the true rate is {bound_words(row.rate, 'ratio')}" for row in rows]
    later = [text.replace("if the true rate is", "at") for text in others]
    named = visible(rows[0].rule or "")
    return f"{named}: of {count(rows[0].scenarios, 'scenario')} about {', '.join([first, *later])}"
