"""The text of a threshold and its metric → an exact threshold; also margins, shares, durations and amounts.

An ambiguous text is refused, never guessed. A threshold must have a unit that fits, a value that the metric can have,
and an operator in the metric's good direction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct

from highbar.errors import HighbarError
from highbar.language.exact import NUMBER, write_decimal
from highbar.language.limits import MOST_DIGITS
from highbar.model import Metric, Operator, Threshold, Unit

_OPERATORS: dict[str, Operator] = {
    "≥": ">=",
    ">=": ">=",
    ">": ">",
    "≤": "<=",
    "<=": "<=",
    "<": "<",
    "=": "=",
    "==": "=",
}
_THRESHOLD = re.compile(rf"\s*(≥|>=|>|≤|<=|<|==|=)?\s*(-?)(?:\$({NUMBER})|({NUMBER})\s*(%|ms|s|USD)?)\s*", re.ASCII)
_OF_BASELINE = rf"(?ai)\s*({NUMBER})\s*%\s+of\s+(?:the\s+)?baseline\s*"


class _UnitFacts(Struct, frozen=True):
    """What a unit is called, how its thresholds are written, and the range of its metrics."""

    name: str
    example: str
    factors: Mapping[str, Fraction]  # for each suffix, its size in this unit
    lowest: Fraction | None
    highest: Fraction | None


_ZERO, _ONE = Fraction(0), Fraction(1)
_UNITS: dict[Unit, _UnitFacts] = {
    "ratio": _UnitFacts("a ratio", "95%, or 0.95", {"%": Fraction(1, 100)}, _ZERO, _ONE),
    "ms": _UnitFacts(
        "a time in milliseconds", "5000ms, 5s, or 5000", {"": _ONE, "ms": _ONE, "s": Fraction(1000)}, _ZERO, None
    ),
    "USD": _UnitFacts("an amount in US dollars", "$0.05", {"": _ONE, "$": _ONE}, _ZERO, None),
    "per token": _UnitFacts("a number per token", "0.002", {"": _ONE}, _ZERO, None),
    "number": _UnitFacts("a plain number", "12.5", {"": _ONE}, None, None),
}


class ThresholdError(HighbarError):
    """A threshold, margin or share that cannot be read, is ambiguous, or does not fit its metric."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


class Margin(Struct, frozen=True):
    """How much worse is still accepted: in the metric's unit or, if `relative`, as a share of the baseline's value."""

    value: Fraction
    relative: bool = False


class _ThresholdText(Struct, frozen=True):
    """The parts of a threshold's text; `suffix` is its unit: "" if it has none, "$" for dollars in either spelling."""

    operator: Operator | None
    value: Fraction
    digits: str
    suffix: str


def read(text: str, metric: Metric) -> Threshold:
    """The threshold that `text` sets for `metric`; without an operator, in its good direction with equality passing.

    For a ratio that is better when higher, a number without a unit is a percentage if above 1, and a fraction from 0 to
    1; a bare `1` could be either and is refused. If lower is better, a number without a unit is refused unless it is a
    fraction with an operator before it.
    """
    written = _take_apart(text, metric.unit, _UNITS[metric.unit].example)
    value = _value(written, metric)
    operator = written.operator or (">=" if metric.better == "higher" else "<=")
    check_threshold(metric, operator, value)
    return Threshold(operator, value, metric.unit, canonical(operator, value, metric.unit))


def canonical(operator: Operator, value: Fraction, unit: Unit) -> str:
    """The text of a threshold: `>= 0.9`, `>= 1.0`, `< 5000ms`. Reading it again gives the same threshold."""
    number = write_decimal(value)
    if unit == "ratio" and "." not in number:
        number += ".0"  # a bare 1 would be ambiguous
    return f"{operator} {number}{'ms' if unit == 'ms' else ''}"


