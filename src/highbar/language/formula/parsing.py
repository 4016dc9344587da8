"""Formula text in, the tree of `model` out.

Python's own parser settles precedence. What it is given is written by us, token by token: every value is `x` or `0`, so
that no text of a user reaches it, and no number passes through a float: the values are found again by their place.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from highbar.language.formula.tokens import COLUMN_FUNCTIONS, FormulaError, Token, tokenize
from highbar.model import Binary, Call, Comparison, Condition, Expression, Logic, Name, Negative, Number, Operator

_ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARISONS: dict[type[ast.cmpop], Operator] = {
    ast.GtE: ">=",
    ast.Gt: ">",
    ast.LtE: "<=",
    ast.Lt: "<",
    ast.Eq: "=",
    ast.NotEq: "!=",
}
_LARGEST_SHARE = 1
_MIN_ARGUMENTS = {"min": 2, "max": 2}
_ARGUMENTS = {"abs": 1, "mean": 1, "sum": 1, "percentile": 2}
_COMPOSITE_START = re.compile(r"\s*final_score\s*=(?!=)")
_COMPOSITE_PASS = re.compile(r"\bpass\s*=(?!=)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Composite:
    """The guide's composite, `final_score = …  pass = …`, in its two parts; the second may be missing."""

    formula: str
    expression: Expression
    condition_text: str | None = None
    condition: Condition | None = None


def parse(text: str) -> Expression:
    """The arithmetic that `text` says.

    >>> parse("correct_outputs ÷ total_outputs")
    Binary(operator='/', left=Name(name='correct_outputs'), right=Name(name='total_outputs'))
    """
    tree = _Tree(text)
    return tree.expression(tree.body)


def parse_condition(text: str) -> Condition:
    """The condition that `text` says: comparisons, joined by AND, OR and NOT in any case; `=` compares."""
    tree = _Tree(text)
    return tree.condition(tree.body)


def parse_composite(text: str) -> Composite:
    """The guide's own text: `final_score = ( … )`, then `pass = …` if the score is to be judged."""
    start = _COMPOSITE_START.match(text)
    if not start:
        place = len(text) - len(text.lstrip())
        raise FormulaError("the composite does not begin with 'final_score ='", text, place, "final_score = ( … )")
    judged = _COMPOSITE_PASS.search(text, start.end())
    end = judged.start() if judged else len(text)
    # Blanks in place of what stands before, so that a fault's line and column are those of the whole text.
    formula = _blank(text[: start.end()]) + text[start.end() : end]
    expression = parse(formula)
    if not judged:
        return Composite(formula.strip(), expression)
    condition = _blank(text[: judged.end()]) + text[judged.end() :]
    return Composite(formula.strip(), expression, condition.strip(), parse_condition(condition))


def _blank(text: str) -> str:
    return "".join("\n" if character == "\n" else " " for character in text)


class _Tree:
    """Python's tree of a formula, and the way from a node of it back to the token it came from."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: dict[int, Token] = {}
        tokens = tokenize(text)
        pieces, length = [], 0
        for token in tokens:
            self.tokens[length] = token
            pieces.append(token.python)
            length += len(token.python) + 1
        try:
            self.body = ast.parse(" ".join(pieces), mode="eval").body
        except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
            place = self.tokens.get((getattr(error, "offset", 1) or 1) - 1, tokens[0]).offset
            raise FormulaError("this cannot be read as a formula", text, place) from None

    def expression(self, node: ast.expr) -> Expression:
        match node:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return Binary(_ARITHMETIC[type(op)], self.expression(left), self.expression(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Negative(self.expression(operand))
            case ast.Call(func=ast.Name(), args=arguments, keywords=[]):
                return self._call(node, arguments)
            case ast.Name() | ast.Constant():
                return self._value(node)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp():
                raise self._fault("found a condition where a number is wanted", node)
        raise self._fault("this is not arithmetic", node)

    def condition(self, node: ast.expr) -> Condition:
        match node:
            case ast.BoolOp(op=op, values=values):
                return Logic("and" if isinstance(op, ast.And) else "or", tuple(map(self.condition, values)))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Logic("not", (self.condition(operand),))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                return Comparison(_COMPARISONS[type(op)], self.expression(left), self.expression(right))
            case ast.Compare(comparators=[_, second, *_]):
                raise self._fault("found two comparisons in a row", second, "join them: a ≤ b AND b ≤ c")
        raise self._fault("found a number where a condition is wanted", node, "compare it: final_score ≥ 0.85")

    def _value(self, node: ast.expr) -> Number | Name | Call:
        value = self.tokens[node.col_offset].node
        assert value is not None  # noqa: S101 - every operand token has one
        if isinstance(value, Call):
            self._check_share(value.arguments[1], node)
        return value

    def _call(self, node: ast.expr, arguments: list[ast.expr]) -> Call:
        function = self.tokens[node.col_offset].node
        assert isinstance(function, Name)  # noqa: S101 - a call's token has its function
        name, found = function.name, len(arguments)
        wanted = _ARGUMENTS.get(name) or max(found, _MIN_ARGUMENTS[name])
        if found != wanted:
            least = "at least " if name in _MIN_ARGUMENTS else ""
            raise self._fault(f"{name} has {found} arguments, wanted {least}{wanted}", node)
        values = tuple(self.expression(argument) for argument in arguments)
        if name in COLUMN_FUNCTIONS and not isinstance(values[0], Name):
            hint = f"{name}(latency_ms) takes the name of a column"
            raise self._fault(f"{name} is not of a column", arguments[0], hint)
        if name == "percentile":
            self._check_share(values[1], arguments[1])
        return Call(name, values)

    def _check_share(self, share: Expression, node: ast.expr) -> None:
        if not isinstance(share, Number) or not 0 < share.value <= _LARGEST_SHARE:
            message = "a percentile's share is not between 0% and 100%"
            raise self._fault(message, node, "percentile(latency_ms, 95%)")

    def _fault(self, message: str, node: ast.expr, hint: str | None = None) -> FormulaError:
        return FormulaError(message, self.text, self.tokens[node.col_offset].offset, hint)
