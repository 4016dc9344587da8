"""The position of a number on a line of pixels. For drawing only: decides and rounds nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

from msgspec import Struct

from highbar.language.digits import amount
from highbar.model import Unit, Value

_STEPS = (1, 2, 5, 10)


class Axis(Struct, frozen=True):
    """From `start` to `end` in the unit of what is drawn, over the pixels from `left` to `right`."""

    start: float
    end: float
    step: float
    left: float
    right: float
    unit: Unit

    def at(self, number: float) -> float:
        """The pixel of a number; a number beyond an end is drawn at that end."""
        inside = min(max(number, self.start), self.end)
        return round(self.left + (inside - self.start) / (self.end - self.start) * (self.right - self.left), 1)

    def ticks(self, most: int = 6) -> Iterator[tuple[float, str]]:
        """Pixels and labels of round numbers, from the start on; at most about `most`."""
        step = self.step * max(1, math.ceil((self.end - self.start) / self.step / most))
        count = math.floor((self.end - self.start) / step + 1e-9)
        for place in range(count + 1):
            number = self.start + place * step
            yield self.at(number), _label(number, self.unit)


def _label(number: float, unit: Unit) -> str:
    """A round number at an axis, in the unit of what is drawn."""
    return amount(Fraction(f"{number:.9g}"), unit).replace(".0%", "%")


def around(numbers: Iterable[float], unit: Unit, left: float, right: float, *, signed: bool = False) -> Axis:
    """An axis that shows all of the numbers with some room beside them, and has round numbers at its ends.

    It stays in the range of the unit, above 0 and below 100 %, unless the numbers are `signed`, as differences are.
    """
    known = sorted(number for number in numbers if math.isfinite(number))
    low, high = (known[0], known[-1]) if known else (0.0, 1.0)
    room = 0.15 * (high - low) or (0.1 if unit == "ratio" and abs(high) <= 1 else max(abs(high), 1.0) * 0.5)
    least, most = (-math.inf if signed else 0.0), (1.0 if unit == "ratio" and not signed else math.inf)
    low, high = max(low - room, min(low, least)), min(high + room, max(high, most))
    step = _round((high - low) / 4)
    start, end = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return Axis(start, max(end, start + step), step, left, right, unit)


def from_zero(end: float, unit: Unit, left: float, right: float) -> Axis:
    """An axis from nothing to at least `end`."""
    step = _round(end / 6) if end > 0 else 1.0
    return Axis(0.0, max(math.ceil(end / step - 1e-9), 1) * step, step, left, right, unit)


def numbers_of(value: Value | None) -> tuple[float, ...]:
    """A value and the ends of its interval, as far as they are known and can be drawn."""
    if value is None or value.value is None:
        return ()
    found = (as_number(value.value), value.low, value.high)
    return tuple(number for number in found if number is not None and math.isfinite(number))


def as_number(value: Fraction) -> float:
    """The nearest float; what is larger than any is drawn at the end."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _round(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((power * step for step in _STEPS if power * step >= least * (1 - 1e-9)), power * 10)
