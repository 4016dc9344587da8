"""Readers of the demands beside a threshold. Each returns a checked value, or None after noting a problem."""

from __future__ import annotations

from fractions import Fraction

from highbar.language.exact import read_decimal
from highbar.language.threshold import read_margin as read_amount
from highbar.language.threshold import read_share
from highbar.model import Metric
from highbar.policy.cursor import Cursor
from highbar.policy.limits import MOST_FAILURES


def read_threshold_margin(cursor: Cursor, metric: Metric) -> Fraction | None:
    """How much worse than its threshold a metric may be, in its unit."""
    text = cursor.scalar("a margin")
    margin = None if text is None else cursor.attempt(lambda: read_amount(text, metric))
    if margin and margin.relative:
        cursor.refuse("a threshold's margin cannot be of the baseline", "give it in the metric's unit")
        return None
    return margin.value if margin else None


def read_tolerate(cursor: Cursor) -> Fraction | None:
    """The failure rate that a threshold of 100 % must exclude."""
    value = cursor.number(read_share, "a share, such as 5%")
    if value is not None and not 0 < value < 1:
        cursor.refuse(f"found {cursor.node.text}, wanted a share above 0 and below 1", "write 5% or 0.05")
        return None
    return value


def read_failures(cursor: Cursor, evidence: str | None) -> int | None:
    """An acceptance number. With `evidence: estimate` it has no effect, so it is refused there."""
    value = read_decimal(cursor.node.text) if cursor.is_kind("number") else None
    if value is None or value.denominator != 1 or value < 0 or "." in cursor.node.text:
        cursor.refuse_kind("a whole number, 0 or more")
        return None
    if value > MOST_FAILURES:
        found = cursor.node.text[:40]
        cursor.refuse(f"found {found}, wanted at most {MOST_FAILURES}", "demand a rate below 100% instead")
        return None
    if evidence == "estimate":
        cursor.refuse("failures has no effect by the estimate", "add `evidence: confident`, or remove failures")
        return None
    return int(value)


def read_count(cursor: Cursor) -> int | None:
    """A whole number from 1: the fewest scenarios, labels or runs."""
    value = read_decimal(cursor.node.text) if cursor.is_kind("number") else None
    if value is None or value.denominator != 1 or value < 1 or "." in cursor.node.text:
        cursor.refuse_kind("a whole number, 1 or more")
        return None
    return int(value)
