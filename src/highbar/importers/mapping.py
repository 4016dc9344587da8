"""Any JSON, JSONL or CSV file with a mapping → rows, by the paths, constants and conditions of a `RowMap`.

Nothing is guessed: a value that its column or the mapping's table of values does not have is refused with its place.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from typing import NoReturn

from highbar.columns import JUDGING, JUDGMENTS, column_names, of_form
from highbar.errors import InputError
from highbar.importers import Read, Row
from highbar.importers.limits import LONGEST_NUMBER
from highbar.importers.naming import Trials
from highbar.importers.path_watch import PathWatch
from highbar.importers.reading.json import decode_value
from highbar.importers.record import is_number, origin, refuse, shown
from highbar.importers.report import Report
from highbar.importers.scopes import Scope, scopes, value_at
from highbar.language.phrases import count
from highbar.language.tool_names import flat_tags, scalar_text, scenario_id
from highbar.model.mapping import Check, Feed, Path, RowMap, Scalar, When

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
_FLAGS = frozenset(of_form("truth"))
_WHOLE_NUMBERS = frozenset(of_form("whole"))
_NUMBERS = frozenset(of_form("whole", "number"))
_LISTS = frozenset(of_form("names", "observed", "violated", "count"))
_LABELS = frozenset(of_form("label"))
_TEXTS = frozenset(of_form("id", "text", "shown", "outcome"))
_JUDGING = frozenset({"passed", "correct", "outcome", "expected", "expected_behaviors", "must_not", "error"})
TOOL_COLUMNS = ("error", "violations", "passed", "correct")
"""Columns that a mapping on top of a tool's rows must not set: only the tool knows what happened."""
_DESCRIPTIONS = ("id", *column_names("describes"))
"""Columns that such a mapping may set even if the tool's importer sets them."""


def read(path: str, report: Report) -> Iterator[Row]:
    """Refuse every file: nothing can be read without a mapping. `reader` returns the function for a mapping."""
    del path, report
    refuse("map.incomplete", "these results need a mapping", hint="name it with --map, or write it into the policy")


def reader(mapping: RowMap) -> Read:
    """The importer that reads a file by this mapping."""

    def read_mapped(path: str, report: Report) -> Iterator[Row]:
        _refuse_without_id(mapping)
        trials, watch, unread_judgments = Trials(), PathWatch(mapping), Counter[str]()
        read_fields = _first_steps(_paths(mapping))
        feed_fields = _first_steps([feed.path for _, feeds in mapping.columns for feed in feeds if feed.path])
        for scope in scopes(mapping.rows, path, _needed(mapping)):
            report.records += 1
            watch.look(scope, _passes)
            if mapping.where is not None and not _holds(mapping.where, scope):
                report.leave_out("the mapping's `where` leaves them out")
                continue
            row = _with_unjudged(mapping, _row(mapping, scope, trials)) | origin(scope.record)
            report.unread.update(unread := _unread(feed_fields, scope))
            unread_judgments.update(name for name in (unread & JUDGMENTS) - read_fields if _says_something(scope, name))
            report.unscored += not _JUDGING & row.keys()
            yield row
        watch.report_unused(report)
        for name, records in sorted(unread_judgments.items()):
            have = f"{count(records, 'record')} {'has' if records == 1 else 'have'} {name}"
            report.warn(f"{have}, which the mapping does not read; if it judges them, add it to the columns")

    return read_mapped


def _refuse_without_id(mapping: RowMap) -> None:
    if "id" not in dict(mapping.columns):
        hint = 'id: name, or id: "@key"; a mapping without one is for files that a tool\'s reader knows'
        refuse("map.incomplete", "the mapping has no id, wanted the path that names the scenario", hint=hint)


def _with_unjudged(mapping: RowMap, row: Row) -> Row:
    """The row; undecided if the mapping has `passed` or `correct` but gives this row no value for it."""
    judging = next((column for column in ("passed", "correct") if column in dict(mapping.columns)), None)
    if judging is None or row.get(judging) is not None or row.get("error") or row.get("unjudged"):
        return row
    return {**row, "unjudged": f"the mapping gives no value for {judging}"}


def on_top(mapping: RowMap, read_tool: Read) -> Read:
    """The importer of a tool with a mapping that adds columns to its rows; the paths of the mapping start at a row."""
    _refuse_evidence(mapping)

    def read_described(path: str, report: Report) -> Iterator[Row]:
        trials, watch, number = Trials(), PathWatch(mapping, strict=True), 0
        for row in read_tool(path, report):
            scope = Scope(row, f"row {number + 1}", number=number)
            watch.look(scope, _passes)
            yield _add_columns(mapping, row, scope, trials)
            number += 1
        if number:
            watch.report_unused(report)

    return read_described


