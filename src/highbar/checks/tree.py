"""A check as data: what `read` makes of a suite's words, and what `apply` carries out."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Number: TypeAlias = int | Decimal
Which: TypeAlias = int | Literal["any", "last"]
"""The reply that a check reads: its number from 1, any of them, or the last one."""
Pointer: TypeAlias = tuple[str, ...]
"""The parts of a JSON pointer, unescaped."""


class Texts(Struct, frozen=True):
    """`equals`, `contains`, `contains_all` and `starts_with`: one of the wanted texts; `contains_all`: all of them.

    With `any_case` an exact check compares both texts in lower case.
    """

    kind: Literal["equals", "contains", "contains_all", "starts_with"]
    wanted: tuple[str | Number, ...]  # numbers in `equals` only
    exact: bool = False
    part: bool = False
    reply: Which = "last"
    any_case: bool = False


class Matches(Struct, frozen=True):
    """One of the regular expressions occurs in the text."""

    patterns: tuple[str, ...]
    exact: bool = False
    reply: Which = "last"


class Words(Struct, frozen=True):
    """The text has so many words."""

    at_least: int | None
    at_most: int | None
    reply: Which = "last"


class NumberIs(Struct, frozen=True):
    """A number in the text is one of the wanted ones, or so near to it: a part of the wanted one if `relative`."""

    wanted: tuple[Number, ...]
    within: Number = 0
    relative: bool = False
    last: bool = False
    reply: Which = "last"


class IsJson(Struct, frozen=True):
    """The reply is JSON that meets the schema (as JSON text), if there is one. `whole`: no fenced block counts."""

    schema: str | None = None
    reply: Which = "last"
    whole: bool = False


class Equal(Struct, frozen=True):
    """A JSON value equals the wanted one; with `any_order`, a list has the same items."""

    wanted: Any
    exact: bool = False
    any_order: bool = False


class Bounds(Struct, frozen=True):
    """A JSON number is within bounds, the bounds included."""

    at_least: Number | None
    at_most: Number | None


class At(Struct, frozen=True):
    """There is a value at a pointer, and a check holds for it."""

    pointer: str  # as written
    parts: Pointer
    check: Check


class JsonAt(Struct, frozen=True):
    """The values at pointers: in the reply (`json`), or in what the agent reported (`state`, `context`).

    `whole`: the reply itself is the JSON; a fenced block in it does not count.
    """

    source: Literal["json", "state", "context"]
    values: tuple[At, ...]
    reply: Which = "last"
    whole: bool = False


class Called(Struct, frozen=True):
    """A tool was called, with arguments that meet every condition on them, so many times."""

    name: str
    arguments: Any = None  # a mapping, or None if any will do
    exact: bool = False
    where: tuple[At, ...] = ()
    not_arguments: Any = None
    every: bool = False
    at_least: int = 1
    at_most: int | None = None


class CalledInOrder(Struct, frozen=True):
    """These tools were called in this order, others between them or not."""

    names: tuple[str, ...]


class CalledOnly(Struct, frozen=True):
    """No other tools were called than these."""

    names: tuple[str, ...]


class AtMost(Struct, frozen=True):
    """A measured column (latency, tokens, cost) is at most this."""

    column: str
    most: Number


class Function(Struct, frozen=True):
    """A Python function of the answer says so: `module:function`."""

    name: str


class Statement(Struct, frozen=True):
    """A statement in plain words, which a judge finds true or not."""

    text: str


class Reported(Struct, frozen=True):
    """A behavior that the agent reports itself; no check is written for it."""

    name: str


class All(Struct, frozen=True):
    """Every one of the checks holds."""

    checks: tuple[Check, ...]


class AnyOf(Struct, frozen=True):
    """At least one of the checks holds."""

    checks: tuple[Check, ...]


class Not(Struct, frozen=True):
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


class Finding(Struct, frozen=True):
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
