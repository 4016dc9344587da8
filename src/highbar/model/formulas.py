"""A formula as a tree: the result of parsing, and what is evaluated."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from msgspec import Struct

from highbar.model.literals import Operator


class Constant(Struct, frozen=True):
    """A number as it was written, exact."""

    value: Fraction


class Name(Struct, frozen=True):
    """A measure, a metric or a setting (`latency_limit`), by name."""

    name: str


class Call(Struct, frozen=True):
    """`min`, `max`, `abs` of expressions; `mean`, `sum` of a column; `percentile` of a column and a share."""

    function: str
    arguments: tuple[Expression, ...]


class Binary(Struct, frozen=True):
    """Arithmetic: `+`, `-`, `*`, `/`."""

    operator: str
    left: Expression
    right: Expression


class Negative(Struct, frozen=True):
    """`-x`."""

    operand: Expression


class Relation(Struct, frozen=True):
    """`left operator right`, true or false."""

    operator: Operator
    left: Expression
    right: Expression


class Logic(Struct, frozen=True):
    """`and`, `or` over conditions; `not` over one."""

    operator: Literal["and", "or", "not"]
    operands: tuple[Condition, ...]


Expression = Constant | Name | Call | Binary | Negative
Condition = Relation | Logic
