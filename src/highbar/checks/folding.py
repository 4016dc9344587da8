"""Text → the form in which it is compared, with a map back to the original, so that evidence is what the agent wrote.

There are two forms. The plain form ignores case, runs of spaces, and the kinds of quotes and dashes. The strict form,
for must-nots, is also in compatibility form (NFKD), without invisible characters, and with look-alikes as ASCII. Both
are made character by character, by a table, because only then can a place be mapped back to the original.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import MappingProxyType

from msgspec import Struct

from highbar.checks.limits import MOST_REMEMBERED

SINGLE_QUOTES = frozenset("'‘’‚‛‹›´ʹʼʻˈ′❛❜")
DOUBLE_QUOTES = frozenset('"“”„‟«»″❝❞〝〞〟')
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
        "a": "ɑΑαАаᎪᗅᴀ⍺ꓮ𐊠𖽀ᗩ₳",
        "b": "ƄʙΒβВЬвьᏏᏴᑲᖯᗷꓐꞴ𐊂𐊡𐌁ᗸᙖᙝ฿",
        "c": "СсᏟᴄⲤⲥꓚꮯ𐊢𐌂𐐕𐐽𐔜𑣩𑣲🝌ᑕᑢᑦᙅ₵₡",
        "d": "đԁᎠᏧᑯᗞᗪᴅꓒꓓᗫᕍ",
        "e": "ΕεЕеҽᎬᴇ℮⋿ⴹꓰꬲ𐊆𑢦𑢮ᗴᕮᙓᘿᗕ",
        "f": "ϜքᖴẝꓝꜰꞘꞙꬵ𐊇𐊥𐔥𑢢𑣂𝈓ᖵ₣",
        "g": "ƍɡɢԌցᏀᏳᶃꓖᘜ₲",
        "h": "ħʜΗНнһհᎻᏂᕼⲎꓧ𐋏ᖺ",
        "i": "ıƖǀɩɪΙιІіӀӏ۱Ꭵᛁ∣⍳⏽Ⲓⵏꓲꙇꭵ𐊊𐌉𐌠𑣃𖼨ᓰ",
        "j": "ͿϳЈјյᎫᒍᴊꓙꞲᒎᒚ",
        "k": "ΚκКкᏦᛕᴋⲔꓗ𐔘₭",
        "l": "łƖǀʟΙІӀӏ۱Ꮮᒪᛁ∣⏽ⲒⳐⵏꓡꓲ𐊊𐌉𐌠𐐛𐔦𑢣𑢲𖼖𖼨𝈪ᒫ",
        "m": "ΜμϺМмᎷᗰᛖᴍⲘꓟ𐊰𐌑ᙢᙏᘻ₥",
        "n": "ɴΝηոռⲚꓠ𐔓ᑎᘉᙁ₦",
        "o": "øΟοσОоՕօ۵०০੦૦ଠ୦௦ం౦ಂ೦ംഠ൦ං๐໐ဝ၀ჿዐᴏᴑⲞⲟⵔ〇ꓳꬽ𐊒𐊫𐐄𐐬𐓂𐓪𐔖𑓐𑢵𑣈𑣗𑣠ᗝᓍᝪᐤ",
        "p": "ΡρРрքᏢᑭᴘ⍴Ⲣⲣꓑ𐊕ᖘᕈᑮ₱",
        "q": "ԛգզⵕᑫᕴᕿ",
        "r": "ƦʀгᎡᏒᖇᴦⲅꓣꭇꭈꮁ𐒴𖼵𝈖ᖆ",
        "s": "ƽςЅѕՏᏕᏚꓢꜱꮪ𐊖𐐠𐑈𑣁𖼺ᔕᔆᔖ₴",
        "t": "ΤτТтᎢᴛ⊤⟙Ⲧꓔ𐊗𐊱𐌕𑢼𖼊🝨ᖶᐪ₮",
        "u": "ʋυՍսሀᑌᴜ∪⋃ꓴꞟꭎꭒ𐓎𐓶𑢸𑣘𖽂ᑘᓑ",
        "v": "νѴѵ۷Ꮩᐯᴠ∨⋁ⴸꓦꛟꮩ𐔝𑜆𑢠𑣀𖼈𝈍ᐺᕓ",
        "w": "ɯωѡԜԝաᎳᏔᴡꓪꮃ𑜊𑜎𑜏𑣦𑣯ᗯᙡᘺ₩",
        "x": "×ΧχХхᕁᕽ᙭᙮ᚷ╳⤫⤬⨯ⲬⵝꓫꞳ𐊐𐊴𐌗𐌢𐔧𑣬",
        "y": "ɣʏΥγУуҮүყᎩᎽᶌỿⲨꓬꭚ𐊲𑢤𑣜𖽃ᖻ",
        "z": "ΖᏃᴢꓜꮓ𐋵𑢩𑣄𑣥ᘔᙆ",
    }
)
"""The characters that a reader takes for an ASCII letter or digit.

