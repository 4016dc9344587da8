"""Formula text in, the tree of `model` out, by recursive descent.

Reading has two steps, because AND, comparisons and arithmetic share one syntax: first the tokens become a tree of
operations, then that tree is read as a number or as a condition. So faults in the syntax are reported before faults in
the meaning, each at the token that caused it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal, cast

from msgspec import Struct

from highbar.errors import HighbarError
from highbar.language.exact import NUMBER
from highbar.language.formula.tree import COLUMN_FUNCTIONS
from highbar.language.limits import MOST_CHARACTERS, MOST_DIGITS, MOST_NESTING, MOST_OPERATORS
from highbar.language.spelling import spelled_out
from highbar.model import (
    COMPARE,
    Binary,
    Call,
    Condition,
    Constant,
    Expression,
    Logic,
    Name,
    Negative,
    Operator,
    Relation,
)

FUNCTIONS = ("min", "max", "abs", *COLUMN_FUNCTIONS)

_MIN_ARGUMENTS = {"min": 2, "max": 2}
_ARGUMENTS = {"abs": 1, "mean": 1, "sum": 1, "percentile": 2}
_MEANT = {
    "avg": "mean",
    "average": "mean",
    "total": "sum",
    "minimum": "min",
    "maximum": "max",
    "quantile": "percentile",
}
"""Names of functions in other languages, for hints."""

_OR, _AND, _COMPARISON, _SUM, _PRODUCT, _SIGNED = range(1, 7)
_BINDING = {"or": _OR, "and": _AND, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT}


def parse(text: str) -> Expression:
    """The arithmetic of `text`.

    >>> parse("correct_outputs ÷ total_outputs")
    Binary(operator='/', left=Name(name='correct_outputs'), right=Name(name='total_outputs'))
    """
    return _Meaning(text).expression(_Syntax(text).read())


def parse_condition(text: str) -> Condition:
    """The condition of `text`: comparisons, joined by AND, OR and NOT in any case; `=` compares."""
    return _Meaning(text).condition(_Syntax(text).read())


class _SyntaxNode(Struct, frozen=True):
    """An operator or function with its operands, or a value; a fault in it is reported at `offset`."""

    offset: int
    operator: str
    operands: tuple[_SyntaxNode, ...] = ()
    value: Constant | Name | Call | None = None


class _Syntax:
    """The tokens of a formula, read into operations by how tightly the operators bind."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: Iterator[_Token] = _tokens(text)
        self.next = next(self.tokens)
        self.last = self.next
        self.open: list[tuple[int, str]] = []  # offset and function of each bracket that is not closed yet
        self.prefixes = 0  # since the last value
        self.operators = 0

    def read(self) -> _SyntaxNode:
        if self.next.kind == "end":
            raise self._fault("the formula is empty", 0)
        return self._operation(_OR)

    def _take(self) -> _Token:
        self.last = self.next
        self.next = next(self.tokens)
        return self.last

    def _operation(self, least: int) -> _SyntaxNode:
        """The longest operation from here on whose operators bind at least as tightly as `least`."""
        start = self.next.offset
        found = self._operand()
        while (binding := self._binding()) >= least:
            operator = self.next.operator
            operands = [found]
            # `a and b and c` is one AND of three; `a < b < c` stays one operation, so that its message can name it.
            while True:
                self._take_operator()
                operands.append(self._operation(binding + 1))
                if binding > _COMPARISON or self._binding() != binding:
                    break
            found = _SyntaxNode(start, operator, tuple(operands))
        return found

    def _binding(self) -> int:
        """How tightly the operator after a value binds; 0 at the end of the formula, of a bracket or of an argument."""
        token = self.next
        match token.kind:
            case "operator":
                return _BINDING.get(token.operator, _COMPARISON)
            case "end" if self.open:
                raise self._fault("this bracket is never closed", self.open[-1][0])
            case ")" if not self.open:
                raise self._fault("this bracket was never opened", token.offset)
            case "," if not self.open or not self.open[-1][1]:
                hint = "a decimal is written with a point: 0.95"
                raise self._fault("found ',' outside a function", token.offset, hint)
            case "value":
                raise self._fault("found a value where an operator is wanted", token.offset)
            case "not" | "(":
                raise self._fault(f"found '{token.text}' where an operator is wanted", token.offset)
        return 0

    def _take_operator(self) -> None:
        self.operators += 1
        if self.operators > MOST_OPERATORS:
            message = f"the formula has more than {MOST_OPERATORS} operators"
            raise self._fault(message, self.next.offset, "split it into metrics", "formula.too-large")
        self._take()

    def _operand(self) -> _SyntaxNode:
        before, token = self.last, self.next
        match token.kind:
            case "value":
                self.prefixes = 0
                self._take()
                return self._call(token) if self.next.kind == "(" else _SyntaxNode(token.offset, "", value=token.value)
            case "(":
                return self._bracket()[0]
            case "not":
                # NOT begins a condition: it cannot be an operand of arithmetic or of a comparison.
                if before is not token and before.text.lower() not in ("(", "and", "or", "not"):
                    raise self._fault(f"found '{token.text}' where a number is wanted", token.offset)
                return self._prefix("not", _COMPARISON)
            case "operator" if token.operator == "-":
                return self._prefix("negative", _SIGNED)
            case "end":
                raise self._fault("the formula ends where a value is wanted", token.offset)
        raise self._fault(f"found '{token.text}' where a value is wanted", token.offset)

    def _prefix(self, operator: str, binding: int) -> _SyntaxNode:
        start = self.next.offset
        self.prefixes += 1
        self._check_depth(start)
        self._take()
        return _SyntaxNode(start, operator, (self._operation(binding),))

    def _call(self, name: _Token) -> _SyntaxNode:
        if not isinstance(name.value, Name):
            raise self._fault("found '(' where an operator is wanted", self.next.offset)
        if name.text not in FUNCTIONS:
            meant = _MEANT.get(name.text.lower())
            known = f"functions: {', '.join(FUNCTIONS)}; a product needs its ×"
            hint = f"did you mean '{meant}'? {known.capitalize()}" if meant else known
            raise self._fault(f"'{name.text}' is not a function", name.offset, hint)
        return _SyntaxNode(name.offset, name.text, self._bracket(name.text))

    def _bracket(self, function: str = "") -> tuple[_SyntaxNode, ...]:
        """The operation in a pair of brackets, or the arguments of a function."""
        self.open.append((self.next.offset, function))
        self._check_depth(self.next.offset)
        found = []
        while True:
            self._take()  # the opening bracket, or a comma
            found.append(self._operation(_OR))
            if self.next.kind == ")":
                break
        self.open.pop()
        self._take()
        return tuple(found)

    def _check_depth(self, offset: int) -> None:
        if len(self.open) + self.prefixes > MOST_NESTING:
            message = f"nested deeper than {MOST_NESTING}"
            raise self._fault(message, offset, "split it into metrics", "formula.too-large")

    def _fault(self, message: str, offset: int, hint: str | None = None, code: str = "formula.syntax") -> FormulaError:
        return FormulaError(code, message, self.text, offset, hint)