def check_threshold(metric: Metric, operator: Operator, value: Fraction) -> None:
    """Refuse a value that is outside the range of `metric`, or an operator against its direction."""
    _check_range(metric, operator, value)
    against = ("<=", "<") if metric.better == "higher" else (">=", ">")
    sign = "≥" if metric.better == "higher" else "≤"
    if operator in against:
        message = f"{metric.name} is better when {metric.better}, found '{operator}'"
        raise ThresholdError("threshold.wrong-direction", message, f"write {sign} {_show(value, metric.unit)}")
    best = _end(metric, good=True)
    if operator == "=" and value != best:
        at = f"only = {_show(best, metric.unit)} can be demanded" if best is not None else "no value is the best one"
        raise ThresholdError(
            "threshold.wrong-direction",
            f"{metric.name} = {_show(value, metric.unit)} would refuse better values too; {at}",
            f"write {sign} {_show(value, metric.unit)}",
        )
    if operator == "!=" and value != _end(metric, good=False):
        message = f"{metric.name} ≠ {_show(value, metric.unit)} would accept worse values"
        raise ThresholdError("threshold.wrong-direction", message, f"write {sign} and the least that is accepted")


def read_margin(text: str, metric: Metric) -> Margin:
    """How much worse than before is accepted: percentage points for a ratio, else its unit or `5% of baseline`."""
    relative = re.fullmatch(_OF_BASELINE, text)
    wanted = (
        "1%, in percentage points" if metric.unit == "ratio" else f"{_UNITS[metric.unit].example}, or 5% of baseline"
    )
    if relative:
        if metric.unit == "ratio":
            raise ThresholdError(
                "threshold.wrong-unit", f"found '{text}' for {metric.name}, which is a ratio", f"write {wanted}"
            )
        return Margin(_fraction(relative.group(1)) / 100, relative=True)
    written = _take_apart(text, metric.unit, wanted)
    factor = _UNITS[metric.unit].factors.get(written.suffix)
    if written.operator or written.value < 0 or factor is None:
        message = f"found '{text}' as a margin of {metric.name}, {_UNITS[metric.unit].name}"
        raise ThresholdError("threshold.wrong-unit", message, _margin_hint(written, metric.unit) or f"write {wanted}")
    if metric.unit == "ratio" and written.value * factor >= 1:
        raise ThresholdError("threshold.constant", f"a margin of {text} accepts everything", f"write {wanted}")
    return Margin(written.value * factor)


def _margin_hint(written: _ThresholdText, unit: Unit) -> str | None:
    """The margin that was most likely meant; None if that is not clear."""
    if unit != "ratio" or written.suffix or not 0 < written.value < 1:
        return None
    return f"write {write_decimal(written.value * 100)}%, in percentage points"


def read_share(text: str) -> Fraction:
    """A share from 0 to 1, written `5%` or `0.05`; a bare 1 is refused, as in a threshold."""
    written = _take_apart(text, "ratio", "5%, or 0.05")
    value = written.value / 100 if written.suffix == "%" else written.value
    if written.operator or written.suffix not in ("", "%"):
        raise ThresholdError("threshold.unreadable", f"found '{text}', wanted a share", _share_hint(written))
    if value == 1 and written.digits == "1":
        raise ThresholdError("threshold.ambiguous", "1 could be 1% or 100%", "write 1%, 100% or 1.0")
    if not 0 <= value <= 1:
        raise ThresholdError(
            "threshold.out-of-range", f"found {text}, wanted a share from 0 to 1", _share_hint(written)
        )
    return value


def _share_hint(written: _ThresholdText) -> str:
    """The share that was most likely meant; an example if that is not clear."""
    if written.suffix not in ("", "%") or not 0 <= written.value <= 100:
        return "write 5% or 0.05"
    if written.suffix or written.value <= 1:
        return f"write {written.digits}{written.suffix}"
    share = write_decimal(written.value / 100)
    return f"write {written.digits}% or {share if '.' in share else f'{share}.0'}"


