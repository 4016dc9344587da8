"""Bisection over whole numbers."""

from __future__ import annotations

from collections.abc import Callable


def first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first number from `low` on at which a condition holds that then stays true; `high` if none before it."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
