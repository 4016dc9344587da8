"""Bisection over whole and over real numbers, and the minimum of a function that falls and then rises."""

from __future__ import annotations

from collections.abc import Callable

_STEPS = 60  # from 2 down to the last digit of a double
_GOLDEN = (5**0.5 - 1) / 2
_NARROWER = 12
"""This many steps locate the minimum to 0.3 % of the range, and give its value to about the square of that."""


def first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first number from `low` on at which a condition becomes true, and stays so; `high` if there is no smaller."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def bisect(inside: float, outside: float, holds: Callable[[float], bool]) -> tuple[float, float]:
    """The last point at which a condition holds that is true at `inside`, and the first toward `outside` without it."""
    for _ in range(_STEPS):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside, outside


def turning_point(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """The point at which a condition that is true at `low` becomes false, by bisection to the last digit."""
    return 0.5 * sum(bisect(low, high, holds))


def smallest(function: Callable[[float], float], start: float, stop: float) -> float:
    """The minimum between `start` and `stop` of a function that falls and then rises, by the golden section."""
    left, right = stop - _GOLDEN * (stop - start), start + _GOLDEN * (stop - start)
    at_left, at_right = function(left), function(right)
    for _ in range(_NARROWER):
        if at_left <= at_right:
            stop, right, at_right = right, left, at_left
            left = stop - _GOLDEN * (stop - start)
            at_left = function(left)
        else:
            start, left, at_left = left, right, at_right
            right = start + _GOLDEN * (stop - start)
            at_right = function(right)
    return min(at_left, at_right)
