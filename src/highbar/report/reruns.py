"""How likely a re-run of the same scenarios ends differently, and how large a new run would settle a rule, in words."""

from __future__ import annotations

from typing import Protocol

from highbar.language.digits import amount, rule_bounds
from highbar.language.phrases import count
from highbar.model import RuleResult, Verdict
from highbar.report.failures import is_violation

MOST_TO_SETTLE = 5000
"""If settling a rule takes more scenarios than this, reports call it too close."""
WORTH_SAYING = 0.05
"""Reports mark a rule as close if a re-run has another outcome with at least this probability."""
_LIKELY = ((0.01, "almost certain"), (0.05, "very likely"), (0.2, "likely"))  # by the probability of another verdict
_EVEN = 0.5
_CERTAIN = 0.99
_ALL = 100


# --- the verdict ------------------------------------------------------------------------------


def second_run_sentence(verdict: Verdict) -> str:
    """A sentence on how likely a re-run has the same verdict; empty if that is unknown."""
    if verdict.second_run is None or verdict.verdict is None:
        return ""
    low, high = verdict.second_run_low or 0.0, verdict.second_run
    same = _out_of_100(1 - high, 1 - low)
    likely = next((words for most, words in _LIKELY if high < most), None)
    if likely:
        return f"The same verdict is {likely} on a re-run ({same})."
    ends = "would probably end" if low > _EVEN else "may end"
    return f"A re-run of the same scenarios {ends} differently (the same verdict: {same})."


def second_run_words(verdict: Verdict) -> str:
    """The short form for the headline: `a re-run very likely fails too`; empty if that is unknown."""
    if verdict.second_run is None or verdict.verdict is None:
        return ""
    likely = next((words for most, words in _LIKELY if verdict.second_run < most), None)
    if likely:
        ends = {"pass": "passes", "fail": "fails", "inconclusive": "is inconclusive"}[verdict.verdict]
        return f"a re-run {likely.replace('certain', 'certainly')} {ends} too"
    probable = (verdict.second_run_low or 0.0) > _EVEN
    return f"a re-run {'probably ends' if probable else 'may end'} differently"


def _out_of_100(low: float, high: float) -> str:
    """A range of probabilities in plain words: `over 99 in 100`, `3 to 77 in 100`."""
    first, last = round(low * _ALL), round(high * _ALL)
    if low > _CERTAIN:
        return "over 99 in 100"
    if last == _ALL:  # before `about`: what is not certain is not 100 in 100
        return f"at least {first} in 100"
    if last - first <= 1:
        return f"about {last} in 100" if last else "under 1 in 100"
    return f"{first} to {last} in 100" if first else f"at most {last} in 100"


# --- one rule ---------------------------------------------------------------------------------


def is_close(rule: RuleResult) -> bool:
    """Whether the interval includes the threshold, or a re-run has another outcome with at least `WORTH_SAYING`."""
    return rule.fragile or (rule.second_run or 0.0) >= WORTH_SAYING


def is_clear(rule: RuleResult) -> bool:
    """Whether the whole interval is on one side of the threshold; `highbar plan` calls such a rule settled."""
    return rule.outcome in ("pass", "fail") and not rule.fragile and rule.value is not None


def how_sure(rule: RuleResult, verdict: Verdict) -> str:
    """For a close rule: how likely a re-run differs, and how large a new run would settle it; else empty."""
    if not (is_close(rule) or rule.outcome == "inconclusive"):
        return ""
    reasons = "; ".join(filter(None, (rerun_words(rule, verdict), _settling_words(rule))))
    return f"close: {reasons}" if reasons else ""


def rerun_words(rule: RuleResult, verdict: Verdict) -> str:
    """`a re-run may pass (1–16%)`: how likely a close rule has another outcome on a re-run; empty for other rules.

    A violation is not undone by a re-run without one, so a re-run `may miss` it.
    """
    if rule.second_run is None or not is_close(rule):
        return ""
    ends = {"pass": "fail", "fail": "pass"}.get(rule.outcome, "end differently")
    return f"a re-run may {'miss the violation' if is_violation(rule, verdict) else ends} ({chance_cell(rule)})"


def _settling_words(rule: RuleResult) -> str:
    """How large a new run would settle the rule; empty if unknown.

    It speaks of a new run, because adding scenarios to this one and judging again would pass too often.
    """
    size = settled_by(rule)
    if size is None or rule.value is None or rule.value.value is None:
        return ""
    of_slice = " of this slice" if rule.slice else ""
    if size > MOST_TO_SETTLE:
        return f"too close to call, even with {MOST_TO_SETTLE:,} scenarios{of_slice}"
    stays = f"if the value stays at {amount(rule.value.value, rule.value.unit, rule_bounds(rule))}"
    return f"{stays}, a new run with about {count(size, 'scenario')}{of_slice} would settle it"


def settled_by(rule: RuleResult) -> int | None:
    """How many scenarios a new run needs to settle a rule if the value stays the same; None if no number does."""
    if rule.more_scenarios is None or rule.value is None:
        return None
    return rule.value.scenarios + rule.more_scenarios


class Repeatable(Protocol):
    """A rule, or its row in a plan, with the probability that a re-run has another outcome."""

    @property
    def second_run(self) -> float | None:
        """The upper end of that probability."""

    @property
    def second_run_low(self) -> float | None:
        """The lower end."""


def chance_cell(rule: Repeatable) -> str:
    """A table cell with the probability that a re-run of the same agent has another outcome: `5–29%`."""
    if rule.second_run is None:
        return ""
    low, high = (round((end or 0.0) * 100) for end in (rule.second_run_low, rule.second_run))
    if not high:
        return "under 1%"
    return f"{high}%" if low == high else f"{low}–{high}%" if low else f"up to {high}%"
