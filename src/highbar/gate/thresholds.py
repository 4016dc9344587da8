"""A value with its interval, compared with a threshold.

By the estimate, the value itself must reach it. With confidence, the worse end of the interval must; if even the better
end misses it, the rule fails, and in between the outcome is inconclusive. No number of scenarios can show a threshold
of 100 % (or 0 %): it fails at the first failure, or beyond an accepted number of them (`failures`), and passes if
failures above the tolerated rate are excluded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

from msgspec import Struct

from highbar.gate.outlook import (
    NO_SUPPORT,
    Outlooks,
    ValueSupport,
    certain_outlooks,
    chance,
    outlooks_of_value,
    without_passes,
)
from highbar.language import digits
from highbar.language.phrases import count
from highbar.model import (
    COMPARE,
    BaselineRule,
    ComparingRule,
    ConditionRule,
    Demand,
    Doubt,
    NewFailuresRule,
    Operator,
    Outcome,
    RuleResult,
    ScenarioRule,
    StepRule,
    Threshold,
    ThresholdRule,
    Value,
)
from highbar.statistics.planning import clusters_to_exclude, more_by_width, more_scenarios, observed_design


class ThresholdOutcome(Struct, frozen=True):
    """The outcome, its reason, whether it is fragile, and predictions for more scenarios and a second run."""

    outcome: Outcome
    reason: str
    fragile: bool = False
    more_scenarios: int | None = None
    outlooks: Outlooks = ()
    accepted: tuple[int, int] | None = None  # for a threshold of 100 %: how many failed, and how many may

    @property
    def second_run(self) -> float | None:
        """The largest chance that a second run has another outcome; None if unknown."""
        found = chance(self.outlooks, self.outcome)
        return found and found.high

    @property
    def second_run_low(self) -> float | None:
        """The smallest chance of that; None if unknown."""
        found = chance(self.outlooks, self.outcome)
        return found and found.low

    def result(self, rule: ThresholdRule | ConditionRule | ComparingRule | ScenarioRule) -> RuleResult:
        """The result of the rule that has this outcome, without the value that it was judged by."""
        demand = None if isinstance(rule, NewFailuresRule | ScenarioRule) else rule.demand
        about = rule if isinstance(rule, ThresholdRule | BaselineRule | StepRule) else None
        return RuleResult(
            rule=rule.name,
            level=rule.level,
            outcome=self.outcome,
            reason=self.reason,
            metric=about.metric if about else None,
            slice=about.where if about else (),
            description=rule.description,
            place=rule.place,
            fragile=self.fragile,
            second_run=self.second_run,
            second_run_low=self.second_run_low,
            more_scenarios=self.more_scenarios,
            evidence=demand.evidence if demand else None,
            demand=demand,
            outlooks=self.outlooks,
            patterns=rule.patterns if isinstance(rule, NewFailuresRule) and "*" not in rule.patterns else (),
        )


def judge_value(
    metric: str, value: Value, threshold: Threshold, demand: Demand, alpha: float, support: ValueSupport = NO_SUPPORT
) -> ThresholdOutcome:
    """Whether a metric's value reaches a threshold, by the evidence that the rule demands."""
    number = value.value
    if number is None:
        return ThresholdOutcome(
            "undefined", f"{metric} is undefined: {value.reason}", outlooks=_undefined_outlooks(value)
        )
    bar = threshold.less(demand.margin, value.better)
    outcome, why = _outcome(value, bar, demand, support.failing, met=bar.met_by(number))
    # Too few scenarios turn a pass into inconclusive, never a fail into anything better.
    few = demand.min_scenarios is not None and value.scenarios < demand.min_scenarios
    if few and outcome == "pass":
        outcome, why = "inconclusive", f", but at least {_say_demanded(demand.min_scenarios or 0)}"
    fragile = _is_fragile(value, bar, demand, support.failing)
    unsettled = fragile or outcome == "inconclusive"
    more = _more_needed(value, number, bar, demand, alpha, support) if unsettled else None
    if few and demand.min_scenarios is not None:
        more = max(more or 0, demand.min_scenarios - value.scenarios)
    outlooks = outlooks_of_value(value, bar, demand, alpha, support, at_end=bar.is_perfection(value.better))
    judged = ThresholdOutcome(
        outcome=outcome,
        reason=_reason(value, threshold, bar, met=bar.met_by(number)) + why,
        fragile=fragile,
        more_scenarios=more,
        outlooks=without_passes(outlooks) if few else outlooks,
        accepted=_accepted_failures(value, bar, demand, support.failing),
    )
    # An observed failure counts, however wide the interval is.
    surely_missed = bar.is_perfection(value.better) and not bar.met_by(number)
    return judged if surely_missed else with_doubt(judged, value.doubt, demand)


