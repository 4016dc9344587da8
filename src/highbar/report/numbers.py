"""Numbers for reports that programs read: the same floats as in the JSON report, with all digits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from highbar.language.digits import as_float, threshold_bound
from highbar.model import RuleResult

_NOTHING: tuple[Fraction, ...] = ()


def number(value: Fraction | None, bounds: Iterable[Fraction] = _NOTHING) -> str:
    """The value rounded to a float on the same side of every bound; empty if it is undefined."""
    return "" if value is None else repr(as_float(value, bounds))


def interval_end(found: float | None) -> str:
    """An end of an interval; empty if it is unknown or infinite."""
    return repr(found) if found is not None and math.isfinite(found) else ""


def threshold_number(rule: RuleResult) -> str:
    """The number in a rule's threshold, in the metric's unit; empty if the threshold is not one number."""
    return number(threshold_bound(rule.threshold or "")) if rule.metric else ""


def two_sided_level(each: Fraction) -> float:
    """The confidence that both ends of an interval hold, 2c - 1: 90% if each holds with c = 95%."""
    return float(2 * each - 1)