def read_duration(text: str) -> Fraction:
    """A time above 0 in milliseconds, written `5000ms`, `5s` or `5000`."""
    written = _take_apart(text, "ms", _UNITS["ms"].example)
    factor = _UNITS["ms"].factors.get(written.suffix)
    if written.operator or factor is None or written.value <= 0:
        raise ThresholdError(
            "threshold.unreadable", f"found '{text}', wanted a time above 0", f"write {_UNITS['ms'].example}"
        )
    return written.value * factor


def read_positive(text: str) -> Fraction:
    """A plain number above 0, such as a weight."""
    written = _take_apart(text, "number", "2.0")
    if written.operator or written.suffix or written.value <= 0:
        raise ThresholdError("threshold.unreadable", f"found {text}, wanted a number above 0", "for example 2.0")
    return written.value


def read_dollars(text: str) -> Fraction:
    """An amount of US dollars above 0, written `$0.05` or `0.05`."""
    written = _take_apart(text, "USD", _UNITS["USD"].example)
    if written.operator or written.suffix not in _UNITS["USD"].factors or written.value <= 0:
        raise ThresholdError(
            "threshold.unreadable",
            f"found '{text}', wanted an amount of US dollars above 0",
            f"write {_UNITS['USD'].example}",
        )
    return written.value


def has_unit(text: str) -> bool:
    """Whether a threshold's text names its unit: `5s` does, `5` does not."""
    return text.strip()[-1:].isalpha() or "%" in text or "$" in text


def _take_apart(text: str, unit: Unit, example: str) -> _ThresholdText:
    match = _THRESHOLD.fullmatch(text)
    if not match:
        hint = f"write {meant(text, unit) or example}"
        raise ThresholdError("threshold.unreadable", f"cannot read '{text[:60]}' as {_UNITS[unit].name}", hint)
    operator, sign, dollars, number, suffix = match.groups()
    digits = dollars or number
    value = _fraction(digits)
    unit_sign = "$" if dollars or suffix == "USD" else suffix or ""
    return _ThresholdText(_OPERATORS[operator] if operator else None, -value if sign else value, digits, unit_sign)


# Kept as text and compiled only if a threshold cannot be read: start-up must stay fast.
_ANY_NUMBER = r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]*[.,]?[0-9]+"
_AT_LEAST = r"at least|minimum|more than|above|over|>|≥|\+"
_AT_MOST = r"at most|maximum|\bmax\b|less than|below|under|within|<|≤"
_MINUTES = r"[0-9]\s*m(in|inute|inutes)?\b"
_MILLISECONDS = r"[0-9]\s*(ms|msec|millis|milliseconds?)\b"
_SECONDS = r"[0-9]\s*(s|secs?|seconds?)\b"


