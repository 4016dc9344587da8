"""One row → what is wrong with it, in words; it makes the same demands as the engine."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from highbar.columns import BY_NAME, COLUMNS, Column, Form
from highbar.errors import InputError, Problem
from highbar.load import hints
from highbar.load.duplicate_names import duplicate_message
from highbar.model import Where
from highbar.model.requests import ColumnRange

if TYPE_CHECKING:  # few results have decimals
    from decimal import Decimal

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_EACH_ONCE = "wanted each name once, in any case"
_NAMED_TAGS = "wanted a name for every tag"
LARGEST_WHOLE = 2**63 - 1
"""The largest whole number of 64 bits, in which the engine sums."""


def shown(value: object) -> str:
    """A value for a message: short, on one line."""
    text = repr(value) if isinstance(value, str) else _json_words(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _json_words(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return str(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: object) -> str | None:
    return None if isinstance(value, str) else "wanted text"


def _id(value: object) -> str | None:
    if not isinstance(value, str):
        whole = isinstance(value, int) and not isinstance(value, bool)
        return None if whole else "wanted text or a whole number"
    if not value:
        return "wanted text that is not empty"
    if value.startswith("\ufeff"):
        return "wanted text without a byte order mark, which only the beginning of a file may have"
    return "wanted text without control characters" if CONTROL.search(value) else None


def _bool(value: object) -> str | None:
    return None if isinstance(value, bool) else "wanted true or false"


def _whole(least: int | None) -> Callable[[object], str | None]:
    wanted = "wanted a whole number" + ("" if least is None else f", {least} or more") + " (at most 64 bits)"

    def check(value: object) -> str | None:
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST_WHOLE:
            return wanted
        return wanted if least is not None and value < least else None

    return check


def _number(
    least: float, most: float | None, wanted: str, *, beyond: str | None = None
) -> Callable[[object], str | None]:
    """A check for a finite number from `least` to `most`; `beyond` is the message for a larger one."""

    def check(value: object) -> str | None:
        if beyond and most and isinstance(value, int | float) and most < value < math.inf:
            return beyond
        if (
            not isinstance(value, int | float)
            or isinstance(value, bool)
            or abs(value) > 1e300
            or not math.isfinite(value)
        ):
            return wanted
        return None if value >= least and (most is None or value <= most) else wanted

    return check


def _names(value: object) -> str | None:
    return (
        None
        if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
        else "wanted a list of text"
    )


def _marked(key: str) -> Callable[[object], str | None]:
    wanted = f"wanted a list of text, {{name: true or false}}, or a list of {{name, {key}}}"

    def check(value: object) -> str | None:
        if isinstance(value, Mapping):
            return None if all(mark is None or isinstance(mark, bool) for mark in value.values()) else wanted
        if not isinstance(value, list | tuple):
            return wanted
        if all(isinstance(item, str) for item in value):
            return None
        sound = all(
            isinstance(i, Mapping) and isinstance(i.get("name"), str) and isinstance(i.get(key), bool) for i in value
        )
        if sound and len({i["name"].casefold() for i in value}) < len(value):
            return _EACH_ONCE
        return None if sound else wanted

    return check


def _violations(value: object) -> str | None:
    if isinstance(value, list | tuple):
        return _names(value)
    return "wanted a list of text or a count" if _whole(0)(value) else None


def _label(value: object) -> str | None:
    return None if isinstance(value, bool | str) else "wanted text, or true or false"


def _outcome(value: object) -> str | None:
    return None if value in ("tp", "fp", "fn", "tn") else "wanted tp, fp, fn or tn"


def exact_number(value: Decimal) -> int | float:
    """A decimal as a JSON number. Raises InputError if it has more digits than that can hold: no value is rounded.

    >>> from decimal import Decimal
    >>> exact_number(Decimal("2.50")), exact_number(Decimal("3.00"))
    (2.5, 3)
    """
    if value.is_finite() and value == value.to_integral_value():
        return int(value)
    number = float(value)
    if value.is_finite() and type(value)(repr(number)) != value:
        hint = "round it before, or write it as text in a column of your own"
        raise InputError(
            Problem(
                "file.too-many-digits", f"the decimal {value} has more digits than a number of JSON can hold", hint=hint
            )
        )
    return number


def _code(form: Form, value: object, wanted: str) -> str:
    """The kind of a value that its column does not take: of another type, or one that no result can have."""
    if wanted == _EACH_ONCE:
        return "row.duplicate-key"
    if form in ("number", "whole"):
        return _code_of_number(value, whole=form == "whole")
    of_right_type = (
        isinstance(value, str)
        if form in ("id", "outcome")
        else isinstance(value, int) and not isinstance(value, bool)
        if form == "count"
        else wanted == _NAMED_TAGS
    )
    return "row.wrong-value" if of_right_type else "row.wrong-type"


def _code_of_number(value: object, *, whole: bool = False) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "row.not-finite"
    if isinstance(value, str) and value.strip().casefold().lstrip("+-") in ("nan", "inf", "infinity"):
        return "row.not-finite"  # a CSV file has only texts
    return "row.wrong-value" if isinstance(value, int) or (_is_number(value) and not whole) else "row.wrong-type"


def _duplicate_inside(value: object) -> str | None:
    """The message about a key that occurs twice, at any depth of a value."""
    if isinstance(value, Mapping):
        own = duplicate_message([str(name) for name in value])
        return own or next(filter(None, map(_duplicate_inside, value.values())), None)
    return next(filter(None, map(_duplicate_inside, value)), None) if isinstance(value, list | tuple) else None


def _duplicate_messages(row: Mapping[str, Any]) -> Iterator[str]:
    """Messages about keys twice inside a row's values, and about columns `tags.NAME` beside the same tag in `tags`."""
    for column, value in row.items():
        message = _duplicate_inside(value)
        if message:
            yield f"{column}: {message}"
    tags = row.get("tags")
    own_tags = (
        {str(name).casefold() for name, tag in tags.items() if tag is not None} if isinstance(tags, Mapping) else ()
    )
    for column, value in row.items():
        if value is not None and column.startswith("tags.") and column.removeprefix("tags.").casefold() in own_tags:
            yield f"the tag {column!r} is there twice: in `tags`, and as a column of its own"


