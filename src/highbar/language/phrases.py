"""Numbers and names → the words of a message: plurals and lists, written once for all messages."""

from __future__ import annotations

from collections.abc import Sequence

from highbar.language.limits import MOST_NAMES


def count(number: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "scenario"), count(2, "scenario")
    ('1 scenario', '2 scenarios')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def ordinal(number: str) -> str:
    """A number, whole or not, as a rank.

    >>> ordinal("95"), ordinal("1"), ordinal("99.9"), ordinal("12")
    ('95th', '1st', '99.9th', '12th')
    """
    teen = number[-2:-1] == "1"
    return number + ("th" if teen or "." in number else {"1": "st", "2": "nd", "3": "rd"}.get(number[-1:], "th"))


def some(names: Sequence[str], most: int = MOST_NAMES, total: int | None = None) -> str:
    """The first of several names, and an ellipsis if there are more; `total` counts all, if `names` has only some.

    >>> some(["a", "b"]), some(["a", "b", "c"], most=2)
    ('a, b', 'a, b, …')
    """
    left_out = (len(names) if total is None else total) > len(names[:most])
    return ", ".join(names[:most]) + (", …" if left_out else "")


def some_and_more(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """The first of several names, and how many are left out.

    >>> some_and_more(["a", "b", "c"], most=1)
    'a and 2 more'
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
