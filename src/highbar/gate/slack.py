"""Finds thresholds far below the present level, where the agent could get much worse and the rule would still pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from highbar.gate.thresholds import interval_ends
from highbar.language import digits
from highbar.model import RuleResult, Threshold, Value

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
            wanted, gap = digits.wanted(result.threshold, unit) or result.threshold, digits.gap(result.slack, unit)
            slower = "slower" if unit == "ms" else "worse"
            yield f"{result.rule}: the agent could get {gap} {slower} and still pass {wanted}"