def _refuse_evidence(mapping: RowMap) -> None:
    """Refuse a mapping on top of a tool's rows that sets what only the tool knows."""
    columns = [column for column, _ in mapping.columns]
    named = [column for column in columns if column in TOOL_COLUMNS]
    hint = "--input-format map reads the file by it"
    if named:
        message = f"a mapping on top of a tool's own rows cannot set {', '.join(named)}"
        refuse("map.beside-a-tool", message, hint=f"leave {'it' if len(named) == 1 else 'them'} out; {hint}")
    if mapping.rows or mapping.where is not None:
        what = "rows" if mapping.rows else "where"
        refuse("map.beside-a-tool", f"a mapping on top of a tool's own rows has no {what}", hint=hint)


def _add_columns(mapping: RowMap, row: Row, scope: Scope, trials: Trials) -> Row:
    given = {column: value for column, value in row.items() if value is not None}
    added = _row(mapping, scope, trials, id_=str(given["id"]))
    for column in added:
        if column in given and column not in _DESCRIPTIONS and added[column] is not None:
            hint = "a mapping adds only what the tool's reader leaves absent"
            refuse("map.beside-a-tool", f"{scope.place}: {column} is given by the tool itself", hint=hint)
    labels = {**_tags_of(given.get("tags")), **_tags_of(added.get("tags"))}
    return {**row, **{key: value for key, value in added.items() if value is not None}, "tags": labels or None}


def _tags_of(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, Mapping) else {}


def _row(mapping: RowMap, scope: Scope, trials: Trials, id_: str | None = None) -> Row:
    """The row of a record; `id_` is its id if the mapping does not set it."""
    row: Row = {} if id_ is None or "id" in dict(mapping.columns) else {"id": id_}
    labels: dict[str, object] = {}
    for column, feeds in mapping.columns:
        if any(feed.path and feed.path.base == "repeat" for feed in feeds):
            continue
        value = _first_value(column, feeds, scope)
        if value is None:
            continue
        if column.startswith("tags."):
            labels[column.removeprefix("tags.")] = value
        else:
            row[column] = _column_value(column, value, scope)
    if "id" not in row:
        hint = f"the mapping takes it from {_words(mapping, 'id')}"
        refuse("map.path-not-found", f"{scope.place}: found no id", hint=hint)
    # Last, because the number of a repetition depends on the id.
    for column, feeds in mapping.columns:
        if any(feed.path and feed.path.base == "repeat" for feed in feeds):
            row[column] = trials.number(str(row["id"]))
    found = flat_tags(labels)
    if len(found or {}) != len(labels):
        refuse("map.wrong-value", f"{scope.place}: a tag is text, a number, true or false, and no list or object")
    given = row.get("tags")
    return {**row, "tags": {**(given if isinstance(given, dict) else {}), **(found or {})} or None}


def _needed(mapping: RowMap) -> set[str]:
    """The members of the document that a path uses."""
    elements = [path for _, feeds in mapping.columns for feed in feeds if feed.where for path, _ in feed.where.checks]
    paths = (*_paths(mapping), *elements)
    return {str(path.steps[0]) for path in paths if path.base in ("document", "outer") and path.steps}


def _paths(mapping: RowMap) -> list[Path]:
    """Every path of the mapping that starts at a record or its surroundings, not at an element of a list in it."""
    feeds = [feed for _, listed in mapping.columns for feed in listed]
    conditions = [when for when in (mapping.where, *(feed.when for feed in feeds)) if when]
    return [feed.path for feed in feeds if feed.path] + [path for when in conditions for path, _ in when.checks]


def _words(mapping: RowMap, column: str) -> str:
    feeds = dict(mapping.columns)[column]
    return " or ".join(feed.path.text if feed.path else "a constant" for feed in feeds)


def _first_steps(paths: Collection[Path]) -> set[object]:
    """The fields of a record at which these paths start."""
    return {path.steps[0] for path in paths if path.base == "record" and path.steps}


def _unread(feed_fields: Collection[object], scope: Scope) -> set[str]:
    """The fields of a record that feed no column."""
    return {key for key in scope.record if key not in feed_fields} if isinstance(scope.record, Mapping) else set()


def _says_something(scope: Scope, name: str) -> bool:
    return isinstance(scope.record, Mapping) and scope.record[name] not in (None, "", [], {})


