"""A sequence of numbers → where it is best cut in two, and how often chance alone makes a cut as clear.

The statistic is the largest standardized difference of mean ranks on both sides of a cut: of the whole sequence, and of
parts of it, each length 0.7 times the one before, which overlap by half (seeded binary segmentation; otherwise a change
that is reversed later would go unseen). It is compared with that of the same numbers in random order. So the p-value
accounts for the search over places, and it is valid for numbers of any distribution, if without a change every order of
them is equally likely.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from statistics import median

from msgspec import Struct

SIDE = 3
"""The fewest numbers on either side of a cut: a single one is an outlier, not a change."""
FEWEST = 8
"""The fewest numbers that are cut: with fewer, no order is rare enough."""
_ORDERS, _ENOUGH = 999, 20
"""The most random orders that are tried, and how many of them as clear as the real one end the trying."""
_RESAMPLES, _TAIL = 199, 0.05


class Split(Struct, frozen=True):
    """The best cut is before `place`. In nine of ten resamples it is from `earliest` to `latest`."""

    place: int
    p_value: float
    earliest: int
    latest: int


def best_split(numbers: Sequence[float]) -> Split | None:
    """The best cut; None if there are too few numbers, or if all are equal. The same numbers give the same answer."""
    if not can_be_split(numbers):
        return None
    chance = random.Random(0)  # noqa: S311 - chosen once, so that a page is the same each time
    ranks = _ranks(numbers)
    clear, place, window = max((*_best_cut(ranks, one), one) for one in _windows(len(ranks)))
    p_value = _p_value(ranks, clear, chance)
    start, inside = window.start, numbers[window.start : window.end]
    cut_place = _median_cut(inside, place - start)
    places = sorted(_median_cut(_resample(inside, cut_place, chance), cut_place) for _ in range(_RESAMPLES))
    cut = round(_TAIL * _RESAMPLES)
    earliest, latest = min(cut_place, places[cut]), max(cut_place, places[-1 - cut])
    return Split(start + cut_place, p_value, start + earliest, start + latest)


def can_be_split(numbers: Sequence[float]) -> bool:
    """Whether there are enough numbers to look for a cut, and they differ."""
    return len(numbers) >= FEWEST and min(numbers) < max(numbers)


def _ranks(numbers: Sequence[float]) -> list[float]:
    """The rank of each number minus the mean rank; equal numbers share one."""
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    ranks = [0.0] * len(numbers)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and numbers[order[end]] == numbers[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + end - len(numbers)) / 2
        start = end
    return ranks


class _Window(Struct, frozen=True, order=True):
    """A part of the sequence, with the places at which it may be cut, and the factor that standardizes each cut."""

    start: int
    end: int
    cuts: tuple[tuple[int, float], ...]


@lru_cache(maxsize=64)
def _windows(count: int) -> tuple[_Window, ...]:
    found = []
    length = count
    while length >= FEWEST:
        starts = [*range(0, count - length, max(length // 2, 1)), count - length]
        found += [_window(start, start + length) for start in dict.fromkeys(starts)]
        length = length * 7 // 10
    return tuple(found)


def _window(start: int, end: int) -> _Window:
    length = end - start
    sizes = range(SIDE, length - SIDE + 1)
    return _Window(start, end, tuple((start + one, math.sqrt(length / (one * (length - one)))) for one in sizes))


def _best_cut(ranks: Sequence[float], window: _Window) -> tuple[float, int]:
    """How clearly a part can be cut, and where."""
    sums = (0.0, *accumulate(ranks))
    start, base = window.start, sums[window.start]
    slope = (sums[window.end] - base) / (window.end - start)
    return max((abs(sums[place] - base - slope * (place - start)) * weight, place) for place, weight in window.cuts)


def _median_cut(numbers: Sequence[float], place: int) -> int:
    """The cut with the smallest total distance of the numbers to the median of their side, as cut at `place`.

    By ranks alone a cut can be slightly off: a number that is high among the low ones looks like one of the others.
    """
    low, high = median(numbers[:place]), median(numbers[place:])
    costs = list(accumulate(abs(number - low) - abs(number - high) for number in numbers))
    return min(range(SIDE, len(numbers) - SIDE + 1), key=lambda one: (costs[one - 1], abs(one - place)))


def _clearest(ranks: Sequence[float]) -> float:
    """How clearly any part can be cut; without the place, which keeps it fast: it runs a thousand times."""
    sums = (0.0, *accumulate(ranks))
    clear = 0.0
    for window in _windows(len(ranks)):
        start, base = window.start, sums[window.start]
        slope = (sums[window.end] - base) / (window.end - start)
        base -= slope * start
        here = max([abs(sums[place] - base - slope * place) * weight for place, weight in window.cuts])
        clear = max(clear, here)
    return clear


def _p_value(ranks: Sequence[float], clear: float, chance: random.Random) -> float:
    """The share of random orders that are as clear; it stops once enough of them are (Besag and Clifford 1991)."""
    mixed, reached = list(ranks), 0
    for tried in range(1, _ORDERS + 1):
        chance.shuffle(mixed)
        # With a margin for rounding: an order that is exactly as clear must count.
        reached += _clearest(mixed) >= clear - 1e-9
        if reached == _ENOUGH:
            return reached / tried
    return (reached + 1) / (_ORDERS + 1)


def _resample(numbers: Sequence[float], place: int, chance: random.Random) -> list[float]:
    """As many numbers on each side of the cut, drawn with replacement from that side."""
    sides = numbers[:place], numbers[place:]
    return [number for side in sides for number in chance.choices(side, k=len(side))]