class _Meaning(Struct, frozen=True):
    """Reads a tree of operations as a number or as a condition, whichever the caller wants."""

    text: str

    def expression(self, node: _SyntaxNode) -> Expression:
        match node.operator, node.operands:
            case "", _:
                return self._value(node)
            case "negative", (operand,):
                return Negative(self.expression(operand))
            case "+" | "-" | "*" | "/" as operator, (left, right):
                return Binary(operator, self.expression(left), self.expression(right))
            case function, _ if function in FUNCTIONS:
                return self._call(node)
        raise self._fault("found a condition where a number is wanted", node)

    def condition(self, node: _SyntaxNode) -> Condition:
        match node.operator, node.operands:
            case "and" | "or" | "not" as operator, operands:
                return Logic(operator, tuple(self.condition(operand) for operand in operands))
            case sign, (left, right) if sign in COMPARE:
                return Relation(cast("Operator", sign), self.expression(left), self.expression(right))
            case sign, (_, _, third, *_) if sign in COMPARE:
                raise self._fault("found two comparisons in a row", third, "join them: a ≤ b AND b ≤ c")
        raise self._fault("found a number where a condition is wanted", node, "compare it: final_score ≥ 0.85")

    def _value(self, node: _SyntaxNode) -> Constant | Name | Call:
        assert node.value is not None  # noqa: S101 - only a value has no operator
        if isinstance(node.value, Call):
            self._check_share(node.value.arguments[1], node)
        return node.value

    def _call(self, node: _SyntaxNode) -> Call:
        name, found = node.operator, len(node.operands)
        wanted = _ARGUMENTS.get(name) or max(found, _MIN_ARGUMENTS[name])
        if found != wanted:
            least = "at least " if name in _MIN_ARGUMENTS else ""
            raise self._fault(f"{name} has {found} arguments, wanted {least}{wanted}", node)
        values = tuple(self.expression(argument) for argument in node.operands)
        if name in COLUMN_FUNCTIONS and not isinstance(values[0], Name):
            hint = f"{name}(latency_ms) takes the name of a column"
            raise self._fault(f"{name} is not of a column", node.operands[0], hint)
        if name == "percentile":
            self._check_share(values[1], node.operands[1])
        return Call(name, values)

    def _check_share(self, share: Expression, node: _SyntaxNode) -> None:
        if not isinstance(share, Constant) or not 0 < share.value <= 1:
            message = "a percentile's share is not between 0% and 100%"
            raise self._fault(message, node, "percentile(latency_ms, 95%)")

    def _fault(self, message: str, node: _SyntaxNode, hint: str | None = None) -> FormulaError:
        return FormulaError("formula.wrong-operand", message, self.text, node.offset, hint)