def _first_value(column: str, feeds: tuple[Feed, ...], scope: Scope) -> object:
    """The first value that a feed gives; for `error` the first nonempty one, so that an empty text hides no error."""
    judges = column in JUDGING
    values = (value for feed in feeds if (value := _value(feed, scope, judges=judges)) is not None)
    if column != "error":
        return next(values, None)
    errors = list(values)
    return next((error for error in errors if error != ""), errors[0] if errors else None)


def _value(feed: Feed, scope: Scope, *, judges: bool) -> object:
    """The value of one feed for a record; None if it gives no value."""
    if feed.when is not None and not _holds(feed.when, scope, judges=judges):
        return None
    if feed.path is None:
        return _plain(feed.value)
    value = value_at(feed.path, scope)
    if feed.each is not None:
        return _element_values(feed, value, scope, judges=judges)
    # Before the default: `exists` is the only check that says something about an absent value.
    if feed.check is not None and feed.check.operator == "exists":
        return _passes(feed.check, value, scope)
    if value is None:
        return _plain(feed.default)
    if feed.check is not None:
        return _checked(feed.check, feed.path, value, scope, judges=judges)
    if feed.values is not None:
        text = scalar_text(value)
        if text is None or text not in feed.values:
            _refuse(feed, scope, value, f"one of {', '.join(feed.values)}")
        return _plain(feed.values[text])
    if feed.as_type is not None:
        value = _as_type(feed, value, scope)
    return _times(feed, value, scope) if feed.times is not None else value


def _element_values(feed: Feed, value: object, scope: Scope, *, judges: bool) -> object:
    if value is None:
        return None
    if not isinstance(value, list):
        _refuse(feed, scope, value, "a list")
    found: list[object] = []
    for number, element in enumerate(value):
        inner = scope.inside(element, number)
        if feed.where is not None and not _holds(feed.where, inner, judges=judges):
            continue
        if isinstance(feed.each, Feed):
            found.append(_value(feed.each, inner, judges=judges))
        elif feed.each is not None:
            found.append({name: _value(part, inner, judges=judges) for name, part in feed.each})
    return found


def _holds(when: When, scope: Scope, *, judges: bool = False) -> bool:
    return all(_checked(check, path, value_at(path, scope), scope, judges=judges) for path, check in when.checks)


def _checked(check: Check, path: Path, value: object, scope: Scope, *, judges: bool) -> bool | None:
    """Whether a value passes; None for an empty list. Refuses a list that judges without saying how many must pass."""
    if judges and isinstance(value, list) and check.of is None and check.operator != "exists":
        hint = f"beside {check.operator}: all: true, if every element must meet it; any: true, if one is enough"
        refuse("map.wrong-value", f"{scope.place}: {path.text}: found {shown(value)}, wanted one value", hint=hint)
    return None if value == [] and check.of else _passes(check, value, scope)


def _passes(check: Check, value: object, scope: Scope) -> bool:
    if check.operator == "exists":
        return (value is not None) == check.values[0]
    if check.of is not None and isinstance(value, list):
        met = (item is not None and _passes(check, item, scope) for item in value)
        return bool(value) and (all if check.of == "all" else any)(met)
    if check.operator in ("is", "is_not"):
        given = value if isinstance(value, list) else [value]
        equal = any(_same(item, wanted, cells=scope.cells) for item in given for wanted in check.values)
        return equal == (check.operator == "is")
    bound = check.values[0]
    number = _number(value, cells=scope.cells)
    if number is None or not isinstance(bound, Fraction):
        return False
    return number >= bound if check.operator == "at_least" else number <= bound


def _same(value: object, wanted: Scalar, *, cells: bool) -> bool:
    """Whether a value is the wanted one: true is not 1, and 1 is not "1". CSV cells are all text."""
    if cells and isinstance(value, str) and isinstance(wanted, bool):
        return value.lower() == ("true" if wanted else "false")
    if isinstance(wanted, bool) or isinstance(value, bool):
        return value is wanted
    if isinstance(wanted, Fraction):
        return _number(value, cells=cells) == wanted
    return value == wanted


def _number(value: object, *, cells: bool) -> Fraction | None:
    """A finite number, exact; None for anything else. Text counts as a number only in a cell."""
    if is_number(value):
        return Fraction(str(value))
    sound = cells and isinstance(value, str) and len(value) <= LONGEST_NUMBER and _NUMBER.fullmatch(value)
    return Fraction(value) if sound and isinstance(value, str) else None


