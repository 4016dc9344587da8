"""Exact values → the digits that a reader sees. Nothing here decides anything: rounding is for display only.

A rounded number never contradicts the exact one: it is on the same side of 0, of 100 % and of every threshold that a
rule compares it with. 89.988 % below a bar of 90 % is shown as 89.988 %, and only 100 % is shown as 100 %.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from highbar.language.formula import FormulaError, metric_first, parse_condition, relations
from highbar.language.limits import LARGEST_WRITTEN_OUT, MOST_PLACES
from highbar.model import Constant, Name, RuleResult, Unit, Value

if TYPE_CHECKING:  # few checks compare, and creating its classes takes time
    from highbar.model.comparison import Difference

_THREE_DIGITS = 100
_SIGNS = MappingProxyType({">=": "≥", "<=": "≤", "!=": "≠", "=": "=", "<": "<", ">": ">"})
_THRESHOLD = re.compile(r"(>=|<=|!=|=|<|>) (-?[0-9]+(?:\.[0-9]+)?)(ms)?")
_SCORE = rf"final_score {_THRESHOLD.pattern}"
_BASELINE = r"(>=|<=) baseline(?: ([+-]) ([0-9]+(?:\.[0-9]+)?)(ms|%)?)?"
_NOTHING: tuple[Fraction, ...] = ()
Bounds = Mapping[str, tuple[Fraction, ...]]
"""For each metric, numbers that rounding must not cross."""


def show(value: Value, bounds: Iterable[Fraction] = _NOTHING) -> str:
    """The value in its unit, with its interval if it has one: `92.0% (82.6–97.2)`; or `undefined`."""
    if value.value is None:
        return "undefined"
    marks = tuple(bounds)
    return amount(value.value, value.unit, marks) + _interval(value, marks)


def amount(value: Fraction, unit: Unit, bounds: Iterable[Fraction] = _NOTHING) -> str:
    """One number in its unit, on the same side of all `bounds` as the exact number."""
    marks = tuple(bounds)
    if unit == "ratio":
        return _digits(value * 100, 1, (0, 100, *(mark * 100 for mark in marks))) + "%"
    text = _digits(value, _places(value, unit), (0, *marks))
    if unit == "USD":
        return f"-${text[1:]}" if text.startswith("-") else f"${text}"
    return {"ms": f"{text} ms", "per token": f"{text} per token"}.get(unit, text)


def gap(size: Fraction, unit: Unit) -> str:
    """The distance between two values of one unit: `2.5 points` for ratios, which is not 2.5 % of either."""
    if unit != "ratio":
        return amount(size, unit)
    points = amount(size, unit).removesuffix("%")
    return f"{points} {'point' if points == '1' else 'points'}"


def change(value: Fraction, unit: Unit) -> str:
    """A difference with its sign, for a ratio in percentage points: `+1.5 points`, `-120 ms`."""
    size = gap(abs(value), unit)
    return f"+{size}" if value > 0 else f"-{size}" if value < 0 else size


def show_change(difference: Difference) -> str:
    """A difference with its bounds: `-4.0 points (-9.1 to +1.0)`; or `undefined`."""
    if difference.value is None:
        return "undefined"
    unit = difference.head.unit
    ends = (None if end is None else change(Fraction(end), unit) for end in (difference.low, difference.high))
    low, high = (end and end.partition(" ")[0] for end in ends)
    known = f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}" if high else ""
    return f"{change(difference.value, unit)} ({known or 'unbounded'})"


def show_threshold(threshold: str, unit: Unit | None) -> str | None:
    """A canonical threshold as a reader writes it: `>= 0.9` of a ratio is `≥ 90%`. None if the text is something else.

    `final_score >= 0.9` is `≥ 90%` too, and `>= baseline - 0.05` is `≥ baseline - 5 points`.
    """
    found = _THRESHOLD.fullmatch(threshold) or re.fullmatch(_SCORE, threshold)
    if found is None:
        return _show_baseline_threshold(threshold, unit)
    bound = Fraction(found[2])
    if unit == "ratio":
        return f"{_SIGNS[found[1]]} {_exact(bound * 100)}%"
    return f"{_SIGNS[found[1]]} {'$' if unit == 'USD' else ''}{_exact(bound)}{' ms' if found[3] else ''}"


def parse_baseline_threshold(threshold: str) -> tuple[str, str, Fraction, bool] | None:
    """The operator, sign and size of `>= baseline - 0.05`, and whether the size is a share; None for other texts."""
    found = re.fullmatch(_BASELINE, threshold)
    if found is None:
        return None
    size = Fraction(found[3] or 0)
    return found[1], found[2] or "", size / 100 if found[4] == "%" else size, found[4] == "%"


def _show_baseline_threshold(threshold: str, unit: Unit | None) -> str | None:
    found = re.fullmatch(_BASELINE, threshold)
    if found is None:
        return None
    sign, way, size, in_ = found.groups()
    if size is None:
        return f"{_SIGNS[sign]} baseline"
    apart = f"{size}%" if in_ == "%" else f"{size} ms" if in_ == "ms" else ""
    if not apart:
        points = unit == "ratio"
        apart = f"{_exact(Fraction(size) * (100 if points else 1))}{' points' if points else ''}"
        apart = "1 point" if apart == "1 points" else f"${apart}" if unit == "USD" else apart
    return f"{_SIGNS[sign]} baseline {way} {apart}"


def parse_threshold(threshold: str) -> tuple[str, Fraction] | None:
    """The operator and the number of a canonical threshold; None if the text is something else."""
    found = _THRESHOLD.fullmatch(threshold)
    return None if found is None else (found[1], Fraction(found[2]))


def threshold_bound(threshold: str) -> Fraction | None:
    """The number of a canonical threshold, `>= 0.9` or `final_score >= 0.9`; None if the text is something else."""
    found = _THRESHOLD.fullmatch(threshold) or re.fullmatch(_SCORE, threshold)
    return None if found is None else Fraction(found[2])


def bounds_by_metric(rules: Iterable[RuleResult]) -> Bounds:
    """For each metric, the thresholds that rules compare it with: rounding must not cross them."""
    found: dict[str, dict[Fraction, None]] = {}
    for rule in rules:
        for metric, bound in _comparisons(rule):
            found.setdefault(metric, {})[bound] = None
    return {metric: tuple(bounds) for metric, bounds in found.items()}


def rule_bounds(rule: RuleResult, bounds: Bounds | None = None) -> tuple[Fraction, ...]:
    """The numbers that the value of a rule must not be rounded across; without `bounds`, only the rule's own."""
    return (bounds_by_metric((rule,)) if bounds is None else bounds).get(rule.metric or "", ())


