"""Bisection over whole and over real numbers, and the smallest value of a function that falls and then rises."""

from __future__ import annotations

from collections.abc import Callable

_STEPS = 60  # from 2 down to the last digit of a double
_GOLDEN = (5**0.5 - 1) / 2
_NARROWER = 12
"""Leaves the place known to three thousandths of the way, and the smallest value to about their square."""


def first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first number from `low` on at which a condition holds that then stays true; `high` if none before it."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def turning_point(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """The point at which a condition that is true at `low` becomes false, by bisection to the last digit."""
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return 0.5 * (low + high)


def smallest(function: Callable[[float], float], start: float, stop: float) -> float:
    """The smallest value between two places of a function that falls and then rises, by the golden section."""
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
