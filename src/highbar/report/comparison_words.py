"""Sentences that the reports of a comparison share. Texts from files go through the `encode` of the calling report."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from highbar.language.digits import amount, show_change
from highbar.language.phrases import count
from highbar.model import Counts, Verdict
from highbar.model.comparison import Change, Comparison, Difference, MetricChange, PassChange, Side
from highbar.model.details import Details
from highbar.report.headline import WORDS, demands_met, judged_line, selection_line
from highbar.report.visible import Encode

OUTCOMES: Mapping[Change, str] = MappingProxyType(
    {"better": "better", "worse": "worse", "within_margin": "within the margin", "cannot_tell": "unclear"}
)
_UNITS = re.compile(r" (?:points?|ms|per token)(?= |$)")


def headline(comparison: Comparison) -> str:
    """`BETTER: pass rate 73.3% → 93.3%; 12 of 60 scenarios fixed, none broke`; contains no text from the results.

    If rules compare the two runs, their verdict comes first: `FAIL: 1 of 2 demands is not met; worse: pass rate …`.
    """
    change = f"{main_number(comparison)}; {_moved_words(comparison)}"
    if comparison.verdict is None:
        return f"{comparison.direction.upper()}: {change}"
    return f"{WORDS[comparison.verdict]}: {demands_met(as_verdict(comparison))}; {comparison.direction}: {change}"


def as_verdict(comparison: Comparison) -> Verdict:
    """A verdict with only the comparison's rules and metrics, for report functions that take a verdict."""
    return Verdict(
        comparison.verdict,
        Counts(comparison.pairs, 0, 0, 0, 0),
        {name: change.difference.head for name, change in comparison.metrics.items()},
        (),
        comparison.rules,
        (),
        (),
        comparison.policy,
        (),
        confidence=comparison.confidence,
        details=Details(comparison=comparison),
    )


def main_number(comparison: Comparison) -> str:
    """`pass rate 73.3% → 93.3%`, which most readers look for first; also the safety rate, if it fell."""
    names = ("pass_rate", "safety_rate") if _is_safety_lower(comparison) else ("pass_rate",)
    return ", ".join(_before_and_after(comparison, name) for name in names)


def metric_differences(comparison: Comparison) -> Mapping[str, Difference]:
    """The difference of every metric."""
    return {name: change.difference for name, change in comparison.metrics.items()}


def _before_and_after(comparison: Comparison, name: str) -> str:
    found = comparison.metrics[name].difference
    before, after = (
        "undefined" if value.value is None else amount(value.value, value.unit) for value in (found.base, found.head)
    )
    return f"{name.replace('_', ' ')} {before} → {after}"


def _is_safety_lower(comparison: Comparison) -> bool:
    """Whether the safety rate is lower in the head, by chance or not."""
    change = comparison.metrics.get("safety_rate")
    return change is not None and change.difference.value is not None and change.difference.value < 0


def _moved_words(comparison: Comparison) -> str:
    """`2 of 60 scenarios broke, 1 fixed`; if none broke, `1 of 60 scenarios fixed, none broke`."""
    broken, fixed = comparison.passes.broken, comparison.passes.fixed
    of = f"of {count(comparison.pairs, 'scenario')}"
    if not (broken or fixed):
        return f"none {of} broke or was fixed"
    parts = [f"{number or 'none'} {word}" for number, word in ((broken, "broke"), (fixed, "fixed"))]
    first = 0 if broken else 1
    parts[first] = parts[first].replace(" ", f" {of} ", 1)
    return f"{parts[first]}, {parts[1 - first]}"


def side(about: Side, encode: Encode) -> str:
    """One run: its files, size, agent version, date, judges and selected rows."""
    files = ", ".join(encode(source.file) for source in about.sources) or "rows"
    facts = [f"{'baseline ' if about.is_baseline else ''}{files}", count(about.scenarios, "scenario")]
    facts += [f"{about.trials} trials"] if about.trials != about.scenarios else []
    facts += [f"{about.runs} runs pooled"] if about.runs > 1 else []
    facts += [f"agent version {encode(about.agent_version)}"] if about.agent_version else []
    facts += [encode(about.date)] if about.date else []
    facts += filter(None, (judged_line(about.judged_by, encode), _selection_words(about, encode)))
    return ", ".join(facts)


def _selection_words(about: Side, encode: Encode) -> str:
    """Which rows were selected; a baseline does not record how many were left out."""
    text = selection_line(about.selection, encode)
    return text.partition(": ")[0] if about.is_baseline else text


def metric_cells(name: str, change: MetricChange, encode: Encode) -> tuple[str, ...]:
    """A metric's row: name, outcome, base, head, and the difference with its bounds."""
    difference = change.difference
    base, head = (
        "undefined" if value.value is None else amount(value.value, value.unit)
        for value in (difference.base, difference.head)
    )
    return encode(name), outcome_words(change), base, head, show_change(difference)


def outcome_words(change: MetricChange) -> str:
    """How a metric changed, in words; if it is unclear whether the change is within the margin, with the margin."""
    difference = change.difference
    if not (difference.value or difference.low or difference.high) and None not in (difference.low, difference.high):
        return "no change"
    if change.outcome == "within_margin" and change.margin is None:
        return "not worse"
    if change.outcome == "cannot_tell" and change.margin:
        return f"unclear, margin {change.margin}"
    return OUTCOMES[change.outcome]


def changed_passes(passes: PassChange) -> str:
    """How many scenarios broke and were fixed, and the probability of such an uneven split if nothing changed."""
    moved = f"{passes.broken} broke, {passes.fixed} fixed"
    if not (passes.broken or passes.fixed):
        return moved
    p_value = f"{passes.p_value:.3f}" if passes.p_value >= 0.001 else "less than 0.001"
    return f"{moved}; the chance of a split this uneven if nothing changed is {p_value}"


def latency(comparison: Comparison) -> str:
    """The factor by which the mean latency changed, with its interval; empty if unknown."""
    factor = comparison.latency
    if factor is None or factor.low is None or factor.high is None:
        return ""
    return f"mean latency: × {factor.value:.3f} ({factor.low:.3f} to {factor.high:.3f})"


def scenario_lists(comparison: Comparison) -> Sequence[tuple[str, Sequence[str]]]:
    """The lists of scenarios, each with its heading."""
    return (
        ("Broken: passed in base, not in head", comparison.broken),
        ("Fixed: passed in head, not in base", comparison.fixed),
        ("Flaky: passed only sometimes", comparison.flaky),
        ("Only in base, not compared", comparison.only_in_base),
        ("Only in head, not compared", comparison.only_in_head),
    )


def short_cells(name: str, change: MetricChange, encode: Encode) -> tuple[str, ...]:
    """The same as `metric_cells` without units, for a narrow table; `explanation` says what the units are."""
    return tuple(_UNITS.sub("", cell) for cell in metric_cells(name, change, encode))


def explanation(comparison: Comparison) -> str:
    """A sentence on what the column `difference` means."""
    confidence = amount(comparison.confidence, "ratio", [comparison.confidence])
    units = "head minus base, in percentage points for percentages"
    return f"difference: {units}; each bound holds with {confidence} confidence"