def _comparisons(rule: RuleResult) -> Iterator[tuple[str, Fraction]]:
    """Each metric that a rule compares with a number, and the number; a condition may have several."""
    if rule.metric is None or rule.threshold is None:
        return
    bound = threshold_bound(rule.threshold)
    if bound is not None:
        yield rule.metric, bound
        return
    try:
        condition = parse_condition(rule.threshold)
    except FormulaError:  # a threshold that is relative to the baseline, or any text in a document that was read back
        return
    for relation in map(metric_first, relations(condition)):
        if isinstance(relation.left, Name) and isinstance(relation.right, Constant):
            yield relation.left.name, relation.right.value


def as_float(value: Fraction, bounds: Iterable[Fraction] = _NOTHING) -> float:
    """The nearest float on the same side of 0, 1 and `bounds` as the exact value; always finite."""
    nearest = _float(value)
    # Readers compare the float with the threshold: it must not seem to meet one that the exact value misses.
    for mark in (Fraction(0), Fraction(1), *bounds):
        if value != mark and nearest == _float(mark):
            nearest = math.nextafter(nearest, -sys.float_info.max if value < mark else sys.float_info.max)
    return nearest


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max


def _interval(value: Value, bounds: tuple[Fraction, ...]) -> str:
    low, high = (_end(end, value.unit, bounds) for end in (value.low, value.high))
    if low and high:
        return f" ({low}–{high})"
    return f" (≥ {low})" if low else f" (≤ {high})" if high else ""


def _end(end: float | None, unit: Unit, bounds: tuple[Fraction, ...]) -> str:
    if end is None or not math.isfinite(end):
        return ""
    text = amount(Fraction(end), unit, bounds)
    return text.removesuffix("%").removesuffix(" ms").removesuffix(" per token").replace("$", "")


def _places(value: Fraction, unit: Unit) -> int:
    """Decimal places for about three significant digits; money has at least two, times one, whole numbers none."""
    if unit != "USD" and value.denominator == 1:
        return 0
    size = abs(value)
    places = next((place for place in range(MOST_PLACES) if size * 10**place >= _THREE_DIGITS), MOST_PLACES)
    return max(places, 2) if unit == "USD" else 1 if unit == "ms" else places


def _digits(value: Fraction, places: int, marks: tuple[Fraction | int, ...]) -> str:
    """`value` with `places` decimals, or as many more as keep it on its side of every mark; a mark itself, in full."""
    if abs(value) >= LARGEST_WRITTEN_OUT:
        return f"{_float(value):.6g}"
    if value in marks:
        return _exact(value)
    for more in (places, *range(max(places, 2) + 1, MOST_PLACES + 1)):
        shown = Fraction(round(value * 10**more), 10**more)
        if all(_side(shown, mark) == _side(value, mark) for mark in marks):
            return _trimmed(_fixed(shown, more), places)
    mark = min(marks, key=lambda mark: abs(value - mark))
    return f"just {'under' if value < mark else 'over'} {_exact(Fraction(mark))}"


def _side(value: Fraction, mark: Fraction | int) -> int:
    return (value > mark) - (value < mark)


def _fixed(value: Fraction, places: int) -> str:
    """A number that has at most `places` decimals, written with exactly that many."""
    whole, rest = divmod(abs(value.numerator) * 10**places // value.denominator, 10**places)
    return ("-" if value < 0 else "") + str(whole) + (f".{rest:0{places}d}" if places else "")


def _trimmed(text: str, places: int) -> str:
    """The text without trailing zeros beyond `places` decimals."""
    whole, _, rest = text.partition(".")
    digits = rest[:places] + rest[places:].rstrip("0")
    return f"{whole}.{digits}" if digits else whole


def _exact(value: Fraction) -> str:
    """All decimals of a number without trailing zeros, at most 40; thresholds are read from decimals, so they fit."""
    places = next((place for place in range(40) if (value * 10**place).denominator == 1), 40)
    return _fixed(Fraction(round(value * 10**places), 10**places), places)
