"""Searches over real numbers; over whole numbers, `bisect` of the standard library does it."""

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


def root(function: Callable[[float], float], start: float, stop: float, close: float = 1e-7) -> float:
    """The point at which a function changes its sign (Illinois method); if it does not, the end nearer to one."""
    first, last = function(start), function(stop)
    if (first > 0) == (last > 0):
        return start if abs(first) < abs(last) else stop
    for _ in range(_STEPS):
        middle = (start * last - stop * first) / (last - first)
        found = function(middle)
        if (found > 0) == (last > 0):
            first /= 2
            step, stop, last = abs(stop - middle), middle, found
        else:
            step, start, stop, first, last = abs(start - middle), stop, middle, last, found
        if step <= close or found == 0.0:
            break
    return stop