def _undefined_outlooks(value: Value) -> Outlooks:
    """Undefined again if no scenario records the value; else unknown, because a crash may not happen again."""
    return () if value.scenarios else certain_outlooks("undefined")


def with_doubt(judged: ThresholdOutcome, doubt: Doubt | None, demand: Demand) -> ThresholdOutcome:
    """The same outcome, or inconclusive if the rule demands confidence and no interval is known to hold."""
    if doubt is None or not demand.is_confident:
        return judged
    reason = f"{judged.reason}; with confidence this stays open: {doubt.reason}"
    return ThresholdOutcome("inconclusive", reason, fragile=judged.fragile, outlooks=certain_outlooks("inconclusive"))


def _outcome(value: Value, bar: Threshold, demand: Demand, failing: int | None, *, met: bool) -> tuple[Outcome, str]:
    if not demand.is_confident:
        return ("pass" if met else "fail"), ""
    if bar.is_perfection(value.better):
        number = _say_accepted(demand, failing)
        if not _is_within(value, bar, demand, failing):
            return "fail", number
        tolerated = digits.amount(demand.tolerate, "ratio")
        if _is_excluded(value, bar, demand):
            return "pass", f"{number}; failures above {tolerated} are excluded"
        return "inconclusive", f"{number}, but too few scenarios to exclude failures above {tolerated}"
    possible = _possible(value, bar)
    if possible == {True}:
        return "pass", "; so is the worse end of the interval"
    if possible == {False}:
        return "fail", "; nor is the better end of the interval"
    return "inconclusive", "; the interval reaches across the threshold"


def _possible(value: Value, bar: Threshold) -> set[bool]:
    """Whether the threshold is met, for each value from one end of the interval to the other.

    The ends alone do not tell it: both may differ from a number that lies between them.
    """
    low, high = interval_ends(value)
    if value.value is not None:  # rounded ends may miss it by the last digit
        low, high = min(low, value.value), max(high, value.value)
    return possible_truths(bar.operator, low - bar.value, high - bar.value)


def possible_truths(operator: Operator, low: Fraction | float, high: Fraction | float) -> set[bool]:
    """The truth values of `difference operator 0` for differences between these bounds."""
    signs = [sign for sign, possible in ((-1, low < 0), (0, low <= 0 <= high), (1, high > 0)) if possible]
    return {COMPARE[operator](Fraction(sign), Fraction(0)) for sign in signs}


def _is_within(value: Value, bar: Threshold, demand: Demand, failing: int | None) -> bool:
    """Whether no more failed than a threshold of 100 % accepts; if failures were not counted, all must have passed."""
    return value.value == bar.value or (failing is not None and failing <= demand.failures)


def _say_accepted(demand: Demand, failing: int | None) -> str:
    """How many failed, and how many may; empty without an acceptance number."""
    if not demand.failures:
        return ""
    failed = "failures cannot be counted" if failing is None else f"{count(failing, 'scenario')} failed"
    return f"; {failed}, {demand.failures} {'is' if demand.failures == 1 else 'are'} accepted"


def _accepted_failures(value: Value, bar: Threshold, demand: Demand, failing: int | None) -> tuple[int, int] | None:
    counts = demand.is_confident and demand.failures and bar.is_perfection(value.better)
    return (failing, demand.failures) if counts and failing is not None else None


def interval_ends(value: Value) -> tuple[Fraction | float, Fraction | float]:
    """The two ends of a value's interval, infinite if it is unbounded."""
    low = -math.inf if value.low is None else Fraction(value.low)
    high = math.inf if value.high is None else Fraction(value.high)
    return low, high


