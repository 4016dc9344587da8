"""Which way a formula goes where the results get worse, as far as its text tells: what rewards worse results is found.

A name is *wanted* upward where its metric is better when higher, downward where lower. A measure has no direction of
its own, and what is multiplied by something of unknown sign is not decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from highbar.catalogue import MEASURES, SETTINGS
from highbar.columns import NAMED_IN_FORMULAS, WORSE_IF_HIGHER
from highbar.language.formula import to_words
from highbar.model import Binary, Call, Expression, Metric, Name, Negative, Number, Operator
from highbar.policy.ranges import value_range

UPWARD = NAMED_IN_FORMULAS - WORSE_IF_HIGHER
DOWNWARD = NAMED_IN_FORMULAS & WORSE_IF_HIGHER

Slopes = dict[str, int | None]
"""By name, 1 where the formula rises with it, -1 where it falls, None where that is not decided."""


@dataclass(frozen=True, slots=True)
class Rewards:
    """What a demand gets easier by: names that are better then, names that are worse, and names that may be either."""

    better: tuple[str, ...]
    worse: tuple[str, ...]
    undecided: tuple[str, ...] = ()

    @property
    def only_worse(self) -> bool:
        """Whether nothing but worse results meets the demand more easily."""
        return bool(self.worse) and not self.better and not self.undecided


def rewards(node: Expression, operator: Operator, metrics: Mapping[str, Metric]) -> Rewards:
    """What makes `node operator 0` easier to meet."""
    towards = 1 if operator in (">=", ">") else -1 if operator in ("<=", "<") else 0
    found = slopes(node, metrics) if towards else {}
    wanted = {name: _wanted(name, metrics) for name in found}
    return Rewards(
        better=tuple(name for name, slope in found.items() if slope and slope * towards == wanted[name]),
        worse=tuple(name for name, slope in found.items() if slope and slope * towards == -wanted[name]),
        undecided=tuple(name for name, slope in found.items() if slope is None and wanted[name]),
    )


def slopes(node: Expression, metrics: Mapping[str, Metric]) -> Slopes:
    """How the formula follows each name in it that has a direction."""
    parts = linear(node)
    if parts is not None:
        return {name: (share > 0) - (share < 0) for name, share in parts.items() if name and share}
    match node:
        case Negative(operand):
            return _scaled(slopes(operand, metrics), -1)
        case Call(function, arguments) if function in ("min", "max"):
            return _merged(slopes(argument, metrics) for argument in arguments)
        case Call("abs", (argument,)):
            return _scaled(slopes(argument, metrics), _sign(argument, metrics))
        case Binary(operator, left, right):
            return _of_binary(operator, left, right, metrics)
        case _:
            return {}


def _of_binary(operator: str, left: Expression, right: Expression, metrics: Mapping[str, Metric]) -> Slopes:
    first, second = slopes(left, metrics), slopes(right, metrics)
    if operator in ("+", "-"):
        return _merged((first, second if operator == "+" else _scaled(second, -1)))
    turned = second if operator == "*" else _scaled(second, -1)
    return _merged((_scaled(first, _sign(right, metrics)), _scaled(turned, _sign(left, metrics))))


def linear(node: Expression) -> dict[str, Fraction] | None:
    """The formula as so much of each name and, under the empty name, of 1; None where it is more than that."""
    match node:
        case Number(value):
            return {"": value}
        case Name(name):
            return {name: Fraction(1)}
        case Call(function, (Name(column),)) if function in ("mean", "sum"):
            return {to_words(node): Fraction(1)} if column else None
        case Negative(operand):
            return _times(linear(operand), Fraction(-1))
        case Binary(operator, left, right):
            return _linear_binary(operator, linear(left), linear(right))
        case _:
            return None


def _linear_binary(
    operator: str, first: dict[str, Fraction] | None, second: dict[str, Fraction] | None
) -> dict[str, Fraction] | None:
    if first is None or second is None:
        return None
    if operator in ("+", "-"):
        turned = second if operator == "+" else _times(second, Fraction(-1)) or {}
        return {name: first.get(name, Fraction(0)) + turned.get(name, Fraction(0)) for name in {**first, **turned}}
    constant = second.get("", Fraction(0)) if set(second) <= {""} else None
    if operator == "/":
        return _times(first, 1 / constant) if constant else None
    if constant is not None:
        return _times(first, constant)
    return _times(second, first.get("", Fraction(0))) if set(first) <= {""} else None


def _times(parts: dict[str, Fraction] | None, factor: Fraction) -> dict[str, Fraction] | None:
    return None if parts is None else {name: share * factor for name, share in parts.items()}


def _wanted(name: str, metrics: Mapping[str, Metric]) -> int:
    """Which way a name is better: 1 up, -1 down, 0 neither."""
    if name in MEASURES or name in SETTINGS:
        return 0
    if name in metrics:
        return 1 if metrics[name].better == "higher" else -1
    column = name.partition("(")[2].rstrip(")")
    return (column in UPWARD) - (column in DOWNWARD)


def _sign(node: Expression, metrics: Mapping[str, Metric]) -> int | None:
    """The sign that the formula always has; None where it may have either."""
    low, high = value_range(node, metrics)
    return 1 if low is not None and low >= 0 else -1 if high is not None and high <= 0 else None


def _scaled(found: Slopes, sign: int | None) -> Slopes:
    return {name: None if slope is None or sign is None else slope * sign for name, slope in found.items()}


def _merged(several: Iterable[Slopes]) -> Slopes:
    merged: Slopes = {}
    for found in several:
        for name, slope in found.items():
            merged[name] = slope if merged.get(name, slope) == slope else None
    return merged
