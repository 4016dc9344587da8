"""Text → the form in which it is compared, with a map back to the original, so that evidence is what the agent wrote.

There are two forms. The plain form ignores case, runs of spaces, and the kinds of quotes and dashes. The strict form,
for must-nots, is also in compatibility form (NFKD), without invisible characters, and with look-alikes as ASCII. Both
are made character by character, by a table, because only then can a place be mapped back to the original.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

from msgspec import Struct

from highbar.checks.limits import MOST_REMEMBERED

_SINGLE_QUOTES = frozenset("'‘’‚‛‹›´ʹʼʻˈ′❛❜")
_DOUBLE_QUOTES = frozenset('"“”„‟«»″❝❞〝〞〟')
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""Default-ignorable characters that are not format characters, and the blank Braille cell."""
_MARK = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
"""Marks on letters of any script: accents, but also overlays and enclosures, which hide the letter."""
_MARKS = re.compile(f"{_MARK.pattern}{{2,}}")
_ACCENTS = re.compile("[\u0300-\u0304\u0306-\u030c\u030f\u0311\u0313\u0314\u031b\u0323-\u0328\u032d\u032e\u0330\u0331]")
"""Marks that make a different letter, as in ö."""
_HANGUL = re.compile("[\uac00-\ud7a3]")
_SPACES = re.compile(" {2,}")
_PIECE = 4096
_MOST_CHARACTERS = 50_000
"""Characters whose folding is cached: hostile text may use all of Unicode."""
_FIRST_PLACEHOLDER = 0xFDD0
"""The first of 32 noncharacter code points, used as placeholders: each means a set of similar letters."""

LOOK_ALIKES = MappingProxyType(
    {
        "2": "ƧϨᒿꙄꛯꝚ",
        "3": "ƷȜЗӠⳌꝪꞫ𑣊𖼻𝈆",
        "4": "Ꮞ𑢯",
        "5": "Ƽ𑢻",
        "6": "бᏮⳒ𑣕",
        "7": "𐓒𑣆𝈒",
        "8": "Ȣȣ৪੪ଃ𐌚",
        "9": "৭੧୨൭ⳊꝮ𑢬𑣌𑣖",
        "a": "ɑΑαАаᎪᗅᴀ⍺ꓮ𐊠𖽀",
        "b": "ƄʙΒβВЬвьᏏᏴᑲᖯᗷꓐꞴ𐊂𐊡𐌁",
        "c": "СсᏟᴄⲤⲥꓚꮯ𐊢𐌂𐐕𐐽𐔜𑣩𑣲🝌",
        "d": "đԁᎠᏧᑯᗞᗪᴅꓒꓓ",
        "e": "ΕεЕеҽᎬᴇ℮⋿ⴹꓰꬲ𐊆𑢦𑢮",
        "f": "ϜքᖴẝꓝꜰꞘꞙꬵ𐊇𐊥𐔥𑢢𑣂𝈓",
        "g": "ƍɡɢԌցᏀᏳᶃꓖ",
        "h": "ħʜΗНнһհᎻᏂᕼⲎꓧ𐋏",
        "i": "ıƖǀɩɪΙιІіӀӏ۱Ꭵᛁ∣⍳⏽Ⲓⵏꓲꙇꭵ𐊊𐌉𐌠𑣃𖼨",
        "j": "ͿϳЈјյᎫᒍᴊꓙꞲ",
        "k": "ΚκКкᏦᛕᴋⲔꓗ𐔘",
        "l": "łƖǀʟΙІӀӏ۱Ꮮᒪᛁ∣⏽ⲒⳐⵏꓡꓲ𐊊𐌉𐌠𐐛𐔦𑢣𑢲𖼖𖼨𝈪",
        "m": "ΜμϺМмᎷᗰᛖᴍⲘꓟ𐊰𐌑",
        "n": "ɴΝηոռⲚꓠ𐔓",
        "o": "øΟοσОоՕօ۵०০੦૦ଠ୦௦ం౦ಂ೦ംഠ൦ං๐໐ဝ၀ჿዐᴏᴑⲞⲟⵔ〇ꓳꬽ𐊒𐊫𐐄𐐬𐓂𐓪𐔖𑓐𑢵𑣈𑣗𑣠",
        "p": "ΡρРрքᏢᑭᴘ⍴Ⲣⲣꓑ𐊕",
        "q": "ԛգզⵕ",
        "r": "ƦʀгᎡᏒᖇᴦⲅꓣꭇꭈꮁ𐒴𖼵𝈖",
        "s": "ƽςЅѕՏᏕᏚꓢꜱꮪ𐊖𐐠𐑈𑣁𖼺",
        "t": "ΤτТтᎢᴛ⊤⟙Ⲧꓔ𐊗𐊱𐌕𑢼𖼊🝨",
        "u": "ʋυՍսሀᑌᴜ∪⋃ꓴꞟꭎꭒ𐓎𐓶𑢸𑣘𖽂",
        "v": "νѴѵ۷Ꮩᐯᴠ∨⋁ⴸꓦꛟꮩ𐔝𑜆𑢠𑣀𖼈𝈍",
        "w": "ɯωѡԜԝաᎳᏔᴡꓪꮃ𑜊𑜎𑜏𑣦𑣯",
        "x": "×ΧχХхᕁᕽ᙭᙮ᚷ╳⤫⤬⨯ⲬⵝꓫꞳ𐊐𐊴𐌗𐌢𐔧𑣬",
        "y": "ɣʏΥγУуҮүყᎩᎽᶌỿⲨꓬꭚ𐊲𑢤𑣜𖽃",
        "z": "ΖᏃᴢꓜꮓ𐋵𑢩𑣄𑣥",
    }
)
"""The characters that a reader takes for an ASCII letter or digit.

From Unicode's table of confusable characters (UTS 39), without those that compatibility form (NFKD) already maps, and
with a few small capitals and lower-case letters. A character that looks like a capital I means both `i` and `l`.
"""


