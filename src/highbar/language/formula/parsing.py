"""Formula text in, the tree of `model` out, by recursive descent.

Reading has two steps, because AND, comparisons and arithmetic share one syntax: first the text becomes a tree of
operations, then that tree is read as a number or as a condition. So faults in the syntax are reported before faults in
the meaning, each at the token that caused it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from msgspec import Struct

from highbar.language.formula.tokens import FormulaError, Token, tokenize
from highbar.language.formula.tree import COLUMN_FUNCTIONS
from highbar.language.limits import MOST_NESTING, MOST_OPERATORS
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
_COMPOSITE_START = r"\s*final_score\s*=(?!=)"
_COMPOSITE_PASS = re.compile(r"\bpass\s*=(?!=)", re.IGNORECASE)

_OR, _AND, _COMPARISON, _SUM, _PRODUCT, _SIGNED = range(1, 7)
_BINDING = {"or": _OR, "and": _AND, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT}


class Composite(Struct, frozen=True):
    """A composite in one text, `final_score = …  pass = …`, in its two parts; the second may be missing."""

    formula: str
    expression: Expression
    condition_text: str | None = None
    condition: Condition | None = None


def parse(text: str) -> Expression:
    """The arithmetic of `text`.

    >>> parse("correct_outputs ÷ total_outputs")
    Binary(operator='/', left=Name(name='correct_outputs'), right=Name(name='total_outputs'))
    """
    return _Meaning(text).expression(_Syntax(text).read())


def parse_condition(text: str) -> Condition:
    """The condition of `text`: comparisons, joined by AND, OR and NOT in any case; `=` compares."""
    return _Meaning(text).condition(_Syntax(text).read())


def parse_composite(text: str) -> Composite:
    """The two parts of such a text: `final_score = ( … )`, and `pass = …` if the policy judges the score."""
    start = re.match(_COMPOSITE_START, text)
    if not start:
        place = len(text) - len(text.lstrip())
        raise FormulaError("the composite does not begin with 'final_score ='", text, place, "final_score = ( … )")
    judged = _COMPOSITE_PASS.search(text, start.end())
    end = judged.start() if judged else len(text)
    # Blanks replace the text before it, so that the line and column of a fault are those in the whole text.
    formula = _blank(text[: start.end()]) + text[start.end() : end]
    expression = parse(formula)
    if not judged:
        return Composite(formula.strip(), expression)
    condition = _blank(text[: judged.end()]) + text[judged.end() :]
    return Composite(formula.strip(), expression, condition.strip(), parse_condition(condition))


def _blank(text: str) -> str:
    return "".join("\n" if character == "\n" else " " for character in text)


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
        self.tokens: Iterator[Token] = tokenize(text)
        self.next = next(self.tokens)
        self.last = self.next
        self.open: list[tuple[int, str]] = []  # offset and function of each bracket that is not closed yet
        self.prefixes = 0  # since the last value
        self.operators = 0

    def read(self) -> _SyntaxNode:
        if self.next.kind == "end":
            raise self._fault("the formula is empty", 0)
        return self._operation(_OR)

    def _take(self) -> Token:
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
            raise self._fault(message, self.next.offset, "split it into metrics")
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

    def _call(self, name: Token) -> _SyntaxNode:
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
            raise self._fault(f"nested deeper than {MOST_NESTING}", offset, "split it into metrics")

    def _fault(self, message: str, offset: int, hint: str | None = None) -> FormulaError:
        return FormulaError(message, self.text, offset, hint)


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
        return FormulaError(message, self.text, node.offset, hint)