# --- its tokens ------------------------------------------------------------------------------

_TokenKind = Literal["value", "operator", "not", "(", ")", ",", "end"]


class FormulaError(HighbarError):
    """A formula that cannot be read; `line` and `column` count from 1, in the original text."""

    def __init__(self, code: str, message: str, text: str, offset: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        self.hint = hint


class _Token(Struct, frozen=True):
    """A piece of a formula: its text, its offset, and the operator or value that it means."""

    kind: _TokenKind
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
_BRACKETS: dict[str, _TokenKind] = {"(": "(", ")": ")", ",": ","}
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


def _tokens(text: str) -> Iterator[_Token]:
    """The tokens of `text`, read lazily, so that faults are reported in the order of the text."""
    if len(text) > MOST_CHARACTERS:
        message = f"the formula has {len(text)} characters, wanted at most {MOST_CHARACTERS}"
        raise FormulaError("formula.too-large", message, text, MOST_CHARACTERS)
    offset = 0
    while offset < len(text):
        if text[offset].isspace():
            offset += 1
            continue
        token = _token(text, offset)
        yield token
        offset += len(token.text)
    yield _Token("end", "", len(text.rstrip()))


def _token(text: str, offset: int) -> _Token:
    character = text[offset]
    if character.isascii() and character.isdigit():
        return _number(text, offset)
    dollars = _DOLLARS.match(text, offset)
    if dollars:
        return _Token("value", dollars.group(), offset, value=Constant(_decimal(dollars.group(1), text, offset)))
    word = _WORD.match(text, offset)
    return _sign(text, offset) if word is None else _word(word.group(), offset)


def _number(text: str, offset: int) -> _Token:
    words = _PERCENTILE_WORDS.match(text, offset)
    if words:
        share = _decimal(words.group(1), text, offset) / 100
        column = words.group(3) or "latency_ms"
        return _Token("value", words.group(), offset, value=Call("percentile", (Name(column), Constant(share))))
    found = _NUMBER.match(text, offset)
    run = _RUN.match(text, offset)
    assert found is not None and run is not None  # noqa: S101, PT018 - both begin with a digit, and here is one
    # Never read in part: `1e5`, `0.9.5` and `95%x` are no numbers.
    if run.end() > found.end():
        hint = "digits, with a point and digits: 0.95"
        raise FormulaError("formula.syntax", f"'{run.group()[:40]}' is not a number", text, offset, hint)
    value = _decimal(found.group(1), text, offset)
    if found.group(2):
        value /= 100
    elif found.group(3) == "s":
        value *= 1000
    return _Token("value", found.group(), offset, value=Constant(value))


def _decimal(digits: str, text: str, offset: int) -> Fraction:
    if len(digits) > MOST_DIGITS:
        raise FormulaError("formula.too-large", f"the number has more than {MOST_DIGITS} digits", text, offset)
    return Fraction(digits)


def _word(word: str, offset: int) -> _Token:
    match word.lower():
        case "and" | "or" as operator:
            return _Token("operator", word, offset, operator)
        case "not":
            return _Token("not", word, offset)
    return _Token("value", word, offset, value=Name(spelled_out(word)))


def _sign(text: str, offset: int) -> _Token:
    found = _SIGN.match(text, offset)
    assert found is not None  # noqa: S101 - the pattern ends in "any character"
    sign = found.group()
    if sign in _BRACKETS:
        return _Token(_BRACKETS[sign], sign, offset)
    if sign in _OPERATORS:
        return _Token("operator", sign, offset, _OPERATORS[sign])
    message, hint = _REFUSED.get(sign, (f"found {sign!r}, which is not part of formulas", None))
    raise FormulaError("formula.syntax", message, text, offset, hint)
