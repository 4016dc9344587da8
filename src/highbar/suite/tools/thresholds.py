"""A threshold on the share of checks that hold → the same with `any` and `all`: every minimal choice that suffices."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from highbar.documents.problems import ValueCursor

MOST_PARTS = 12
"""The most checks under a threshold: the number of choices doubles with each."""

Weighted = tuple[Any, Fraction]
"""A check and its weight."""


def enough(parts: Sequence[Weighted], threshold: Fraction, place: ValueCursor) -> Any:
    """The check that holds if the parts that hold have at least this share of the weight; None after noting a problem.

    >>> enough([("a", Fraction(1)), ("b", Fraction(1)), ("c", Fraction(1))], Fraction(2, 3), ValueCursor(problems=[]))
    {'any': [{'all': ['a', 'b']}, {'all': ['a', 'c']}, {'all': ['b', 'c']}]}
    """
    total = sum((weight for _, weight in parts), Fraction(0))
    if len(parts) > MOST_PARTS:
        place.refuse("suite.no-counterpart", f"a threshold over more than {MOST_PARTS} assertions", "split the test")
    elif threshold <= 0:
        place.refuse(
            "suite.no-counterpart", "every score reaches this threshold: nothing could fail", "leave the threshold out"
        )
    elif threshold > 1:
        place.refuse(
            "suite.no-counterpart", "no score reaches this threshold: nothing could pass", "a threshold is at most 1"
        )
    else:
        weights = [weight for _, weight in parts]
        if _rounding_decides(weights, threshold):
            place.refuse(
                "suite.no-counterpart",
                "rounding decides whether this threshold is reached",
                "choose one that no sum of weights hits",
            )
            return None
        chosen = _smallest(weights, total * threshold)
        options = [joined_checks([parts[index][0] for index in choice]) for choice in chosen]
        return options[0] if len(options) == 1 else {"any": options}
    return None


def joined_checks(checks: Sequence[Any]) -> Any:
    """The check that holds if all of these do."""
    return checks[0] if len(checks) == 1 else {"all": list(checks)}


def _smallest(weights: Sequence[Fraction], wanted: Fraction) -> list[tuple[int, ...]]:
    """Every choice of weights, by their indexes, that reaches a sum and would not without any one of them."""
    found: list[tuple[int, ...]] = []
    for size in range(1, len(weights) + 1):
        for choice in combinations(range(len(weights)), size):
            is_enough = sum(weights[index] for index in choice) >= wanted
            if is_enough and not any(set(smaller) <= set(choice) for smaller in found):
                found.append(choice)
    return found


def _rounding_decides(weights: Sequence[Fraction], threshold: Fraction) -> bool:
    """Whether the share of some choice is on one side of the threshold exactly, and on the other in doubles.

    promptfoo computes in doubles, so the two tools would then disagree.
    """
    total = sum(weights)
    rounded_total = sum(float(weight) for weight in weights)
    for size in range(1, len(weights) + 1):
        for choice in combinations(weights, size):
            rounded = sum(float(weight) for weight in choice) / rounded_total >= float(threshold)
            if rounded != (sum(choice) >= total * threshold):
                return True
    return False
