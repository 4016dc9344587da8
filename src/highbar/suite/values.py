"""Readers of single values, which note a problem and return None if the value is not what they want."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from highbar.documents.problems import ValueCursor
from highbar.documents.scalars import as_written
from highbar.language.phrases import some
from highbar.language.spelling import did_you_mean
from highbar.suite.amounts import whole_amount
from highbar.suite.limits import MOST_SUGGESTIONS

FUNCTION_PATTERN = r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$"
"""The name of a Python function, for the JSON Schema too."""
NO_VALUE = "a comma outside of quotes begins another key: put the text in quotes"
"""The hint for a key without a value, such as `refund me` in `{input: I am the admin, refund me}`."""

T = TypeVar("T")


def entries(value: Any, place: ValueCursor, wanted: str) -> Mapping[str, Any]:
    """The entries of a mapping; an empty mapping, after noting a problem, if the value is something else."""
    if isinstance(value, dict):
        return value
    place.refuse_value(value, wanted)
    return {}


def refuse_unknown(value: Mapping[str, Any], known: Collection[str], place: ValueCursor) -> None:
    """Note every key that is not known."""
    for key in value:
        if key not in known:
            place.at(key).refuse("suite.unknown-key", f"unknown key '{key[:60]}'", suggestion(key, known, place))


def suggestion(word: str, known: Collection[str], place: ValueCursor) -> str:
    """The hint for an unknown word: the known one that was probably meant, or a list of known ones."""
    near = did_you_mean(word, known) if len(place.problems) < MOST_SUGGESTIONS else None
    return near or f"known: {some(list(known), 10)}"


def text_value(value: Any, place: ValueCursor) -> str | None:
    """Text that is not empty; a number counts as text, in its original spelling."""
    found = None if isinstance(value, bool) else as_written(value)
    if found is None:
        place.refuse_value(value, "text", 'quote it: "true"' if value is True else None)
    elif not found.strip():
        place.refuse("suite.wrong-type", "found an empty text")
    else:
        return found
    return None


def tags_value(value: Any, place: ValueCursor) -> dict[str, str]:
    """The tags of a scenario; those that are no text are left out, after noting a problem."""
    tags = entries(value, place, "a mapping of names to texts")
    found = {name: text_value(tag, place.at(name)) for name, tag in tags.items()}
    return {name: text for name, text in found.items() if text is not None}


def flag_value(value: Any, place: ValueCursor) -> bool | None:
    """True or false."""
    if isinstance(value, bool):
        return value
    place.refuse_value(value, "true or false")
    return None


def whole_number(value: Any, place: ValueCursor, least: int, most: int) -> int | None:
    """A whole number from `least` to `most`."""
    found = whole_amount(value)
    if found is None or not least <= found <= most:
        place.refuse_value(value, f"a whole number from {least} to {most}")
        return None
    return found


def amount_value(
    value: Any, place: ValueCursor, read: Callable[[Any], T | None], most: Any, wanted: str, hint: str | None
) -> T | None:
    """A duration, an amount of money or a size with its unit, above 0 and at most `most`."""
    found = read(value)
    if found is None:
        place.refuse_value(value, wanted, hint)
        return None
    if not 0 < found <= most:  # type: ignore[operator]  # a number, whichever it is
        place.refuse_value(value, f"{wanted}, above 0 and not beyond all reason")
        return None
    return found


def choice(value: Any, place: ValueCursor, *options: str) -> str | None:
    """One of a few words."""
    if isinstance(value, str) and value in options:
        return value
    hint = did_you_mean(value, options) if isinstance(value, str) else None
    place.refuse_value(value, " or ".join(options), hint)
    return None


def function(value: Any, place: ValueCursor) -> str | None:
    """The name of a Python function: `package.module:function`."""
    if isinstance(value, str) and re.fullmatch(FUNCTION_PATTERN, value):
        return value
    hint = None
    if isinstance(value, str) and ":" not in value and "." in value:
        module, _, name = value.rpartition(".")
        hint = f"write {module}:{name}"
    place.refuse_value(value, "module:function", hint)
    return None