def _plain(value: Scalar | None) -> object:
    if not isinstance(value, Fraction):
        return value
    try:
        return int(value) if value.denominator == 1 else float(value)
    except OverflowError:  # no column takes a number of this size, so that its fraction does not matter
        return int(value)


def _as_type(feed: Feed, value: object, scope: Scope) -> object:
    if feed.as_type == "text":
        return scalar_text(value) or _refuse(feed, scope, value, "text, a number, true or false")
    if feed.as_type == "boolean":
        found = {"true": True, "false": False}.get((scalar_text(value) or "").lower())
        return _refuse(feed, scope, value, "true or false") if found is None else found
    number = _number(value, cells=True)
    return _refuse(feed, scope, value, "a number") if number is None else _plain(number)


def _times(feed: Feed, value: object, scope: Scope) -> object:
    number = _number(value, cells=scope.cells)
    if number is None or feed.times is None:
        _refuse(feed, scope, value, "a number")
    return _plain(number * feed.times)


def _refuse(feed: Feed, scope: Scope, value: object, wanted: str) -> NoReturn:
    what = feed.path.text if feed.path else "value"
    refuse("map.wrong-value", f"{scope.place}: {what}: found {shown(value)}, wanted {wanted}")


def _column_value(column: str, value: object, scope: Scope) -> object:
    """The value in the type of its column: cells are parsed, and numbers in text columns become text."""
    fitted = from_cell(column, value, f"{scope.place}: ") if scope.cells and isinstance(value, str) else value
    wanted = None
    if column in _TEXTS:
        fitted = scalar_text(fitted)
        wanted = None if fitted is not None else "text"
        if column == "id" and fitted is not None:
            return scenario_id(str(fitted)) or refuse("map.wrong-value", f"{scope.place}: id: found an empty text")
    elif column in _FLAGS:
        wanted = None if isinstance(fitted, bool) else "true or false"
    elif column in _NUMBERS:
        wanted = None if is_number(fitted) else "a number"
        if column in _WHOLE_NUMBERS and isinstance(fitted, float) and fitted.is_integer():
            fitted = int(fitted)
    elif column in _LABELS:
        fitted = fitted if isinstance(fitted, bool) else scalar_text(fitted)
        wanted = None if fitted is not None else "text, true or false"
    elif column == "tags":
        fitted = flat_tags(fitted) if isinstance(fitted, Mapping) and _is_json(fitted) else None
        wanted = None if fitted is not None else "an object of text, numbers, true or false"
    elif not _is_json(fitted):
        wanted = "text, finite numbers, true or false, in lists and objects"
    if wanted:
        found = f"{scope.place}: {column}: found {shown(value)}"
        refuse("map.wrong-value", f"{found}, wanted {wanted}", hint=_hint(column, value))
    return fitted


def _is_json(value: object) -> bool:
    """Whether a JSONL file can store it, which cannot have NaN and infinities."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _hint(column: str, value: object) -> str | None:
    if isinstance(value, float):  # NaN or an infinity, which no mapping can name
        return f"write null where there is no number; a mapping cannot turn {value} into a {column}"
    if column in _FLAGS:
        return f"say which values are true: {column}: {{ path: …, is: … }}"
    return "text that says a number is read with { path: …, as: number }" if column in _NUMBERS else None


def from_cell(column: str, cell: str, place: str = "") -> object:
    """A CSV cell, parsed if the column takes true and false, numbers, or lists separated by `;`."""
    if column in _FLAGS | _LABELS and cell.lower() in ("true", "false"):
        return cell.lower() == "true"
    if column in _NUMBERS:
        number = _number(cell, cells=True)
        return cell if number is None else _plain(number)
    if column in _LISTS or column == "tags":
        return _list_of(column, cell, place)
    return cell


def _list_of(column: str, cell: str, place: str) -> object:
    """A list or an object as JSON, a number of violations, or names separated by `;`."""
    if cell.lstrip()[:1] in ("[", "{"):
        try:
            return decode_value(cell.encode())
        except InputError as error:
            found = f"{shown(cell)} ({error.problems[0].message})"
            wanted = "a list or an object as JSON, or names separated by ;"
            refuse("map.wrong-value", f"{place}{column}: found {found}, wanted {wanted}")
    if column == "violations" and cell.isascii() and cell.isdigit():
        if len(cell) > LONGEST_NUMBER:
            refuse("map.wrong-value", f"{place}{column}: found {shown(cell)}, too long")
        return int(cell)
    # A cell that names nothing is absent: only `[]` and `0` say that it was checked and nothing happened.
    return cell if column == "tags" else [name for part in cell.split(";") if (name := part.strip())] or None