def meant(text: str, unit: Unit) -> str | None:
    """The threshold that an unreadable text most likely means, for a hint; None unless it has exactly one number.

    >>> meant("at least 90 percent", "ratio"), meant("5 seconds", "ms"), meant("2 min", "ms"), meant("5 cents", "USD")
    ('≥ 90%', '5s', '120s', None)
    """
    numbers = re.findall(_ANY_NUMBER, text, re.ASCII)
    if len(numbers) != 1 or len(numbers[0]) > MOST_DIGITS:
        return None
    grouped = re.fullmatch(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?", numbers[0])
    number = Fraction(numbers[0].replace(",", "" if grouped else "."))
    amount = _meant_amount(text, number, unit)
    least, most = re.search(_AT_LEAST, text, re.IGNORECASE), re.search(_AT_MOST, text, re.IGNORECASE)
    operator = "" if bool(least) == bool(most) else "≥ " if least else "≤ "
    return None if amount is None else f"{operator}{amount}"


def _meant_amount(text: str, number: Fraction, unit: Unit) -> str | None:
    """The number in the unit that the words around it name; None if they name no unit that fits."""
    digits = write_decimal(number)
    if unit == "ratio":
        whole = number > 1 or "%" in text or "percent" in text.lower()
        return f"{digits}%" if whole else f"{write_decimal(number * 100)}%"
    if unit == "ms":
        if re.search(_MILLISECONDS, text, re.IGNORECASE):
            return f"{digits}ms"
        if re.search(_SECONDS, text, re.IGNORECASE):
            return f"{digits}s"
        return f"{write_decimal(number * 60)}s" if re.search(_MINUTES, text, re.IGNORECASE) else None
    if unit == "USD":
        return f"${digits}" if re.search(r"\$|usd|dollar", text, re.IGNORECASE) else None
    return digits


def _fraction(digits: str) -> Fraction:
    if len(digits) > MOST_DIGITS:
        raise ThresholdError("file.too-many-digits", f"the number has more than {MOST_DIGITS} digits")
    return Fraction(digits)


def _value(written: _ThresholdText, metric: Metric) -> Fraction:
    if metric.unit == "ratio" and not written.suffix:
        return _bare_ratio(written, metric)
    factor = _UNITS[metric.unit].factors.get(written.suffix)
    if factor is None:
        hint = f"write {_in_its_unit(written.digits, metric.unit)}"
        if metric.unit == "number" and written.suffix == "%":
            hint = "add 'range: 0-100%' to the metric if it is a ratio"
        found = f"${written.digits}" if written.suffix == "$" else f"{written.digits}{written.suffix}"
        raise ThresholdError(
            "threshold.wrong-unit", f"{metric.name} is {_UNITS[metric.unit].name}, found '{found}'", hint
        )
    return written.value * factor


def _in_its_unit(digits: str, unit: Unit) -> str:
    """The number in the spellings of a unit."""
    written = {"ratio": f"{digits}%", "ms": f"{digits}ms or {digits}s", "USD": f"${digits}"}
    return written.get(unit, digits)


def _bare_ratio(written: _ThresholdText, metric: Metric) -> Fraction:
    digits, value = written.digits, written.value
    if value < 0:
        raise ThresholdError(
            "threshold.out-of-range", f"-{digits} is outside the range of {metric.name}, which is from 0% to 100%"
        )
    if digits == "1":
        raise ThresholdError("threshold.ambiguous", "1 could be 1% or 100%", "write 1%, 100% or 1.0")
    if metric.better == "higher":
        return value / 100 if value > 1 else value
    if written.operator is None or value > 1:
        message = f"{digits} could be a percentage or a fraction, and {metric.name} is better when lower"
        raise ThresholdError(
            "threshold.ambiguous", message, f"write {digits}%" if value > 1 else f"write {write_decimal(value * 100)}%"
        )
    return value


def _check_range(metric: Metric, operator: Operator, value: Fraction) -> None:
    lowest, highest = _UNITS[metric.unit].lowest, _UNITS[metric.unit].highest
    shown = _show(value, metric.unit)
    if (lowest is not None and value < lowest) or (highest is not None and value > highest):
        wanted = "from 0% to 100%" if highest is not None else "0 or more"
        raise ThresholdError(
            "threshold.out-of-range", f"{shown} is outside the range of {metric.name}, which is {wanted}"
        )
    if (operator == ">" and value == highest) or (operator == "<" and value == lowest):
        hint = f"write {'≥' if operator == '>' else '≤'} {shown}"
        raise ThresholdError("threshold.constant", f"{metric.name} {operator} {shown} can never hold", hint)


def _end(metric: Metric, *, good: bool) -> Fraction | None:
    """The best or the worst value that the metric can have; None if its range is open at that end."""
    upper = (metric.better == "higher") == good
    return _UNITS[metric.unit].highest if upper else _UNITS[metric.unit].lowest


def _show(value: Fraction, unit: Unit) -> str:
    if unit == "ratio":
        return f"{write_decimal(value * 100)}%"
    return f"{write_decimal(value)}{'ms' if unit == 'ms' else ''}"
