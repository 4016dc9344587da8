"""Formula text in, a tuple of tokens out: the alphabet of formulas, and every fault that shows in it.

The order of the tokens is checked here as well (a value, an operator, a value …), because the place of such a fault is
known exactly here; Python's parser then only settles precedence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from highbar.errors import HighbarError
from highbar.language.exact import MAX_DIGITS, NUMBER
from highbar.model import Call, Name, Number

COLUMN_FUNCTIONS = ("mean", "sum", "percentile")
"""Functions of a column of the results; their first argument is a column's name, not a measure's."""

FUNCTIONS = ("min", "max", "abs", *COLUMN_FUNCTIONS)

MAX_LENGTH = 10_000
MAX_DEPTH = 64
MAX_OPERATORS = 200

Kind = Literal["operand", "function", "operator", "prefix", "open", "close", "comma"]


class FormulaError(HighbarError):
    """A formula that cannot be read; `line` and `column` count from 1, in the text as it was written."""

    def __init__(self, message: str, text: str, offset: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a formula: what Python would write for it, and where it stood."""

    kind: Kind
    python: str
    offset: int
    node: Number | Name | Call | None = None


_PERCENTILE_WORDS = re.compile(
    rf"({NUMBER})(?:st|nd|rd|th)\s+percentile\s+of\s+(?:(response\s+times?|latency|latencies)|([A-Za-z_]\w*))\b",
    re.ASCII | re.IGNORECASE,
)
_NUMBER = re.compile(rf"({NUMBER})(?:\s*(%)|\s*(ms|s)\b)?", re.ASCII)
_RUN = re.compile(r"[0-9A-Za-z_.%]+", re.ASCII)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIGN = re.compile(r"\*\*|//|&&|\|\||=>|=<|<>|>=|<=|==|!=|.", re.DOTALL)

_AS_PYTHON = {"−": "-", "×": "*", "÷": "/", "≥": ">=", "≤": "<=", "=": "==", "≠": "!="}
_BINARY = {sign: sign for sign in ("+", "-", "*", "/", ">=", "<=", ">", "<", "==", "!=")} | _AS_PYTHON
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
    "%": ("found '%' without a number before it", "a percentage is a number and a percent sign: 95%"),
    '"': ("text in quotes is not part of formulas", None),
    "'": ("text in quotes is not part of formulas", None),
    ".": ("found '.'", "a number starts with a digit (0.5), and names have no points"),
}


def tokenize(text: str) -> tuple[Token, ...]:
    """The tokens of `text`, in an order that makes sense: values and operators take turns, brackets match."""
    if len(text) > MAX_LENGTH:
        raise FormulaError(f"the formula has {len(text)} characters, wanted at most {MAX_LENGTH}", text, MAX_LENGTH)
    reader = _Reader(text)
    offset = 0
    while offset < len(text):
        offset = offset + 1 if text[offset].isspace() else reader.take(offset)
    return reader.finish()


