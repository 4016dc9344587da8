"""Bisection over real numbers; over whole numbers, `bisect` of the standard library does it."""

from __future__ import annotations

from collections.abc import Callable

_STEPS = 60  # from 2 down to the last digit of a double


def bisect(inside: float, outside: float, holds: Callable[[float], bool]) -> tuple[float, float]:
    """The last point at which a condition holds that is true at `inside`, and the first toward `outside` without it."""
    for _ in range(_STEPS):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside, outside


def turning_point(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """The point at which a condition that is true at `low` becomes false, by bisection to the last digit."""
    return 0.5 * sum(bisect(low, high, holds))
