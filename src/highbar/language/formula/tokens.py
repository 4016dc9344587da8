"""Formula text in, its tokens out: the alphabet of formulas, and every fault that a single token can have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from highbar.errors import HighbarError
from highbar.language.exact import NUMBER
from highbar.language.limits import MOST_CHARACTERS, MOST_DIGITS
from highbar.language.spelling import spelled_out
from highbar.model import Call, Constant, Name

Kind = Literal["value", "operator", "not", "(", ")", ",", "end"]


class FormulaError(HighbarError):
    """A formula that cannot be read; `line` and `column` count from 1, in the original text."""

    def __init__(self, message: str, text: str, offset: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        self.hint = hint


class Token(Struct, frozen=True):
    """A piece of a formula: its text, its offset, and the operator or value that it means."""

    kind: Kind
    text: str
    offset: int
    operator: str = ""
    value: Constant | Name | Call | None = None


# A percentile in words, such as `95th percentile of response times`.
_PERCENTILE_WORDS = re.compile(
    rf"({NUMBER})(?:st|nd|rd|th)\s+percentile\s+of\s+(?:(response\s+times?|latency|latencies)|([A-Za-z_]\w*))\b",
    re.ASCII | re.IGNORECASE,
)
_NUMBER = re.compile(rf"({NUMBER})(?:\s*(%)|\s*(ms|s)\b)?", re.ASCII)
_RUN = re.compile(r"[0-9A-Za-z_.%]+", re.ASCII)
_WORD = re.compile(r"pass[@^][1-9][0-9]*|[A-Za-z_][A-Za-z0-9_]*")
_DOLLARS = re.compile(rf"\$({NUMBER})(?![0-9A-Za-z_.%])", re.ASCII)
_SIGN = re.compile(r"\*\*|//|&&|\|\||=>|=<|<>|>=|<=|==|!=|.", re.DOTALL)

_OPERATORS = {sign: sign for sign in ("+", "-", "*", "/", ">=", "<=", ">", "<", "=", "!=")} | {
    "−": "-",
    "×": "*",
    "÷": "/",
    "≥": ">=",
    "≤": "<=",
    "==": "=",
    "≠": "!=",
}
_BRACKETS: dict[str, Kind] = {"(": "(", ")": ")", ",": ","}
_REFUSED = {
    "**": ("powers are not part of formulas", "write x × x"),
    "^": ("powers are not part of formulas", "write x × x"),
    "//": ("whole-number division is not part of formulas", "write ÷ or /"),
    "&&": ("found '&&'", "write AND"),
    "||": ("found '||'", "write OR"),
    "!": ("found '!'", "write NOT"),
    "=>": ("found '=>'", "write >= or ≥"),
    "=<": ("found '=<'", "write <= or ≤"),
    "<>": ("found '<>'", "write != or ≠"),
    "$": ("found '$' without an amount after it", "an amount in US dollars is a dollar sign and a number: $0.05"),
    "%": ("found '%' without a number before it", "a percentage is a number and a percent sign: 95%"),
    '"': ("text in quotes is not part of formulas", None),
    "'": ("text in quotes is not part of formulas", None),
    ".": ("found '.'", "a number starts with a digit (0.5), and names have no points"),
}


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of `text`, read lazily, so that faults are reported in the order of the text."""
    if len(text) > MOST_CHARACTERS:
        raise FormulaError(
            f"the formula has {len(text)} characters, wanted at most {MOST_CHARACTERS}", text, MOST_CHARACTERS
        )
    offset = 0
    while offset < len(text):
        if text[offset].isspace():
            offset += 1
            continue
        token = _token(text, offset)
        yield token
        offset += len(token.text)
    yield Token("end", "", len(text.rstrip()))


def _token(text: str, offset: int) -> Token:
    character = text[offset]
    if character.isascii() and character.isdigit():
        return _number(text, offset)
    dollars = _DOLLARS.match(text, offset)
    if dollars:
        return Token("value", dollars.group(), offset, value=Constant(_decimal(dollars.group(1), text, offset)))
    word = _WORD.match(text, offset)
    return _sign(text, offset) if word is None else _word(word.group(), offset)


def _number(text: str, offset: int) -> Token:
    words = _PERCENTILE_WORDS.match(text, offset)
    if words:
        share = _decimal(words.group(1), text, offset) / 100
        column = words.group(3) or "latency_ms"
        return Token("value", words.group(), offset, value=Call("percentile", (Name(column), Constant(share))))
    found = _NUMBER.match(text, offset)
    run = _RUN.match(text, offset)
    assert found is not None and run is not None  # noqa: S101, PT018 - both begin with a digit, and here is one
    # Never read in part: `1e5`, `0.9.5` and `95%x` are no numbers.
    if run.end() > found.end():
        hint = "digits, with a point and digits: 0.95"
        raise FormulaError(f"'{run.group()[:40]}' is not a number", text, offset, hint)
    value = _decimal(found.group(1), text, offset)
    if found.group(2):
        value /= 100
    elif found.group(3) == "s":
        value *= 1000
    return Token("value", found.group(), offset, value=Constant(value))


def _decimal(digits: str, text: str, offset: int) -> Fraction:
    if len(digits) > MOST_DIGITS:
        raise FormulaError(f"the number has more than {MOST_DIGITS} digits", text, offset)
    return Fraction(digits)


def _word(word: str, offset: int) -> Token:
    match word.lower():
        case "and" | "or" as operator:
            return Token("operator", word, offset, operator)
        case "not":
            return Token("not", word, offset)
    return Token("value", word, offset, value=Name(spelled_out(word)))


def _sign(text: str, offset: int) -> Token:
    found = _SIGN.match(text, offset)
    assert found is not None  # noqa: S101 - the pattern ends in "any character"
    sign = found.group()
    if sign in _BRACKETS:
        return Token(_BRACKETS[sign], sign, offset)
    if sign in _OPERATORS:
        return Token("operator", sign, offset, _OPERATORS[sign])
    message, hint = _REFUSED.get(sign, (f"found {sign!r}, which is not part of formulas", None))
    raise FormulaError(message, text, offset, hint)