From Unicode's table of confusable characters (UTS 39), without those that compatibility form (NFKD) already maps, with
a few small capitals and lower-case letters, and with the syllables and signs of money that are used as letters for
show. A character that looks like a capital I means both `i` and `l`. Letters that are Latin by name need no place here.
"""
_PAIRS = ("AA", "AE", "AO", "AU", "AV", "AY", "LL", "OE", "OO", "OU", "TH", "TZ", "UE", "UI", "UO", "VY")
_NAMED = {
    "ALPHA": "a",
    "BAR": "",
    "BETA": "b",
    "CHI": "x",
    "ENG": "n",
    "ETH": "d",
    "IOTA": "i",
    "KRA": "k",
    "OMEGA": "w",
    "OPEN-O": "o",
    "REVERSED-SCHWA": "e",
    "ROTUNDA": "",
    "SCHWA": "e",
    "UPSILON": "u",
    **{pair: pair.lower() for pair in _PAIRS},
}
"""How the names of Latin letters end that have no single letter for it; empty where the word before it has."""
_SQUARED = re.compile(r"(?:NEGATIVE )?SQUARED ([A-Z]{2,4})(?: WITH .*)?")
_FRAMED_NUMBER = re.compile("(?:CIRCLED|PARENTHESIZED) (?:.* )?(?:DIGIT|NUMBER)|(?:DIGIT|NUMBER) .*(?:FULL STOP|COMMA)")
_OUTLINED = dict(zip(range(0x1CCD6, 0x1CCFA), "abcdefghijklmnopqrstuvwxyz0123456789", strict=True))
"""Letters and digits of Unicode 16, which Python may not know yet."""
OPTIONAL = MappingProxyType({chr(0x1FFFE + 0x10000 * (i // 2) + i % 2): chr(ord("a") + i) for i in range(26)})
"""Noncharacter code points, used as placeholders for letters that a reader may take for a mark, or not see at all."""
_OPTIONAL_OF = {letter: placeholder for placeholder, letter in OPTIONAL.items()}


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
    if character in SINGLE_QUOTES:
        return "'"
    if character in DOUBLE_QUOTES:
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


def _letter_in(name: str) -> str | None:
    """The ASCII letter of which a name says that the character is a form of it; None if it says no such thing."""
    words = name.partition(" WITH ")[0].split()
    if "LATIN" not in words and words[:2] != ["REGIONAL", "INDICATOR"]:
        return None
    last = words[-2] if _NAMED.get(words[-1]) == "" else words[-1]
    return last.lower() if len(last) == 1 else _NAMED.get(last)


def _look_alike_letters() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The letter of each look-alike, or a placeholder if it looks like several; and the letters of each placeholder."""
    letters: dict[str, str] = {}
    for letter, others in LOOK_ALIKES.items():
        for other in others:
            # A digit of another script also means its own value, and a Latin letter what its name says.
            own = {str(unicodedata.decimal(other, "")), _letter_in(unicodedata.name(other, "")) or ""}
            letters[other] = "".join(sorted({*letters.get(other, ""), letter, *(one for one in own if len(one) == 1)}))
    several = sorted({found for found in letters.values() if len(found) > 1})
    placeholders = {found: chr(_FIRST_PLACEHOLDER + i) for i, found in enumerate(several)}
    return (
        {other: placeholders.get(found, found) for other, found in letters.items()},
        {placeholder: found for found, placeholder in placeholders.items()},
    )


_LETTER_OF, PLACEHOLDERS = _look_alike_letters()
AS_FIRST = str.maketrans({placeholder: letters[0] for placeholder, letters in PLACEHOLDERS.items()})
AS_LAST = str.maketrans({placeholder: letters[-1] for placeholder, letters in PLACEHOLDERS.items()})
AS_LETTERS = str.maketrans(dict(OPTIONAL))
AS_MARKS = str.maketrans(dict.fromkeys(OPTIONAL, ""))


