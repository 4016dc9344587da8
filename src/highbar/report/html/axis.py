"""Axes: the pixel position of a number. Only for drawing: no number that is shown or compared is rounded here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

from msgspec import Struct

from highbar.language.digits import amount
from highbar.model import Unit, Value

_STEPS = (1, 2, 5, 10)


class Axis(Struct, frozen=True):
    """An axis from `start` to `end` in the given unit, drawn from pixel `left` to pixel `right`."""

    start: float
    end: float
    step: float
    left: float
    right: float
    unit: Unit

    def at(self, number: float) -> float:
        """The pixel of a number; a number outside of the axis is drawn at its end."""
        inside = min(max(number, self.start), self.end)
        return round(self.left + (inside - self.start) / (self.end - self.start) * (self.right - self.left), 1)

    def ticks(self, most: int = 6) -> Iterator[tuple[float, str]]:
        """The pixels and labels of about `most` round numbers at most, from `start` on."""
        step = self.step * max(1, math.ceil((self.end - self.start) / self.step / most))
        count = math.floor((self.end - self.start) / step + 1e-9)
        for place in range(count + 1):
            number = self.start + place * step
            yield self.at(number), _label(number, self.unit)


def _label(number: float, unit: Unit) -> str:
    """The label of a round number in the axis's unit."""
    return amount(Fraction(f"{number:.9g}"), unit).replace(".0%", "%")


def around(numbers: Iterable[float], unit: Unit, left: float, right: float, *, signed: bool = False) -> Axis:
    """An axis that shows all the numbers with some room around them, and ends at round numbers.

    It does not extend below 0, or for ratios above 100%, unless a number does or they are `signed`, like differences.
    """
    known = sorted(number for number in numbers if math.isfinite(number))
    low, high = (known[0], known[-1]) if known else (0.0, 1.0)
    room = 0.15 * (high - low) or (0.1 if unit == "ratio" and abs(high) <= 1 else max(abs(high), 1.0) * 0.5)
    least, most = (-math.inf if signed else 0.0), (1.0 if unit == "ratio" and not signed else math.inf)
    low, high = max(low - room, min(low, least)), min(high + room, max(high, most))
    step = _round((high - low) / 4)
    # 1e-9 keeps a float error, such as in 0.3 / 0.1, from adding a whole step.
    start, end = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return Axis(start, max(end, start + step), step, left, right, unit)


def from_zero(end: float, unit: Unit, left: float, right: float) -> Axis:
    """An axis from 0 to at least `end`."""
    step = _round(end / 6) if end > 0 else 1.0
    return Axis(0.0, max(math.ceil(end / step - 1e-9), 1) * step, step, left, right, unit)


def numbers_of(value: Value | None) -> tuple[float, ...]:
    """A value and the ends of its interval, without those that are unknown or infinite."""
    if value is None or value.value is None:
        return ()
    found = (as_number(value.value), value.low, value.high)
    return tuple(number for number in found if number is not None and math.isfinite(number))


def as_number(value: Fraction) -> float:
    """The nearest float; infinite if the value exceeds all floats, so that it is drawn at the end of the axis."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _round(least: float) -> float:
    """The smallest number that is 1, 2 or 5 times a power of ten and at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((power * step for step in _STEPS if power * step >= least * (1 - 1e-9)), power * 10)
