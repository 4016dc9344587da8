"""Gauss–Legendre integration of a smooth function."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

_POINTS = 32


def integrate(function: Callable[[float], float], start: float, stop: float) -> float:
    """∫ function over [start, stop], exact for polynomials of degree 63."""
    middle, half = 0.5 * (start + stop), 0.5 * (stop - start)
    return half * sum(weight * function(middle + half * node) for node, weight in _nodes())


@cache
def _nodes() -> tuple[tuple[float, float], ...]:
    """The zeros of the Legendre polynomial and their weights, by Newton's method; made once, when first needed."""
    pairs = []
    for index in range(_POINTS):
        x = math.cos(math.pi * (index + 0.75) / (_POINTS + 0.5))
        for _ in range(6):
            value, slope = _legendre(x)
            x -= value / slope
        slope = _legendre(x)[1]
        pairs.append((x, 2.0 / ((1.0 - x * x) * slope * slope)))
    return tuple(pairs)


def _legendre(x: float) -> tuple[float, float]:
    """The Legendre polynomial of degree `_POINTS` at x, and its derivative."""
    before, value = 1.0, x
    for degree in range(2, _POINTS + 1):
        before, value = value, ((2 * degree - 1) * x * value - (degree - 1) * before) / degree
    return value, _POINTS * (x * value - before) / (x * x - 1.0)