class _FoldTable(dict[int, str]):
    """The folded text of each character, computed on first use."""

    def __init__(self, fold: Callable[[str], str]) -> None:
        super().__init__()
        self.fold = fold

    def __missing__(self, code: int) -> str:
        if len(self) > _MOST_CHARACTERS:
            self.clear()
        folded = self[code] = self.fold(chr(code))
        return folded


class Folded(Struct, frozen=True):
    """A folded text, the original, and the table that made one from the other."""

    text: str
    original: str
    table: _FoldTable

    def stretch(self, start: int, end: int) -> str:
        """The part of the original text that was folded into this part of the folded text, which is not empty.

        It is computed only on demand, since most searches find nothing: first the pieces in which it begins and ends,
        then the characters.
        """
        if len(self.text) == len(self.original) and self.original.isascii():
            return self.original[start:end]
        first, last = self._origin(start), self._origin(end - 1)
        return self.original[first : last + 1]

    def _origin(self, index: int) -> int:
        """The index of the original character that became the folded character at `index`."""
        at, space = 0, False
        for begin in range(0, len(self.original), _PIECE):
            piece = self.original[begin : begin + _PIECE]
            length, space_after = _length(piece.translate(self.table), after_space=space)
            if at + length > index:
                break
            at, space = at + length, space_after
        for place in range(begin, begin + len(piece)):
            length, space = _length(self.table[ord(self.original[place])], after_space=space)
            at += length
            if at > index:
                return place
        raise IndexError(index)


def _length(piece: str, *, after_space: bool) -> tuple[int, bool]:
    """How many characters a translated piece adds to the folded text, and whether the result ends in a space."""
    folded = _SPACES.sub(" ", piece)
    if after_space and folded.startswith(" "):
        folded = folded[1:]
    return len(folded), folded.endswith(" ") if folded else after_space


def _simple(character: str) -> str:
    """The character, with every kind of space, quote and dash as the ASCII one."""
    if character.isspace():
        return " "
    if character in _SINGLE_QUOTES:
        return "'"
    if character in _DOUBLE_QUOTES:
        return '"'
    return "-" if character == "\u2212" or unicodedata.category(character) == "Pd" else character


def _plain(character: str) -> str:
    """As `_simple`, in lower case, and decomposed, since an accent may be a separate character; Hangul stays whole."""
    simple = _simple(character)
    if simple.isascii() or _HANGUL.match(simple):
        return simple.lower()
    return _decompose(_decompose(simple).casefold())


