"""JSON values as must-nots read them: every value of a key counts, however the key is written, and types do not.

99, "99" and 99.0 are one value, and a text that is JSON is what it says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

from highbar.checks import reply_checks, schemas, texts
from highbar.checks.disguises import decoded
from highbar.checks.evidence import cut_evidence
from highbar.checks.folding import AS_FIRST, AS_MARKS, strict
from highbar.checks.found_json import FoundJson, Repeated, find_json, pairs_of
from highbar.checks.numbers import grouped_numbers, numbers
from highbar.checks.tree import Bounds, Equal, Finding, IsJson, Number, Pointer, no, unclear, yes
from highbar.checks.values import ABSENT, at_pointer, decode_json, json_number, number_text, texts_within
from highbar.documents.limits import MOST_DIGITS


def same_text(found: str, wanted: str) -> bool:
    """Whether a text is the wanted one, plainly or strictly."""
    return any(
        texts.is_equal(read, wanted, exact=False) or texts.is_equal_strictly(read, wanted)
        for read in chain((found,), (other.text for other in decoded(found)))
    )


def values_at(value: Any, pointer: Pointer) -> tuple[list[Any], str | None]:
    """Every value that a pointer may lead to, also through texts that are JSON; and what could not be read there."""
    level, broken = [value], None
    for part in pointer:
        below: list[Any] = []
        for outer in level:
            found = find_json(outer) if isinstance(outer, str) else FoundJson(((outer, ""),), None)
            broken = broken or found.broken
            for one, _ in found.values:
                if isinstance(one, Mapping):
                    below += [inner for key, inner in pairs_of(one) if key == part or same_text(key, part)]
                elif (inner := at_pointer(one, (part,))) is not ABSENT:
                    below.append(inner)
        level = below
    return level, broken


def equal(check: Equal, value: Any) -> Finding:
    """Whether a value may be taken for the wanted one."""
    broken: list[str] = []
    if _same(value, check.wanted, broken, any_order=check.any_order):
        return yes()
    return unclear(broken[0]) if broken else no()


def _same(found: Any, wanted: Any, broken: list[str], *, any_order: bool = False) -> bool:
    if isinstance(found, str) and isinstance(wanted, Mapping | list | tuple):
        inside = find_json(found)
        broken += [inside.broken] if inside.broken else []
        return any(_same(one, wanted, broken, any_order=any_order) for one, _ in inside.values)
    if isinstance(wanted, Mapping):
        if not isinstance(found, Mapping):
            return False
        pairs = pairs_of(found)
        return all(any(same_text(key, name) for name in wanted) for key, _ in pairs) and all(
            any(_same(inner, one, broken) for key, inner in pairs if key == name or same_text(key, name))
            for name, one in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(wanted):
            return False
        if any_order:
            return _same_items(found, wanted, broken)
        return all(_same(one, other, broken) for one, other in zip(found, wanted, strict=True))
    return not isinstance(found, Mapping | list | tuple) and _same_scalar(found, wanted)


def _same_items(found: Sequence[Any], wanted: Sequence[Any], broken: list[str]) -> bool:
    """Whether each item has a counterpart of its own: what is found may be taken for several of the wanted."""
    taken: dict[int, int] = {}

    def place(item: int, tried: set[int]) -> bool:
        for other in range(len(wanted)):
            if other not in tried and _same(found[item], wanted[other], broken):
                tried.add(other)
                if other not in taken or place(taken[other], tried):
                    taken[other] = item
                    return True
        return False

    return all(place(item, set()) for item in range(len(found)))


def _same_scalar(found: Any, wanted: Any) -> bool:
    number = json_number(wanted)
    if number is not None:
        if isinstance(found, str):
            return same_text(found, number_text(wanted)) or reply_checks.is_number(found, number)
        return json_number(found) == number
    if isinstance(wanted, str):
        return isinstance(text := as_text(found), str) and (
            same_text(text, wanted)
            or ((number := json_number(found)) is not None and reply_checks.is_number(wanted, number))
        )
    if isinstance(found, str):
        return same_text(found, str(wanted).lower() if wanted is not None else "null")
    return type(found) is type(wanted) and bool(found == wanted)


def as_text(value: Any) -> Any:
    """A number or a truth value as text, and those in a list; other values stay."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return number_text(value)
    return [as_text(item) for item in value] if isinstance(value, list | tuple) else value


def within(check: Bounds, value: Any) -> Finding:
    """Whether a number that is the value, or is in its text, is within the bounds."""
    if isinstance(value, float) and math.isnan(value):
        return unclear("NaN is no number")
    if any(
        (check.at_least is None or one >= check.at_least) and (check.at_most is None or one <= check.at_most)
        for one in _numbers(value)
    ):
        return yes()
    return no()


def _numbers(value: Any) -> Iterator[Number | float]:
    if isinstance(value, str):
        for text in chain((value,), (other.text for other in decoded(value))):
            read = strict(text, accents=False, bare=True).text.translate(AS_FIRST).translate(AS_MARKS)
            for found, _, _ in chain(numbers(read, inside_words=True), grouped_numbers(read, MOST_DIGITS)):
                yield found
    elif isinstance(value, float) and math.isinf(value):
        yield value
    elif (number := json_number(value)) is not None:
        yield number


def is_json(check: IsJson, text: str) -> Finding:
    """Whether any JSON value in a text meets the schema, if there is one."""
    found = find_json(text)
    broken = found.broken
    names = _Names(() if check.schema is None else texts_within(decode_json(check.schema)))
    for value, stretch in found.values:
        if check.schema is None:
            return yes(cut_evidence(stretch))
        readings = [
            _reading(value, names, first=first, loose=loose) for first in (False, True) for loose in (False, True)
        ]
        if any(schemas.meets(reading, check.schema) is None for reading in (value, *readings)):
            return yes(cut_evidence(stretch))
        if broken is None and _has_repeated(value):
            broken = "the reply has JSON in which a key occurs twice"
    return unclear(broken) if broken else no()


class _Names(dict[str, str]):
    """What stands for a text: one of the names that looks like it, or itself."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__((name, name) for name in names)
        self.names = tuple(self)

    def __missing__(self, text: str) -> str:
        named = self[text] = next((name for name in self.names if same_text(text, name)), text)
        return named


def _reading(value: Any, names: _Names, *, first: bool, loose: bool) -> Any:
    """A value with every text that looks like one of the names as that name, and with one value for each key."""
    if isinstance(value, str):
        number = reply_checks.whole_number(value) if loose else None
        return names[value] if number is None else number
    if isinstance(value, Mapping):
        pairs = [(_reading(key, names, first=first, loose=False), inner) for key, inner in pairs_of(value)]
        chosen = dict(reversed(pairs) if first else pairs)
        return {key: _reading(inner, names, first=first, loose=loose) for key, inner in chosen.items()}
    return [_reading(item, names, first=first, loose=loose) for item in value] if isinstance(value, list) else value


def _has_repeated(value: Any) -> bool:
    stack = [value]
    while stack:
        found = stack.pop()
        if isinstance(found, Repeated):
            return True
        stack += found.values() if isinstance(found, Mapping) else found if isinstance(found, list) else ()
    return False
