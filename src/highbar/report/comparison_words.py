"""The sentences that the reports of a comparison share. What comes from a file goes through the `encode` that asks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from highbar.language.digits import amount, show_change
from highbar.language.phrases import count
from highbar.model.comparison import Change, Comparison, MetricChange, PassChange, Side
from highbar.report.headline import WORDS, judged, selected

OUTCOMES: Mapping[Change, str] = MappingProxyType(
    {"better": "better", "worse": "worse", "within_margin": "within the margin", "cannot_tell": "inconclusive"}
)
Encode = Callable[[str], str]
_UNITS = re.compile(r" (?:points?|ms|per token)(?= |$)")


def headline(comparison: Comparison) -> str:
    """`FAIL: 1 of 2 blocking rules did not pass; 3 scenarios broke, 1 was fixed`; holds no text from the results."""
    moved = f"{count(comparison.passes.broken, 'scenario')} broke, {comparison.passes.fixed} fixed"
    if comparison.verdict is None:
        return f"COMPARED: {_pairs(comparison.pairs)}; {_directions(comparison)}; {moved}"
    blocking = [rule for rule in comparison.rules if rule.level == "blocking"]
    missed = sum(rule.outcome != "pass" for rule in blocking)
    warned = sum(rule.outcome != "pass" for rule in comparison.rules) - missed
    counted = f"{len(blocking)} blocking rule{'' if len(blocking) == 1 else 's'}"
    outcome = f"{missed} of {counted} did not pass" if missed else f"{counted} passed"
    more = f", {warned} warning{'' if warned == 1 else 's'}" if warned else ""
    return f"{WORDS[comparison.verdict]}: {outcome}{more}; {moved}"


def _directions(comparison: Comparison) -> str:
    counts = [
        f"{number} {OUTCOMES[outcome]}"
        for outcome in ("worse", "better")
        if (number := sum(change.outcome == outcome for change in comparison.metrics.values()))
    ]
    return "metrics: " + ", ".join(counts) if counts else "no metric surely changed"


def _pairs(number: int) -> str:
    return f"{number} pair" if number == 1 else f"{number} pairs"


def side(about: Side, encode: Encode) -> str:
    """The files of a run, and its size."""
    files = ", ".join(encode(source.file) for source in about.sources) or "rows"
    facts = [f"{'baseline ' if about.is_baseline else ''}{files}", count(about.scenarios, "scenario")]
    facts += [f"{about.trials} trials"] if about.trials != about.scenarios else []
    facts += [f"agent version {encode(about.agent_version)}"] if about.agent_version else []
    facts += [encode(about.date)] if about.date else []
    facts += filter(None, (judged(about.judged_by, encode), _selected(about, encode)))
    return ", ".join(facts)


def _selected(about: Side, encode: Encode) -> str:
    """Which rows were selected; a baseline does not record how many were left out."""
    text = selected(about.selection, encode)
    return text.partition(": ")[0] if about.is_baseline else text


def metric_cells(name: str, change: MetricChange, encode: Encode) -> tuple[str, ...]:
    """A metric's row: outcome, base, head, and the difference with its bounds."""
    difference = change.difference
    base, head = (
        "undefined" if value.value is None else amount(value.value, value.unit)
        for value in (difference.base, difference.head)
    )
    return encode(name), OUTCOMES[change.outcome], base, head, show_change(difference)


def changed_passes(passes: PassChange) -> str:
    """The p-value of the change, if breaking and being fixed were equally likely."""
    p_value = f"{passes.p_value:.3f}" if passes.p_value >= 0.001 else "below 0.001"
    return f"{passes.broken} broke, {passes.fixed} fixed: p = {p_value} if both were as likely (McNemar, mid-p)"


def latency(comparison: Comparison) -> str:
    """By how much the mean latency changed; empty if that is not known."""
    factor = comparison.latency
    if factor is None or factor.low is None or factor.high is None:
        return ""
    return f"mean latency: × {factor.value:.3f} ({factor.low:.3f} to {factor.high:.3f})"


def listed(comparison: Comparison) -> Sequence[tuple[str, Sequence[str]]]:
    """The lists of scenarios, each with its heading."""
    return (
        ("Broken: passed in base, not in head", comparison.broken),
        ("Fixed: passed in head, not in base", comparison.fixed),
        ("Flaky: passed only sometimes", comparison.flaky),
        ("Only in base, not compared", comparison.only_in_base),
        ("Only in head, not compared", comparison.only_in_head),
    )


def short_cells(name: str, change: MetricChange, encode: Encode) -> tuple[str, ...]:
    """The same without units, for a narrow table: a percentage differs by points, everything else by what it is in."""
    return tuple(_UNITS.sub("", cell) for cell in metric_cells(name, change, encode))


def explanation(comparison: Comparison) -> str:
    """What the columns mean."""
    confidence = amount(comparison.confidence, "ratio", [comparison.confidence])
    return (
        f"difference: head less base over the pairs, of percentages in points; its bounds hold with {confidence}"
        " confidence each"
    )