def _strict(character: str, is_dropped: Callable[[str], bool]) -> str:
    if character.isascii() and character.isprintable():
        return character.lower()
    if (named := _by_name(character)) is not None:
        return named
    if _is_invisible(character):
        return ""
    simple = _simple(character)
    if simple.isascii():
        return simple.lower()
    # Twice, because folding the case can give characters that have a compatibility form or are look-alikes.
    compatible = "".join(_as_seen(part) for part in unicodedata.normalize("NFKD", simple))
    folded = unicodedata.normalize("NFKD", compatible.casefold())
    seen = "".join(_as_seen(part) for part in folded if not _is_invisible(part))
    return "".join(part for part in seen if not is_dropped(part))


def _by_name(character: str) -> str | None:
    """What a character shows that has another meaning in compatibility form, or none; None for most."""
    if ord(character) in _OUTLINED:
        return _OUTLINED[ord(character)]
    name = unicodedata.name(character, "")
    if name.startswith(("COMBINING LATIN ", "TAG LATIN ")):
        letter = _letter_in(name)
        return _OPTIONAL_OF.get(letter or "")
    if name.startswith("PARENTHESIZED LATIN "):
        return _letter_in(name)
    compatible = unicodedata.normalize("NFKD", character)
    if len(compatible) > 1 and sum(unicodedata.category(one) != "Mn" for one in compatible) > 1:  # as in L·
        letter = _letter_in(name)
        return letter if letter and len(letter) == 1 and character.casefold() != "ss" else None
    if unicodedata.category(character) == "No" and _FRAMED_NUMBER.search(name):
        value = unicodedata.numeric(character)
        return str(int(value)) if value == int(value) else None
    squared = _SQUARED.fullmatch(name) if "\U0001f100" <= character <= "\U0001f1ff" else None
    return squared[1].lower() if squared else None


def _as_seen(character: str) -> str:
    """The character as a reader sees it: a look-alike as its letter, a digit of any script as the ASCII digit."""
    if character in _LETTER_OF:
        return _LETTER_OF[character]
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    if character.isascii() or character.casefold().isascii():
        return _simple(character)
    return _letter_in(unicodedata.name(character, "")) or _simple(character)


def _is_mark(character: str, *, accents: bool, of_all_scripts: bool) -> bool:
    if character.isascii():
        return False
    category = unicodedata.category(character)
    if category == "Me" or (of_all_scripts and category == "Mn") or _MARK.match(character):
        return not (accents and _ACCENTS.match(character))
    return False


_LINE_BREAKS = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029")
# Patterns are searched in this form, so that `^`, `$` and `.` must see the lines of the original.
_SIMPLE = _FoldTable(lambda character: character if character in _LINE_BREAKS else _simple(character))
_PLAIN = _FoldTable(_plain)
_STRICT = {
    (accents, bare): _FoldTable(
        partial(_strict, is_dropped=partial(_is_mark, accents=accents, of_all_scripts=bare)),
    )
    for accents in (False, True)
    for bare in (False, True)
}


def simple(text: str) -> str:
    """`text` with every kind of space, quote and dash as the ASCII one; the length and the line breaks stay."""
    return text if text.isascii() else text.translate(_SIMPLE)


def plain_form(text: str) -> Folded:
    """`text` in the plain form."""
    return _remembered_plain(text) if len(text) <= MOST_REMEMBERED else _fold(text, _PLAIN)


def strict(text: str, *, accents: bool, bare: bool = False) -> Folded:
    """`text` in the strict form; without `accents`, é is e; `bare`: without the marks of any script."""
    if len(text) <= MOST_REMEMBERED:
        return _remembered_strict(text, accents=accents, bare=bare)
    return _fold(text, _STRICT[accents, bare])


@lru_cache(maxsize=1024)
def marks_of(wanted: str) -> Mapping[str, bool]:
    """How `strict` has to read marks for a text to be compared with `wanted`: with accents if it has any.

    In a text that is compared with Latin letters, marks of other scripts say nothing and hide a letter.
    """
    folded = _fold(wanted, _STRICT[True, False]).text
    accents = _ACCENTS.search(folded) is not None
    return {"accents": accents, "bare": _ACCENTS.sub("", folded).isascii()}


@lru_cache(maxsize=64)
def _remembered_plain(text: str) -> Folded:
    return _fold(text, _PLAIN)


@lru_cache(maxsize=64)
def _remembered_strict(text: str, *, accents: bool, bare: bool) -> Folded:
    return _fold(text, _STRICT[accents, bare])


def _fold(text: str, table: _FoldTable) -> Folded:
    folded = _SPACES.sub(" ", text.translate(table))
    # Put several marks on one letter into Unicode's order. They are already decomposed, so that no length changes.
    return Folded(_MARKS.sub(lambda marks: unicodedata.normalize("NFD", marks[0]), folded), text, table)
