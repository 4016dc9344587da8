"""Checks of JSON values at pointers: in the reply, in the state and the context, in the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from highbar.checks import reply_checks, texts
from highbar.checks.evidence import as_json, cut_evidence, cut_value, value_words
from highbar.checks.limits import MOST_TEXT
from highbar.checks.numbers import is_wanted
from highbar.checks.tree import (
    All,
    AnyOf,
    At,
    Bounds,
    Check,
    Equal,
    Finding,
    JsonAt,
    Matches,
    Not,
    NumberIs,
    Pointer,
    Texts,
    Words,
    negated,
    no,
    unclear,
    yes,
)
from highbar.checks.values import (
    ABSENT,
    NotJson,
    Unreadable,
    at_pointer,
    decode_json,
    json_number,
    json_of_reply,
    kind,
    refuse_depth,
    same,
    same_items,
)
from highbar.model.answer import Answer


class ValueReading(Struct, frozen=True):
    """How values are compared: plainly, or strictly for must-nots."""

    in_text: Callable[[Texts | Matches | Words | NumberIs, str], Finding]
    equal: Callable[[Equal, Any], Finding]
    within: Callable[[Bounds, Any], Finding]
    values_at: Callable[[Any, Pointer], tuple[Sequence[Any], str | None]]
    """The values that a pointer may lead to, and what could not be read there."""
    as_text: Callable[[Any], Any]
    """The value that a check of a text reads."""


def find(check: JsonAt, answer: Answer) -> Finding:
    """The finding of a check of values at pointers."""
    if check.source != "json":
        value = answer.state if check.source == "state" else answer.context
        if value is None:
            return unclear(f"the agent reported no {check.source}")
        return find_at(check.values, value)
    return _in_replies(check, reply_checks.chosen_replies(check.reply, answer))


def _in_replies(check: JsonAt, replies: Iterable[str]) -> Finding:
    """The finding on the first reply for which the check holds; otherwise an unclear finding, or what was missed."""
    missed = no("there is no reply")
    for text in replies:
        try:
            read = decode_json if check.whole else json_of_reply
            found = find_at(check.values, read(text)) if len(text) <= MOST_TEXT else reply_checks.TOO_LONG
        except NotJson as error:
            found = no(cut_evidence(str(error)))
        except Unreadable as error:
            found = unclear(str(error))
        if found.observed:
            return found
        missed = found if found.observed is None or missed.observed is False else missed
    return missed


def find_at(wanted: tuple[At, ...], value: Any, reading: ValueReading | None = None) -> Finding:
    """Whether each pointer leads to a value for which its check holds; the evidence is those values."""
    reading = reading or PLAIN
    try:
        refuse_depth(value)
    except Unreadable as error:
        return unclear(str(error))
    found: dict[str, Any] = {}
    unknown: Finding | None = None
    for one in wanted:
        values, broken = reading.values_at(value, one.parts)
        inner, finding = _first_at(one, values, reading)
        if not finding.observed and broken is not None:
            finding = unclear(broken)
        if finding.observed is False and inner is ABSENT:
            return finding
        if finding.observed is False:
            reason = finding.reason or f"found {as_json(inner)}"
            return no(cut_evidence(f"at '{one.pointer}': {reason}"), {one.pointer: cut_value(inner)})
        unknown = unknown or (finding if finding.observed is None else None)
        found[one.pointer] = cut_value(inner)
    return unknown or yes(found)


def _first_at(wanted: At, values: Sequence[Any], reading: ValueReading) -> tuple[Any, Finding]:
    """The first of the values for which the check holds, or else the last one, and the finding on it."""
    inner, missed = ABSENT, no(cut_evidence(f"there is nothing at '{wanted.pointer}'"))
    for value in values:
        found = holds(wanted.check, value, reading)
        if found.observed:
            return value, found
        if missed.observed is False:
            inner, missed = value, found
    return inner, missed


def holds(check: Check, value: Any, reading: ValueReading) -> Finding:
    """The finding of a check on one JSON value."""
    match check:
        case Equal():
            return reading.equal(check, value)
        case Bounds():
            return reading.within(check, value)
        case Not():
            # By the plain reading: the strict one finds more, which `not` would turn into less.
            return negated(holds(check.check, value, PLAIN))
        case All() | AnyOf():
            return _combine(check, value, reading)
        case NumberIs() if json_number(value) is not None:
            return Finding(is_wanted(json_number(value) or 0, check))
        case Texts() | Matches() | Words() | NumberIs():
            return _text(check, reading.as_text(value), reading)
    return unclear("this check does not apply to a JSON value")


def _combine(check: All | AnyOf, value: Any, reading: ValueReading) -> Finding:
    parts = [holds(part, value, reading) for part in check.checks]
    decides = isinstance(check, AnyOf)
    decided = next((part for part in parts if part.observed is decides), None)
    unknown = next((part for part in parts if part.observed is None), None)
    return decided or unknown or Finding(not decides, reason=parts[0].reason if decides else None)


def _equal(check: Equal, value: Any) -> Finding:
    compare = partial(texts.is_equal, exact=check.exact)
    if (same_items if check.any_order else same)(value, check.wanted, compare):
        return yes()
    return no(_difference(value, check.wanted))


def _difference(value: Any, wanted: Any) -> str:
    if kind(value) == kind(wanted):
        return f"found {as_json(value)[:200]}, wanted {as_json(wanted)[:200]}"
    return f"found {value_words(value)}, wanted {value_words(wanted)}"


def _within(check: Bounds, value: Any) -> Finding:
    found = json_number(value)
    if found is None:
        return no(f"found {value_words(value)}, wanted a number")
    return Finding(
        (check.at_least is None or found >= check.at_least) and (check.at_most is None or found <= check.at_most)
    )


def _text(check: Texts | Matches | Words | NumberIs, value: Any, reading: ValueReading) -> Finding:
    """The finding of a text check on a text, or on a list of texts, for which it holds if it holds for one item."""
    items = [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else [value]
    if items and isinstance(items[0], str):
        findings = [reading.in_text(check, item) for item in items if item]
        unknown = next((finding for finding in findings if finding.observed is None), None)
        return next((finding for finding in findings if finding.observed), unknown or no())
    return no(f"found {value_words(value)}, wanted a text")


def _only_at(value: Any, pointer: Pointer) -> tuple[Sequence[Any], None]:
    found = at_pointer(value, pointer)
    return () if found is ABSENT else (found,), None


PLAIN = ValueReading(reply_checks.in_text, _equal, _within, _only_at, lambda value: value)