def _is_excluded(value: Value, bar: Threshold, demand: Demand) -> bool:
    """Whether failure rates above the tolerated one are excluded.

    With undecided trials at their best, this is what would be excluded if they all turned out well.
    """
    # At best, `low` and `high` also cover the worst case, so the value's own interval counts.
    found = (value.low, value.high) if value.own_low is None else (value.own_low, value.own_high)
    return all(end is not None and abs(Fraction(end) - bar.value) <= demand.tolerate for end in found)


def _is_fragile(value: Value, bar: Threshold, demand: Demand, failing: int | None) -> bool:
    """Whether the interval contains values that reach the threshold and values that do not."""
    if bar.is_perfection(value.better):
        return _is_within(value, bar, demand, failing) and not _is_excluded(value, bar, demand)
    return len(_possible(value, bar)) > 1


def _more_needed(
    value: Value, number: Fraction, bar: Threshold, demand: Demand, alpha: float, support: ValueSupport
) -> int | None:
    """About how many more scenarios would settle it if the value stayed the same; None if no number would."""
    sums = support.sums
    if bar.is_perfection(value.better):
        clusters = sums.clusters if sums is not None else value.scenarios
        seen = 0 if number == bar.value else support.failing
        if seen is None or seen > demand.failures:
            return None
        return _in_scenarios(max(1, clusters_to_exclude(demand.tolerate, alpha, seen) - clusters), value, clusters)
    if sums is not None and value.unit == "ratio":
        rate, aim = (number, bar.value) if value.better == "higher" else (1 - number, 1 - bar.value)
        more = more_scenarios(aim, rate, sums.clusters, alpha, design=observed_design(sums))
        return _in_scenarios(more, value, sums.clusters)
    low, high = (float(end) for end in interval_ends(value))
    return more_by_width(bar.value, number, low, high, value.scenarios, alpha)


def _in_scenarios(units: int | None, value: Value, clusters: int) -> int | None:
    """A number of units of the sums (clusters) in scenarios, at the present ratio of the two; None if unknown."""
    return None if units is None or not clusters else math.ceil(units * value.scenarios / clusters)


def _reason(value: Value, threshold: Threshold, bar: Threshold, *, met: bool) -> str:
    marks = (threshold.value, bar.value)
    word = "is" if met else "is not"
    wanted = digits.show_threshold(threshold.text, value.unit) or threshold.text
    margin = (
        "" if bar is threshold else f" less a margin of {digits.amount(abs(threshold.value - bar.value), value.unit)}"
    )
    counted = f"over {count(value.scenarios, 'scenario')}" + (f", {value.missing} lack it" if value.missing else "")
    return f"{digits.show(value, marks)} {word} {wanted}{margin} ({counted})"


def _say_demanded(scenarios: int) -> str:
    return f"{count(scenarios, 'scenario')} {'is' if scenarios == 1 else 'are'} demanded"


# --- how far the value is beyond the threshold -------------------------------------------------

FAR = Fraction(10, 100)
"""Percentage points, for a ratio. For anything else `FAR_SHARE` of the threshold, which has no natural size."""
FAR_SHARE = Fraction(1, 2)


def slack(threshold: Threshold, value: Value) -> Fraction | None:
    """How much better than the threshold the worse end of the value's interval is; None if that is not far.

    The worse end, not the value: a small run that went well is no reason to raise a bar.
    """
    low, high = interval_ends(value)
    worse = low if value.better == "higher" else high
    if isinstance(worse, float):  # the data do not bound it
        return None
    gap = worse - threshold.value if value.better == "higher" else threshold.value - worse
    far = FAR if value.unit == "ratio" else abs(threshold.value) * FAR_SHARE
    return gap if gap >= far and gap > 0 else None


def slack_notes(results: Iterable[RuleResult]) -> Iterator[str]:
    """A sentence about each rule whose threshold is far below the present level."""
    for result in results:
        if result.slack is not None and result.value is not None and result.threshold is not None:
            unit = result.value.unit
            wanted, gap = (
                digits.show_threshold(result.threshold, unit) or result.threshold,
                digits.gap(result.slack, unit),
            )
            slower = "slower" if unit == "ms" else "worse"
            yield f"{result.rule}: the agent could get {gap} {slower} and still pass {wanted}"