def _other_case(row: Mapping[str, Any], columns: Sequence[str]) -> Iterator[str]:
    """Messages about tags that are written in another case than in the policy: its rules would miss the row."""
    tags = row.get("tags")
    for column in columns:
        wanted = column.removeprefix("tags.")
        if column.startswith("tags.") and isinstance(tags, Mapping):
            for name in tags:
                if name != wanted and str(name).casefold() == wanted.casefold():
                    yield f"the tags {name!r} and {wanted!r}, which the policy names, differ only in case"


def _tags(value: object) -> str | None:
    sound = isinstance(value, Mapping) and all(tag is None or isinstance(tag, str) for tag in value.values())
    if sound and isinstance(value, Mapping) and not all(str(name).strip(" ") for name in value):
        return _NAMED_TAGS
    return None if sound else "wanted {name: text}"


def _origin(value: object) -> str | None:
    from highbar.model.origin import read_origin  # only for rows of runs

    return None if read_origin(value) else "wanted {id, plan, planned, part} as `highbar run` writes it"


def _check(column: Column) -> Callable[[object], str | None]:
    """The check of one column: that of its form, with the column's own limits."""
    if column.form == "whole":
        return _whole(None if column.least is None else int(column.least))
    if column.form != "number":
        return _OF_FORM[column.form]
    least, most = column.least or 0, column.most
    if column.bounded:
        return _number(least, most, f"wanted a number from {least:g} to {most:g}")
    if least > 0:
        return _number(least, most, f"wanted a number above 0 (from {least:f} to {most:.0f})")
    return _number(least, most, "wanted a finite number, 0 or more", beyond=f"wanted at most {_power(most)}")


def _power(most: float | None) -> str:
    """A power of ten as `1e15`."""
    return "" if most is None else f"1e{len(str(int(most))) - 1}"


_OF_FORM: Mapping[Form, Callable[[object], str | None]] = {
    "id": _id,
    "text": _text,
    "shown": _text,
    "truth": _bool,
    "label": _label,
    "outcome": _outcome,
    "names": _names,
    "observed": _marked("observed"),
    "violated": _marked("violated"),
    "count": _violations,
    "tags": _tags,
    "origin": _origin,
}
CHECKS = {
    column.name: _check(column) for column in sorted(COLUMNS, key=lambda column: column.form in ("text", "shown"))
}
"""By column: the check of its values. Columns of plain text come last, since they are rarely the cause of a refusal."""


def faults(
    row: object, scalars: tuple[str, ...] = (), numbers: tuple[ColumnRange, ...] = ()
) -> Iterator[tuple[str, str, str | None]]:
    """Each fault of a row: code, message, hint or None. `scalars` are columns to slice by, `numbers` are measured."""
    if not isinstance(row, Mapping):
        message = f"found {shown(row)}, wanted an object with the columns of one result"
        yield "row.not-an-object", message, hints.ONE_RESULT
        return
    if row.get("id") is None:
        yield "row.missing-id", "this result has no id", "every result names its scenario in `id`"
    for column, check in CHECKS.items():
        value = row.get(column)
        wanted = None if value is None else check(value)
        if wanted:
            message = f"{column}: found {shown(value)}, {wanted}"
            yield _code(BY_NAME[column].form, value, wanted), message, hints.hint_for_value(column, value)
    yield from (("row.duplicate-key", message, hints.DUPLICATE) for message in _duplicate_messages(row))
    yield from (("row.other-case", message, hints.ONE_SPELLING) for message in _other_case(row, scalars))
    for column in scalars:
        if isinstance(row.get(column), Mapping | list | tuple):
            message = f"{column}: found {shown(row.get(column))}, wanted text or a number to slice by"
            yield "select.column", message, "slice by a column that has one value for each scenario"
    for range_ in numbers:
        value = row.get(range_.column)
        wanted = None if value is None else _outside(value, range_, row)
        if wanted:
            message = f"{range_.column}: found {shown(value)}, {wanted}"
            yield _code_of_number(value), message, hints.of_number(value)


def _outside(value: Any, range_: ColumnRange, row: Mapping[str, Any]) -> str | None:
    """What was wanted of a number from which a metric is computed; None if the number is good."""
    if not _is_number(value) or not abs(value) < math.inf:
        return "wanted a finite number"
    if abs(value) > 1e18:
        return "wanted a number from -1e18 to 1e18"
    if range_.least <= value <= range_.most or not _is_selected(range_.where, row):
        return None
    ends = f"{float(range_.least):g} to {float(range_.most):g}"
    return f"wanted a number from {ends}, which a metric of the policy declares as its range"


def _is_selected(where: Where, row: Mapping[str, Any]) -> bool:
    for column, values in where:
        tags = row.get("tags")
        tag = (
            tags.get(column.removeprefix("tags.")) if column.startswith("tags.") and isinstance(tags, Mapping) else None
        )
        if (row.get(column) if tag is None else tag) not in values:
            return False
    return True
