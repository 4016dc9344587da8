"""A word and those that it could have been in, the one that was meant out: for "did you mean", and for near misses."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

_LONGEST = 80
_SHORTEST = 4


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `word` most likely stands for: the fewest edits, at most one in three letters; else None."""
    allowed = max(1, min(len(word), _LONGEST) // 3)
    ranked = sorted((_distance(word.lower(), candidate.lower()), candidate) for candidate in set(candidates))
    return ranked[0][1] if ranked and ranked[0][0] <= allowed else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """The hint for an unknown `word`, where there is one to give."""
    found = nearest(word, candidates)
    return f"did you mean '{found}'?" if found else None


def near_miss(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate from which `word` is one edit away, or apart only by case, plural or underscores; else None.

    A word that is a candidate itself misses nothing. Of very short names every other short name is one edit away (`id`
    and `in`), so only the second kind counts there.

    >>> near_miss("adverserial", ["adversarial"]), near_miss("Violation", ["violations"]), near_miss("a", ["a", "b"])
    ('adversarial', 'violations', None)
    """
    return _near_miss(word, frozenset(candidates))


@lru_cache(maxsize=4096)
def _near_miss(word: str, candidates: frozenset[str]) -> str | None:
    """Remembered, as thousands of scenarios have the same few columns and categories."""
    if word in candidates:
        return None
    return next((name for name in sorted(candidates) if _bare(word) == _bare(name) or _one_edit_away(word, name)), None)


def _one_edit_away(word: str, name: str) -> bool:
    return len(name) >= _SHORTEST and _distance(word, name) == 1


def _bare(word: str) -> str:
    """What is left of a word without case, plural, spaces, hyphens and underscores."""
    return word.casefold().translate({ord(mark): None for mark in " -_"}).removesuffix("s")


def _distance(first: str, second: str) -> int:
    """Letters inserted, deleted, replaced, or swapped with their neighbor, to make one word of the other."""
    if abs(len(first) - len(second)) > _LONGEST or max(len(first), len(second)) > 2 * _LONGEST:
        return _LONGEST
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        before, last, row = row, before, [i]
        for j, other in enumerate(second, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
