"""Whether a text is, contains or starts with another one, and where: `equals`, `contains`, `starts_with`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

from highbar.checks.folding import Folded, marks_of, plain_form, strict
from highbar.checks.numbers import Ungrouped, ungroup
from highbar.checks.patterns import is_ambiguous, search_folded

TextSpan = tuple[int, int]

_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u1950-\u19df\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00017000-\U00018dff\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
"""Scripts without spaces between words, or with particles joined to them (Korean): they have no whole words."""
_IN_UNSPACED = re.compile(f"[{_UNSPACED}]")
_MAY_END_WORD = re.compile(rf"[\W_{_UNSPACED}]")
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
_ENDS = frozenset(".,;:!?…。．，、；：！？؟،؛।۔")
_OPENINGS = _ENDS | frozenset("¿¡")
_IN_NUMBERS = frozenset(".,'\u2019\u066b\u066c")
_MARKDOWN = frozenset("*_`~")
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">", '"': '"', "'": "'"}
_BULLET = re.compile(r"(?:[-*+>]|#{1,6}) ")


def count_words(text: str) -> int:
    """The number of words: anything between spaces that has a letter or digit; an ideograph is a word."""
    return sum(1 for match in _WORD.finditer(text) if any(character.isalnum() for character in match[0]))


def find_text(text: str, wanted: str, *, exact: bool, part: bool) -> str | None:
    """The first part of `text` that is `wanted`, only as whole words unless `part`; None if there is none."""
    if exact:
        span = next(_occurrences(text, wanted, part=part), None)
        return text[slice(*span)] if span else None
    folded = plain_form(text)
    span = next(_occurrences(folded.text, plain_form(wanted).text.strip(), part=part), None)
    return folded.stretch(*span) if span else None


def find_start(text: str, wanted: str, *, exact: bool, part: bool) -> str | None:
    """The beginning of `text` if it is `wanted`, else None. Unless `exact`, skips Markdown marks and punctuation."""
    if exact:
        starts = text.startswith(wanted) and (part or not _inside(text, len(wanted)))
        return wanted if starts else None
    folded = plain_form(text)
    span = _start(folded.text, plain_form(wanted).text.strip(), part=part)
    return folded.stretch(*span) if span else None


def is_equal(text: str, wanted: str, *, exact: bool) -> bool:
    """Whether `text` is `wanted`; unless `exact`, case, runs of spaces and marks around the whole do not count."""
    if exact or not (bare := core(wanted)):
        return text == wanted
    return core(text) == bare


def core(text: str) -> str:
    """`text` in the plain form, without punctuation, quotes and Markdown marks around the whole.

    >>> core("**Yes.**"), core("-5"), core("“A*”"), core("- (b)")
    ('yes', '-5', 'a*', 'b')
    """
    return _strip_marks(plain_form(text).text)


def find_strictly(text: str, wanted: str) -> str | None:
    """The first part of `text` that a reader may take for `wanted`, by the strict form and also inside of words."""
    return _find_folded(text, wanted, _look)


def find_start_strictly(text: str, wanted: str) -> str | None:
    """The beginning of `text` if a reader may take it for `wanted`, or None."""
    return _find_folded(text, wanted, _look_at_start)


def is_equal_strictly(text: str, wanted: str) -> bool:
    """Whether a reader may take `text` for `wanted`."""
    return any(_is_whole(*map(_strip_marks, forms)) for forms in _forms(text, wanted))


def _is_whole(found: str, sought: str) -> bool:
    if is_ambiguous(found):
        return bool(sought) and search_folded(found, sought, whole=True) is not None
    return len(found) == len(sought) > 0 and _look(found, sought) is not None


def _forms(text: str, wanted: str) -> Iterator[tuple[str, str]]:
    """Both texts in the strict form, and then without what groups digits."""
    marks = marks_of(wanted)
    found, sought = strict(text, **marks).text, strict(wanted, **marks).text
    yield found, sought
    other = ungroup(found).text, ungroup(sought).text
    if other != (found, sought):
        yield other


def _find_folded(text: str, wanted: str, look: Callable[[str, str], TextSpan | None]) -> str | None:
    marks = marks_of(wanted)
    sought = strict(wanted, **marks).text.strip()
    if not sought:
        return None
    folded: Folded = strict(text, **marks)
    span = look(folded.text, sought)
    if span is None and any(character.isdigit() for character in sought):
        whole: Ungrouped = ungroup(folded.text)
        span = look(whole.text, ungroup(sought).text)
        span = whole.original(*span) if span else None
    return folded.stretch(*span) if span else None


def _look(text: str, sought: str) -> TextSpan | None:
    # A look-alike of several letters is a placeholder, which equals each of them: only a pattern can express that.
    if is_ambiguous(text) or is_ambiguous(sought):
        return search_folded(text, sought)
    at = text.find(sought)
    return None if at < 0 else (at, at + len(sought))


def _look_at_start(text: str, sought: str) -> TextSpan | None:
    for start in _starts(text):
        if is_ambiguous(text) or is_ambiguous(sought):
            span = search_folded(text[start:], sought, start=True)
        else:
            span = (0, len(sought)) if text.startswith(sought, start) else None
        if span is not None:
            return start, start + span[1]
    return None


def _occurrences(text: str, wanted: str, *, part: bool) -> Iterator[TextSpan]:
    """Where `wanted` occurs in `text`. After a hit inside of a word, skips to the next word, so that time is linear."""
    at = text.find(wanted)
    while at >= 0 and wanted:
        end = at + len(wanted)
        if part or not (_inside(text, at) or _inside(text, end)):
            yield at, end
            at = text.find(wanted, end)
        elif _is_word_letter(wanted[0]):
            # `wanted` begins with a letter, so it cannot begin inside of this word: go on after its end.
            next_end = _MAY_END_WORD.search(text, at)
            at = text.find(wanted, next_end.end()) if next_end else -1
        else:
            at = text.find(wanted, at + 1)


def _inside(text: str, at: int) -> bool:
    return _inside_word(text, at) or _inside_number(text, at)


def _inside_word(text: str, at: int) -> bool:
    """Whether the characters before and after this place belong to one word."""
    return 0 < at < len(text) and _is_word_letter(text[at - 1]) and _is_word_letter(text[at])


def _inside_number(text: str, at: int) -> bool:
    """Whether this place is beside a point, comma or apostrophe between two digits: 1,500 and 1.5 are one number."""
    return any(
        0 < sign < len(text) - 1
        and text[sign] in _IN_NUMBERS
        and text[sign - 1].isdecimal()
        and text[sign + 1].isdecimal()
        for sign in (at - 1, at)
    )


def _is_word_letter(character: str) -> bool:
    if character.isascii():
        return character.isalnum()
    if _IN_UNSPACED.match(character):
        return False
    return character.isalnum() or unicodedata.category(character).startswith("M")


def _start(text: str, wanted: str, *, part: bool) -> TextSpan | None:
    for start in _starts(text):
        end = start + len(wanted)
        if wanted and text.startswith(wanted, start) and (part or not _inside(text, end)):
            return start, end
    return None


def _starts(text: str) -> tuple[int, ...]:
    """Where a folded text may start: at its first character, and at its first word, after marks."""
    first = len(text) - len(text.lstrip(" "))
    word = re.compile(r"[^\W_]").search(text, first)
    return (first, word.start()) if word and word.start() > first else (first,)


def _strip_marks(folded: str) -> str:
    """A folded text without marks around the whole. Signs that change the meaning stay: `-5`, `.5`, `50%`, `A*`."""
    start, end = 0, len(folded)
    opened = "(" in folded  # otherwise a `)` at the end is that of `b)`, a label of a list
    # Repeat until nothing changes: `**"Yes."**` has three layers, and they may be in any order.
    before = (-1, -1)
    while start < end and before != (start, end):
        before = (start, end)
        start, end = _without_spaces(folded, start, end)
        start, end = _without_pair(folded, start, end)
        while end > start and (folded[end - 1] in _ENDS or (folded[end - 1] == ")" and not opened)):
            end -= 1
        while start < end - 1 and folded[start] in _OPENINGS and not folded[start + 1].isdigit():
            start += 1
        bullet = _BULLET.match(folded, start, end)
        start = bullet.end() if bullet else start
        end = end - 2 if end - start > 2 and folded[end - 2 : end] == " -" else end
    return folded[start:end]


def _without_spaces(folded: str, start: int, end: int) -> TextSpan:
    while start < end and folded[start] == " ":
        start += 1
    while end > start and folded[end - 1] == " ":
        end -= 1
    return start, end


def _without_pair(folded: str, start: int, end: int) -> TextSpan:
    """Without quotes, brackets or Markdown marks at both ends."""
    while end - start > 1:
        first, last = folded[start], folded[end - 1]
        if not (_PAIRS.get(first) == last or (first == last and first in _MARKDOWN)):
            break
        start, end = start + 1, end - 1
    return start, end
