"""The exact numbers in a text, each with its place."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from decimal import Decimal, localcontext
from functools import lru_cache

from msgspec import Struct

from highbar.checks.folding import PLACEHOLDERS, simple
from highbar.checks.tree import Number, NumberIs
from highbar.documents.limits import MOST_DIGITS

_RUN = re.compile(r"\.?[0-9]+(?:[.,][0-9]+)*")
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_GROUPED_BY_POINTS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+")
_DECIMAL = re.compile(r"[0-9]*\.?[0-9]+")
_EXPONENT = re.compile(r"[eE][-+]?[0-9]+")
_BETWEEN = re.compile(r"[^,]+")
_DIGIT = f"[0-9{''.join(placeholder for placeholder, letters in PLACEHOLDERS.items() if letters[0].isdigit())}]"
_MARKS = (
    r"[,،]|\\[,;:! ]|\{,\}",
    r"\.",
    r"['`]",
    "_",
    "~",
    "·",
    "٬",
    "٫",
    "&(?:nbsp|thinsp|#160|#8201|#8239);",
)
"""What people write between groups of digits, beside spaces."""
_GROUPS = re.compile(
    "(?<!D)(?:(?!0[.,])D{1,3}(?P<three>S)D{3}(?:(?P=three)D{3})*|D{1,4}(?P<four>S)D{4}(?:(?P=four)D{4})*"
    "|D{1,2}(?P<two>S)D{2}(?:(?P=two)D{2}){0,6}(?P=two)D{3}(?!(?P=two)D{3}(?!D))|D{4}(?:-D{4})+)(?!D)".replace(
        "S", f" |{'|'.join(_MARKS)}"
    ).replace("D", _DIGIT)
)
"""Digits in groups, as people write them: 1 000, 1.000, 1'000, 1_000; 1 0000; 1,00,000; 4111-1111."""
_DIGITS = re.compile(f"{_DIGIT}+")
_FRACTION = re.compile(r"[,.·٫'](?P<places>[0-9]+)")
_WITH_FRACTION = re.compile(r"(?<![0-9])(?P<whole>[0-9]+)[,·٫'](?P<places>[0-9]+)")


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
            yield _with_sign(found, digits, start, end)


def _with_sign(found: Decimal, digits: str, start: int, end: int) -> tuple[Decimal, int, int]:
    before = digits[start - 1] if start else ""
    if before in ("-", "+") and not (start > 1 and _ends_something(digits[start - 2])):
        return (found.copy_negate() if before == "-" else found), start - 1, end
    return found, start, end


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


def most_digits(check: NumberIs) -> int:
    """The digits before the point of the largest number that the check wants."""
    return max(max(Decimal(end).adjusted() + 1, 1) for pair in _bounds(check) for end in pair)


@lru_cache(maxsize=256)
def _bounds(check: NumberIs) -> tuple[tuple[Decimal, Decimal], ...]:
    """The least and the greatest number that is near enough to each wanted one, exact."""
    # Decimal rounds to 28 digits by default, and a rounded bound would accept numbers that are too far away.
    with localcontext(prec=16 * MOST_DIGITS):
        size = Decimal(check.within)
        exact = [(Decimal(wanted), abs(Decimal(wanted))) for wanted in check.wanted]
        margins = [(wanted, size * magnitude if check.relative else size) for wanted, magnitude in exact]
        return tuple((wanted - margin, wanted + margin) for wanted, margin in margins)


class Ungrouped(Struct, frozen=True):
    """A text without what separates the groups of its numbers."""

    text: str
    pieces: tuple[tuple[int, int], ...]
    """Where each piece begins: in this text, and in the original."""

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The stretch of the original for one of this text, which is not empty."""
        return self._origin(start), self._origin(end - 1) + 1

    def _origin(self, index: int) -> int:
        begins, in_original = self.pieces[bisect_right(self.pieces, (index, 1 << 62)) - 1]
        return in_original + index - begins


def ungroup(folded: str) -> Ungrouped:
    """A text in the strict form, with every number that is written in groups of digits as one run of digits."""
    parts: list[str] = []
    pieces: list[tuple[int, int]] = []
    length = at = 0

    def add(start: int, end: int) -> None:
        nonlocal length
        pieces.append((length, start))
        parts.append(folded[start:end])
        length += end - start

    for groups in _GROUPS.finditer(folded):
        add(at, groups.start())
        for run in _DIGITS.finditer(folded, groups.start(), groups.end()):
            add(*run.span())
        at = groups.end()
    add(at, len(folded))
    return Ungrouped("".join(parts), tuple(pieces))


def grouped_numbers(folded: str, digits: int) -> Iterator[tuple[Decimal, int, int]]:
    """Each number of at most so many digits that a reader may see in a text, if it is in groups or has a fraction.

    What is ambiguous is several numbers: 1.000 and 1,000 are 1000 and 1. Where spaces are between groups, a number may
    begin and end at each of them.
    """
    for found in _WITH_FRACTION.finditer(folded):
        yield from _reading(found["whole"], found["places"], folded, *found.span())
    for groups in _GROUPS.finditer(folded):
        parts = [(run[0], *run.span()) for run in _DIGITS.finditer(folded, *groups.span())]
        fraction = _FRACTION.match(folded, groups.end())
        is_spaced = folded[parts[0][2]] == " "
        for first in range(len(parts) if is_spaced else 1):
            whole, start = "", parts[first][1]
            for part, _, end in parts[first : first + digits]:
                whole += part
                if len(whole) > digits:
                    break
                is_last = end == groups.end()
                if is_spaced or is_last:
                    yield from _reading(whole, "", folded, start, end)
                if is_last and fraction is not None:
                    yield from _reading(whole, fraction["places"], folded, start, fraction.end())


def _reading(whole: str, places: str, folded: str, start: int, end: int) -> Iterator[tuple[Decimal, int, int]]:
    found = _decimal(f"{whole}.{places or 0}")
    if found is not None:
        yield _with_sign(found, folded, start, end)
