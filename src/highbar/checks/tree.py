"""A check as data: `read` makes it from a suite, and `apply` carries it out."""

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
    """`equals`, `contains` and `starts_with`: one of the wanted texts is found; `contains_all`: all of them are.

    With `any_case` an exact check compares both texts in lower case.
    """

    kind: Literal["equals", "contains", "contains_all", "starts_with"]
    wanted: tuple[str | Number, ...]  # numbers in `equals` only
    exact: bool = False
    part: bool = False
    reply: Which = "last"
    any_case: bool = False
    ignores_reasoning: bool = False


class Matches(Struct, frozen=True):
    """One of the regular expressions occurs in the text."""

    patterns: tuple[str, ...]
    exact: bool = False
    reply: Which = "last"
    ignores_reasoning: bool = False


class Words(Struct, frozen=True):
    """The number of words in the text is within the bounds."""

    at_least: int | None
    at_most: int | None
    reply: Which = "last"


class NumberIs(Struct, frozen=True):
    """A number in the text differs from a wanted one by at most `within`, or if `relative`, `within` × the wanted one.

    With `last`, only the last number in the text counts.
    """

    wanted: tuple[Number, ...]
    within: Number = 0
    relative: bool = False
    last: bool = False
    reply: Which = "last"
    ignores_reasoning: bool = False


class IsJson(Struct, frozen=True):
    """The reply is JSON and meets the schema (as JSON text) if there is one. `whole`: fenced blocks do not count."""

    schema: str | None = None
    reply: Which = "last"
    whole: bool = False


class Equal(Struct, frozen=True):
    """A JSON value equals the wanted one; with `any_order`, a list has the same items."""

    wanted: Any
    exact: bool = False
    any_order: bool = False


class Bounds(Struct, frozen=True):
    """A JSON number is within the bounds, which are inclusive."""

    at_least: Number | None
    at_most: Number | None


class At(Struct, frozen=True):
    """There is a value at a pointer, and a check holds for it."""

    pointer: str  # as written
    parts: Pointer
    check: Check


class JsonAt(Struct, frozen=True):
    """Checks hold for the values at pointers, in the reply (`json`) or in the agent's report (`state`, `context`).

    `whole`: the reply itself is the JSON; a fenced block in it does not count.
    """

    source: Literal["json", "state", "context"]
    values: tuple[At, ...]
    reply: Which = "last"
    whole: bool = False
    ignores_reasoning: bool = False


class Called(Struct, frozen=True):
    """A tool was called with arguments that meet every condition, `at_least` to `at_most` times.

    With `every`, no call of the tool may miss the conditions. With `exact`, no other arguments may be present.
    """

    name: str
    arguments: Any = None  # a mapping, or None if any will do
    exact: bool = False
    where: tuple[At, ...] = ()
    not_arguments: Any = None
    every: bool = False
    at_least: int = 1
    at_most: int | None = None


class CalledInOrder(Struct, frozen=True):
    """These tools were called in this order; other calls may be between them."""

    names: tuple[str, ...]


class CalledOnly(Struct, frozen=True):
    """No tools other than these were called."""

    names: tuple[str, ...]


class AtMost(Struct, frozen=True):
    """A measured column (latency, tokens, cost) is at most this."""

    column: str
    most: Number


class Function(Struct, frozen=True):
    """A Python function (`module:function`) that gets the answer decides."""

    name: str


class Statement(Struct, frozen=True):
    """A statement in plain words; a judge decides whether it is true."""

    text: str


class Reported(Struct, frozen=True):
    """A behavior that the agent reports itself; the suite has no check for it."""

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


def check_parts(check: Check) -> tuple[Check, ...]:
    """The checks that a check combines."""
    return check.checks if isinstance(check, All | AnyOf) else (check.check,) if isinstance(check, Not) else ()


class Finding(Struct, frozen=True):
    """The result of a check.

    `observed` is None if the check could not be carried out; `reason` then says why. `found` is the evidence: a part of
    the original reply, the call, or the number. If `observed` is False, `reason` says what was missing.
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


def negated(finding: Finding) -> Finding:
    """The opposite finding; a check that could not be carried out stays so."""
    return finding if finding.observed is None else Finding(not finding.observed, finding.found, finding.reason)
