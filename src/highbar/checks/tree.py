"""A check as data: what `read` makes of a suite's words, and what `apply` carries out."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias

Number: TypeAlias = int | Decimal
Which: TypeAlias = int | Literal["any", "last"]
"""The reply that a check reads: its number from 1, any of them, or the last one."""
Pointer: TypeAlias = tuple[str, ...]
"""The parts of a JSON pointer, unescaped."""


@dataclass(frozen=True, slots=True)
class Texts:
    """`equals`, `contains`, `contains_all` and `starts_with`: one of the wanted texts; `contains_all`: all of them."""

    kind: Literal["equals", "contains", "contains_all", "starts_with"]
    wanted: tuple[str | Number, ...]  # numbers in `equals` only
    exact: bool = False
    part: bool = False
    reply: Which = "last"


@dataclass(frozen=True, slots=True)
class Matches:
    """One of the regular expressions occurs in the text."""

    patterns: tuple[str, ...]
    exact: bool = False
    reply: Which = "last"


@dataclass(frozen=True, slots=True)
class Words:
    """The text has so many words."""

    at_least: int | None
    at_most: int | None
    reply: Which = "last"


@dataclass(frozen=True, slots=True)
class NumberIs:
    """A number in the text is one of the wanted ones, or so near to it: a part of the wanted one if `relative`."""

    wanted: tuple[Number, ...]
    within: Fraction = Fraction(0)
    relative: bool = False
    last: bool = False
    reply: Which = "last"


@dataclass(frozen=True, slots=True)
class IsJson:
    """The reply is JSON, and meets the schema, if there is one: its JSON text."""

    schema: str | None = None
    reply: Which = "last"


@dataclass(frozen=True, slots=True)
class Equal:
    """A JSON value equals the wanted one; with `any_order`, a list has the same items."""

    wanted: Any
    exact: bool = False
    any_order: bool = False


@dataclass(frozen=True, slots=True)
class Bounds:
    """A JSON number is within bounds, the bounds included."""

    at_least: Number | None
    at_most: Number | None


@dataclass(frozen=True, slots=True)
class At:
    """There is a value at a pointer, and a check holds for it."""

    pointer: str  # as written
    parts: Pointer
    check: Check


@dataclass(frozen=True, slots=True)
class JsonAt:
    """What stands at pointers: in the reply (`json`), or in what the agent reported (`state`, `context`)."""

    source: Literal["json", "state", "context"]
    values: tuple[At, ...]
    reply: Which = "last"


@dataclass(frozen=True, slots=True)
class Called:
    """A tool was called, with arguments that meet all that is said about them, so many times."""

    name: str
    arguments: Any = None  # a mapping, or None if nothing is said
    exact: bool = False
    where: tuple[At, ...] = ()
    not_arguments: Any = None
    every: bool = False
    at_least: int = 1
    at_most: int | None = None


@dataclass(frozen=True, slots=True)
class CalledInOrder:
    """These tools were called in this order, others between them or not."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CalledOnly:
    """No other tools were called than these."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AtMost:
    """A measured column (latency, tokens, cost) is at most this."""

    column: str
    most: Number


@dataclass(frozen=True, slots=True)
class Function:
    """A Python function of the answer says so: `module:function`."""

    name: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement in plain words, which a judge finds true or not."""

    text: str


@dataclass(frozen=True, slots=True)
class Reported:
    """A behavior that the agent reports itself; no check is written for it."""

    name: str


@dataclass(frozen=True, slots=True)
class All:
    """Every one of the checks holds."""

    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the checks holds."""

    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The check does not hold."""

    check: Check


ReplyCheck: TypeAlias = Texts | Matches | Words | NumberIs | IsJson
Check: TypeAlias = (
    ReplyCheck
    | Equal
    | Bounds
    | JsonAt
    | Called
    | CalledInOrder
    | CalledOnly
    | AtMost
    | Function
    | Statement
    | Reported
    | All
    | AnyOf
    | Not
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check came to.

    `observed` is None if the check could not be carried out; `reason` then says why. `found` is the evidence: a stretch
    of the original reply, the call, or the number. A `reason` beside False says what was missed.
    """

    observed: bool | None
    found: Any = None
    reason: str | None = None


def yes(found: Any = None) -> Finding:
    """The check holds."""
    return Finding(observed=True, found=found)


def no(reason: str | None = None, found: Any = None) -> Finding:
    """The check does not hold."""
    return Finding(observed=False, found=found, reason=reason)


def unclear(reason: str) -> Finding:
    """The check could not be carried out."""
    return Finding(observed=None, reason=reason)
