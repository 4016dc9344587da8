"""A sequence of numbers → where it is best cut in two, and how often chance alone makes a cut as clear.

The statistic is the largest standardized difference of mean ranks over all places of the cut. It is compared with that
of the same numbers in random order. So the p-value takes into account that the place was searched for, and it is valid
for numbers of any distribution, if without a change every order of them is equally likely.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

SIDE = 3
"""So many numbers are on either side at least: a single one is an outlier, not a change."""
FEWEST = 8
"""Of fewer numbers no order is rare enough."""
_ORDERS, _ENOUGH = 1999, 20
"""How many random orders are tried at most, and after how many as clear as the real one it is no use to go on."""
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
    place, clear = _best(ranks)
    p_value = _p_value(ranks, clear, chance)
    places = sorted(_best(_ranks(_resampled(numbers, place, chance)))[0] for _ in range(_RESAMPLES))
    cut = round(_TAIL * _RESAMPLES)
    return Split(place, p_value, min(place, places[cut]), max(place, places[-1 - cut]))


def can_be_split(numbers: Sequence[float]) -> bool:
    """Whether there are enough numbers to look for a cut, and they differ."""
    return len(numbers) >= FEWEST and min(numbers) < max(numbers)


def _ranks(numbers: Sequence[float]) -> list[float]:
    """The rank of each number less the mean rank; equal numbers share one."""
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


def _best(ranks: Sequence[float]) -> tuple[int, float]:
    count = len(ranks)
    sums = list(accumulate(ranks))
    found = [
        (abs(sums[place - 1]) / math.sqrt(place * (count - place)), place) for place in range(SIDE, count - SIDE + 1)
    ]
    clear, place = max(found, key=lambda one: one[0])
    return place, clear


def _p_value(ranks: Sequence[float], clear: float, chance: random.Random) -> float:
    """By random orders; as soon as enough of them are as clear, the share so far (Besag and Clifford 1991)."""
    mixed, reached = list(ranks), 0
    for tried in range(1, _ORDERS + 1):
        chance.shuffle(mixed)
        reached += _best(mixed)[1] >= clear - 1e-9
        if reached == _ENOUGH:
            return reached / tried
    return (reached + 1) / (_ORDERS + 1)


def _resampled(numbers: Sequence[float], place: int, chance: random.Random) -> list[float]:
    """Numbers drawn with replacement, on each side of the cut from that side."""
    sides = numbers[:place], numbers[place:]
    return [number for side in sides for number in chance.choices(side, k=len(side))]
