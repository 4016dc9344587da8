"""Checks of a text as a suite writes them → checks as data: texts, patterns, words, numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Literal

from highbar.checks import patterns
from highbar.checks.folding import plain_form
from highbar.checks.limits import MOST_WANTED
from highbar.checks.texts import core
from highbar.checks.tree import Check, Matches, Number, NumberIs, Texts, Which, Words
from highbar.checks.values import json_number, number_text
from highbar.documents.limits import MOST_DIGITS
from highbar.documents.problems import ValueCursor
from highbar.documents.scalars import is_bounded
from highbar.language.exact import read_decimal

_Kind = Literal["equals", "contains", "contains_all", "starts_with"]
_NO_LOOKAROUND = (
    "patterns run in linear time (RE2), without lookahead, lookbehind and backreferences; "
    "combine several patterns with `all:`, `any:` and `not:`"
)


def read_texts(kind: _Kind) -> Callable[[Mapping[str, Any], ValueCursor], Check | None]:
    """The reader of a check that compares the reply with texts."""

    def read_text_check(entries: Mapping[str, Any], place: ValueCursor) -> Check | None:
        exact, part = read_flag(entries, "exact", place), read_flag(entries, "part", place)
        any_case, which = read_flag(entries, "any_case", place), read_which(entries, place)
        ignores = ignores_reasoning(entries, place)
        if any_case and not exact:
            place.at("any_case").refuse(
                "suite.misplaced-key", "case never counts without `exact: true`", "leave it out"
            )
        found = [
            _wanted(item, inside, kind, exact=exact) for item, inside in _items(entries[kind], place.at(kind), "a text")
        ]
        sound = tuple(wanted for wanted in found if wanted is not None)
        if not found or len(sound) < len(found):
            return None
        return Texts(kind, sound, exact, part, which, any_case, ignores)

    return read_text_check


def _wanted(value: Any, place: ValueCursor, kind: _Kind, *, exact: bool) -> str | Number | None:
    if isinstance(value, bool) and kind == "equals":
        value = "true" if value else "false"
    if isinstance(value, Decimal) and (kind != "equals" or ("." in str(value) and str(value).endswith("0"))):
        value = str(value)  # as it was written: the version 1.10 is not 1.1
    if isinstance(value, int | float | Decimal):
        exact_number = json_number(value)
        if exact_number is not None and kind == "equals" and is_bounded(exact_number):
            return exact_number
        if exact_number is not None and isinstance(value, int) and is_bounded(value):
            return number_text(value)
        place.refuse_value(value, "a text", "quote it")
        return None
    if not isinstance(value, str):
        hint = (
            "to compare with a JSON value, write `json: {'': {equals: …}}`" if isinstance(value, dict | list) else None
        )
        place.refuse_value(value, "a text, or a list of texts", hint)
        return None
    if len(value) > MOST_WANTED:
        place.refuse("suite.too-large", f"the text has more than {MOST_WANTED} characters")
        return None
    if not value or not (exact or plain_form(value).text.strip()):
        place.refuse(
            "check.constant",
            "an empty text is in every reply: this check always holds" if kind != "equals" else "an empty text",
        )
        return None
    if kind == "equals" and not exact and not core(value):
        place.refuse(
            "check.constant", f"'{value[:60]}' is only punctuation, which `equals` ignores", "add `exact: true`"
        )
        return None
    return value


def read_matches(entries: Mapping[str, Any], place: ValueCursor) -> Check | None:
    """`matches`: one pattern, or a list of patterns of which at least one must occur."""
    exact, which = read_flag(entries, "exact", place), read_which(entries, place)
    ignores = ignores_reasoning(entries, place)
    items = list(_items(entries["matches"], place.at("matches"), "a regular expression"))
    found = [pattern for value, inside in items if (pattern := _pattern(value, inside)) is not None]
    return Matches(tuple(found), exact, which, ignores) if items and len(found) == len(items) else None


def _pattern(value: Any, place: ValueCursor) -> str | None:
    if not isinstance(value, str):
        place.refuse_value(value, "a regular expression: text")
    elif len(value) > MOST_WANTED:
        place.refuse("suite.too-large", f"the pattern has more than {MOST_WANTED} characters")
    elif (error := patterns.error_of(value)) is not None:
        place.refuse(
            "check.bad-pattern",
            f"the pattern cannot be read: {error[:200]}",
            _NO_LOOKAROUND if r"\1" in error or "(?" in error else None,
        )
    elif (letter := patterns.bad_boundary(value)) is not None:
        place.refuse(
            "check.bad-pattern",
            rf"\b knows letters of ASCII only, and is next to '{letter}'",
            "leave \\b out, or use `contains:` for whole words",
        )
    elif patterns.always_matches(value):
        place.refuse("check.constant", "this pattern matches every text: the check always holds")
    else:
        return value
    return None


def read_words(entries: Mapping[str, Any], place: ValueCursor) -> Check | None:
    """`words: {at_least: …, at_most: …}`."""
    which = read_which(entries, place)
    bounds = whole_bounds(entries["words"], place.at("words"))
    if bounds is None:
        return None
    least, most = bounds
    if least == 0:
        place.at("words", "at_least").refuse(
            "check.constant", "every reply has at least 0 words: this check always holds"
        )
        return None
    return Words(least, most, which)


def whole_bounds(value: Any, place: ValueCursor) -> tuple[int | None, int | None] | None:
    """`{at_least: …, at_most: …}` with whole numbers. Refuses `at_most: 0`, since nothing would be counted then."""
    if not isinstance(value, dict) or not value or not value.keys() <= {"at_least", "at_most"}:
        place.refuse_value(value, "{at_least: …}, {at_most: …}, or both")
        return None
    for name, bound in value.items():
        if not isinstance(bound, int) or isinstance(bound, bool) or not (name == "at_most") <= bound <= 10**9:
            place.at(name).refuse_value(bound, f"a whole number, {1 if name == 'at_most' else 0} or more")
            return None
    least, most = value.get("at_least"), value.get("at_most")
    if least is not None and most is not None and least > most:
        place.refuse("check.constant", f"at least {least} and at most {most}: this check never holds")
        return None
    return least, most


def read_number_is(entries: Mapping[str, Any], place: ValueCursor) -> Check | None:
    """`number`, with `within` and `last`."""
    last, which = read_flag(entries, "last", place), read_which(entries, place)
    ignores = ignores_reasoning(entries, place)
    items = list(_items(entries["number"], place.at("number"), "a number"))
    found: list[Number] = []
    for value, inside in items:
        wanted = json_number(value)
        if wanted is None or not is_bounded(wanted):
            inside.refuse_value(value, f"a number of at most {MOST_DIGITS} digits")
        else:
            found.append(wanted)
    within = _within(entries["within"], place.at("within")) if "within" in entries else (0, False)
    if within is None or not items or len(found) < len(items):
        return None
    return NumberIs(tuple(found), *within, last=last, reply=which, ignores_reasoning=ignores)


def _within(value: Any, place: ValueCursor) -> tuple[Number, bool] | None:
    """The distance from the wanted number, and whether it is relative: `0.5`, or `1%` of the wanted number."""
    if isinstance(value, str) and value.strip().endswith("%"):
        share = value.strip().removesuffix("%").strip()
        if read_decimal(share) is not None:
            return Decimal(f"{share}e-2"), True
    distance = json_number(value)
    if distance is None or distance < 0 or not is_bounded(distance):
        place.refuse_value(value, "a number, 0 or more, or a percentage such as 1%")
        return None
    return distance, False


def read_flag(entries: Mapping[str, Any], name: str, place: ValueCursor) -> bool:
    """A modifier that is true or false."""
    value = entries.get(name, False)
    if not isinstance(value, bool):
        place.at(name).refuse_value(value, "true or false")
    return value is True


def read_which(entries: Mapping[str, Any], place: ValueCursor) -> Which:
    """The modifier `reply`: a number from 1, `any` or `last`."""
    value = entries.get("reply", "last")
    if value in ("any", "last") and isinstance(value, str):
        return "any" if value == "any" else "last"
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10**6:
        return value
    place.at("reply").refuse_value(value, "the number of a reply, from 1, or `any`, or `last`")
    return "last"


def ignores_reasoning(entries: Mapping[str, Any], place: ValueCursor) -> bool:
    """The modifier `reasoning`, which is `ignored` or absent: under `must_not`, the agent's reasoning is not read."""
    if "reasoning" not in entries:
        return False
    if entries["reasoning"] != "ignored":
        place.at("reasoning").refuse_value(entries["reasoning"], "ignored", "must-nots read it if you leave this out")
    return True


def _items(value: Any, place: ValueCursor, wanted: str) -> list[tuple[Any, ValueCursor]]:
    """The items of a list; a value that is not a list is the only item."""
    if not isinstance(value, list | tuple):
        return [(value, place)]
    if not value:
        place.refuse("suite.wrong-type", f"found an empty list, wanted {wanted}, or a list of at least one")
    return [(item, place.at(i)) for i, item in enumerate(value)]