def _decompose(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _is_invisible(character: str) -> bool:
    if _INVISIBLE.match(character):
        return True
    return unicodedata.category(character) in ("Cf", "Cc") and not character.isspace()


def _look_alike_letters() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The letter of each look-alike, or a placeholder if it looks like several; and the letters of each placeholder."""
    letters: dict[str, str] = {}
    for letter, others in LOOK_ALIKES.items():
        for other in others:
            digit = str(unicodedata.decimal(other, ""))  # a digit of another script also means its own value
            letters[other] = "".join(sorted({*letters.get(other, ""), letter, *digit}))
    several = sorted({found for found in letters.values() if len(found) > 1})
    placeholders = {found: chr(_FIRST_PLACEHOLDER + i) for i, found in enumerate(several)}
    return (
        {other: placeholders.get(found, found) for other, found in letters.items()},
        {placeholder: found for found, placeholder in placeholders.items()},
    )


_LETTER_OF, PLACEHOLDERS = _look_alike_letters()


def _strict(character: str, dropped: re.Pattern[str]) -> str:
    if _is_invisible(character):
        return ""
    simple = _simple(character)
    if simple.isascii():
        return simple.lower()
    # Twice, because folding the case can give characters that have a compatibility form or are look-alikes.
    compatible = "".join(_as_seen(part) for part in unicodedata.normalize("NFKD", simple))
    folded = unicodedata.normalize("NFKD", compatible.casefold())
    return dropped.sub("", "".join(_as_seen(part) for part in folded if not _is_invisible(part)))


def _as_seen(character: str) -> str:
    """The character as a reader sees it: a look-alike as its letter, a digit of any script as the ASCII digit."""
    if character in _LETTER_OF:
        return _LETTER_OF[character]
    digit = unicodedata.decimal(character, None)
    return _simple(character) if digit is None else str(digit)


_NOT_ACCENTS = re.compile(f"(?!{_ACCENTS.pattern}){_MARK.pattern}")
_LINE_BREAKS = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029")
# Patterns are searched in this form, so that `^`, `$` and `.` must see the lines of the original.
_SIMPLE = _FoldTable(lambda character: character if character in _LINE_BREAKS else _simple(character))
_PLAIN = _FoldTable(_plain)
_STRICT = _FoldTable(lambda character: _strict(character, _MARK))
_STRICT_WITH_ACCENTS = _FoldTable(lambda character: _strict(character, _NOT_ACCENTS))


def simple(text: str) -> str:
    """`text` with every kind of space, quote and dash as the ASCII one; the length and the line breaks stay."""
    return text if text.isascii() else text.translate(_SIMPLE)


def plain_form(text: str) -> Folded:
    """`text` in the plain form."""
    return _remembered_plain(text) if len(text) <= MOST_REMEMBERED else _fold(text, _PLAIN)


def strict(text: str, *, accents: bool) -> Folded:
    """`text` in the strict form; without `accents`, é is e."""
    if len(text) <= MOST_REMEMBERED:
        return _remembered_strict(text, accents=accents)
    return _fold(text, _STRICT_WITH_ACCENTS if accents else _STRICT)


@lru_cache(maxsize=1024)
def has_accents(text: str) -> bool:
    """Whether the strict form of `text` has an accent."""
    return _ACCENTS.search(_fold(text, _STRICT_WITH_ACCENTS).text) is not None


@lru_cache(maxsize=64)
def _remembered_plain(text: str) -> Folded:
    return _fold(text, _PLAIN)


@lru_cache(maxsize=64)
def _remembered_strict(text: str, *, accents: bool) -> Folded:
    return _fold(text, _STRICT_WITH_ACCENTS if accents else _STRICT)


def _fold(text: str, table: _FoldTable) -> Folded:
    folded = _SPACES.sub(" ", text.translate(table))
    # Put several marks on one letter into Unicode's order. They are already decomposed, so that no length changes.
    return Folded(_MARKS.sub(lambda marks: unicodedata.normalize("NFD", marks[0]), folded), text, table)
