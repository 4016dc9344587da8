"""The exact numbers in a text, each with its place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, localcontext
from functools import lru_cache

from highbar.checks.folding import simple
from highbar.checks.tree import Number, NumberIs
from highbar.documents.limits import MOST_DIGITS

_RUN = re.compile(r"\.?[0-9]+(?:[.,][0-9]+)*")
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_GROUPED_BY_POINTS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+")
_DECIMAL = re.compile(r"[0-9]*\.?[0-9]+")
_EXPONENT = re.compile(r"[eE][-+]?[0-9]+")
_BETWEEN = re.compile(r"[^,]+")


def numbers(text: str, *, inside_words: bool = False) -> Iterator[tuple[Decimal, int, int]]:
    """Each number in `text` with its start and end. A point is decimal, commas group thousands, digits of any script.

    A minus counts unless something is right before it (10-12 is a range). Neither a name (B12) nor a version (1.2.3) is
    a number; with `inside_words`, digits after a letter are.

    >>> [str(number) for number, _, _ in numbers("-1,250.5 of B12 in 1.2.3, or 7%")]
    ['-1250.5', '7']
    """
    digits = _with_plain_digits(simple(text))
    for run in _RUN.finditer(digits):
        start, end = run.span()
        before = digits[start - 1] if start else ""
        # After a point it is the rest of a version or of an ellipsis; after a letter it is part of a name.
        if before == "." or (before.isalpha() and not inside_words):
            continue
        if _DECIMAL.fullmatch(run[0]):
            exponent = _EXPONENT.match(digits, end)
            end = exponent.end() if exponent else end
            found = _decimal(digits[start:end])
        elif _GROUPED.fullmatch(run[0]):
            found = _decimal(run[0].replace(",", ""))
        elif _GROUPED_BY_POINTS.fullmatch(run[0]):
            found = _decimal(run[0].replace(".", "").replace(",", "."))
        else:
            yield from _comma_separated(run)
            continue
        if found is not None:
            signed = before in ("-", "+") and not (start > 1 and _ends_something(digits[start - 2]))
            yield (found.copy_negate() if before == "-" else found) if signed else found, start - signed, end


def _comma_separated(run: re.Match[str]) -> Iterator[tuple[Decimal, int, int]]:
    """Numbers that are separated by commas without spaces: `1,5,7`."""
    for part in _BETWEEN.finditer(run[0]):
        found = _decimal(part[0]) if _DECIMAL.fullmatch(part[0]) else None
        if found is not None:
            yield found, run.start() + part.start(), run.start() + part.end()


def _decimal(text: str) -> Decimal | None:
    """The number; None if it is too long to equal any number that a check can want."""
    if len(text) > MOST_DIGITS or len(text.lower().partition("e")[2]) > len("+400"):
        return None
    found = Decimal(text)
    return found if abs(found.adjusted()) <= MOST_DIGITS else None


def _ends_something(character: str) -> bool:
    return character.isalnum() or character in ".)]%"


def _with_plain_digits(text: str) -> str:
    """`text` with the digits of all scripts as ASCII; the length stays."""
    if text.isascii():
        return text
    table = {ord(c): str(unicodedata.decimal(c)) for c in set(text) if unicodedata.decimal(c, None) is not None}
    return text.translate(table | {0x66B: ".", 0x66C: ","})


def is_wanted(found: Number, check: NumberIs) -> bool:
    """Whether a number is one that the check wants, or near enough to it."""
    if not check.within:
        return found in check.wanted  # a decimal equals a whole number of the same value
    return any(low <= found <= high for low, high in _bounds(check))


@lru_cache(maxsize=256)
def _bounds(check: NumberIs) -> tuple[tuple[Decimal, Decimal], ...]:
    """The least and the greatest number that is near enough to each wanted one, exact."""
    # Decimal rounds to 28 digits by default, and a rounded bound would accept numbers that are too far away.
    with localcontext(prec=16 * MOST_DIGITS):
        size = Decimal(check.within)
        exact = [(Decimal(wanted), abs(Decimal(wanted))) for wanted in check.wanted]
        margins = [(wanted, size * magnitude if check.relative else size) for wanted, magnitude in exact]
        return tuple((wanted - margin, wanted + margin) for wanted, margin in margins)
