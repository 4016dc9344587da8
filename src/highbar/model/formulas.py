"""A formula as a tree: the result of parsing, and what is evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from highbar.model.words import Operator


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was written, exact."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Name:
    """A measure, a metric or a setting (`latency_limit`), by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """`min`, `max`, `abs` of expressions; `mean`, `sum` of a column; `percentile` of a column and a share."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic: `+`, `-`, `*`, `/`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negative:
    """`-x`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Relation:
    """`left operator right`, true or false."""

    operator: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Logic:
    """`and`, `or` over conditions; `not` over one."""

    operator: Literal["and", "or", "not"]
    operands: tuple[Condition, ...]


Expression = Number | Name | Call | Binary | Negative
Condition = Relation | Logic