class _Reader:
    """The tokens so far, and what may come next."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = []
        self.open: list[Token] = []  # brackets not closed yet; a call's carries the function's node
        self.prefixes = 0
        self.operators = 0
        self.wants_value = True

    def take(self, offset: int) -> int:
        """Read one token at `offset`; the offset behind it."""
        character = self.text[offset]
        if character.isascii() and character.isdigit():
            return self._number(offset)
        word = _WORD.match(self.text, offset)
        if word:
            self._word(word.group(), offset)
            return word.end()
        sign = _SIGN.match(self.text, offset)
        assert sign is not None  # noqa: S101 - the pattern ends in "any character"
        self._sign(sign.group(), offset)
        return sign.end()

    def finish(self) -> tuple[Token, ...]:
        if not self.tokens:
            raise self._fault("the formula is empty", 0)
        if self.wants_value:
            raise self._fault("the formula ends where a value is wanted", len(self.text.rstrip()))
        if self.open:
            raise self._fault("this bracket is never closed", self.open[-1].offset)
        return tuple(self.tokens)

    def _fault(self, message: str, offset: int, hint: str | None = None) -> FormulaError:
        return FormulaError(message, self.text, offset, hint)

    def _number(self, offset: int) -> int:
        words = _PERCENTILE_WORDS.match(self.text, offset)
        if words:
            share = Fraction(_bounded(self, words.group(1), offset)) / 100
            column = words.group(3) or "latency_ms"
            self._value(Call("percentile", (Name(column), Number(share))), offset)
            return words.end()
        found = _NUMBER.match(self.text, offset)
        run = _RUN.match(self.text, offset)
        assert found is not None and run is not None  # noqa: S101, PT018 - both begin with a digit, and here is one
        if run.end() > found.end():
            raise self._fault(f"'{run.group()[:40]}' is not a number", offset, "digits, with a point and digits: 0.95")
        value = Fraction(_bounded(self, found.group(1), offset))
        if found.group(2):
            value /= 100
        elif found.group(3) == "s":
            value *= 1000
        self._value(Number(value), offset)
        return found.end()

    def _word(self, word: str, offset: int) -> None:
        lower = word.lower()
        if lower in ("and", "or"):
            self._operator(lower, word, offset)
        elif lower == "not":
            self._prefix("not", word, offset)
        else:
            self._value(Name(word), offset)

    def _sign(self, sign: str, offset: int) -> None:
        if sign == "(":
            self._open(offset)
        elif sign == ")":
            self._close(offset)
        elif sign == ",":
            self._comma(offset)
        elif sign in ("-", "−") and self.wants_value:
            self._prefix("-", sign, offset)
        elif sign in _BINARY:
            self._operator(_BINARY[sign], sign, offset)
        else:
            message, hint = _REFUSED.get(sign, (f"found {sign!r}, which is not part of formulas", None))
            raise self._fault(message, offset, hint)

    def _value(self, node: Number | Name | Call, offset: int) -> None:
        if not self.wants_value:
            raise self._fault("found a value where an operator is wanted", offset)
        self.tokens.append(Token("operand", "0" if isinstance(node, Number) else "x", offset, node))
        self.wants_value = False
        self.prefixes = 0

    def _operator(self, python: str, written: str, offset: int) -> None:
        if self.wants_value:
            raise self._fault(f"found '{written}' where a value is wanted", offset)
        self.operators += 1
        if self.operators > MAX_OPERATORS:
            raise self._fault(f"the formula has more than {MAX_OPERATORS} operators", offset, "split it into metrics")
        self.tokens.append(Token("operator", python, offset))
        self.wants_value = True

    def _prefix(self, python: str, written: str, offset: int) -> None:
        if not self.wants_value:
            raise self._fault(f"found '{written}' where an operator is wanted", offset)
        before = self.tokens[-1] if self.tokens else None
        if python == "not" and before is not None and before.python not in ("(", "and", "or", "not"):
            raise self._fault(f"found '{written}' where a number is wanted", offset)
        self.prefixes += 1
        self._check_depth(offset)
        self.tokens.append(Token("prefix", python, offset))

    def _open(self, offset: int) -> None:
        function = None if self.wants_value else self._called(offset)
        token = Token("open", "(", offset, function)
        self.tokens.append(token)
        self.open.append(token)
        self._check_depth(offset)
        self.wants_value = True

    def _called(self, offset: int) -> Name:
        """The function whose bracket opens at `offset`."""
        last = self.tokens[-1]
        if last.kind != "operand" or not isinstance(last.node, Name):
            raise self._fault("found '(' where an operator is wanted", offset)
        if last.node.name not in FUNCTIONS:
            hint = f"functions: {', '.join(FUNCTIONS)}; a product needs its ×"
            raise self._fault(f"'{last.node.name}' is not a function", last.offset, hint)
        self.tokens[-1] = Token("function", "x", last.offset, last.node)
        return last.node

    def _close(self, offset: int) -> None:
        if self.wants_value:
            raise self._fault("found ')' where a value is wanted", offset)
        if not self.open:
            raise self._fault("this bracket was never opened", offset)
        self.open.pop()
        self.tokens.append(Token("close", ")", offset))

    def _comma(self, offset: int) -> None:
        if self.wants_value:
            raise self._fault("found ',' where a value is wanted", offset)
        if not self.open or self.open[-1].node is None:
            raise self._fault("found ',' outside a function", offset, "a decimal is written with a point: 0.95")
        self.tokens.append(Token("comma", ",", offset))
        self.wants_value = True

    def _check_depth(self, offset: int) -> None:
        if len(self.open) + self.prefixes > MAX_DEPTH:
            raise self._fault(f"nested deeper than {MAX_DEPTH}", offset, "split it into metrics")


def _bounded(reader: _Reader, digits: str, offset: int) -> str:
    if len(digits) > MAX_DIGITS:
        raise FormulaError(f"the number has more than {MAX_DIGITS} digits", reader.text, offset)
    return digits
