"""One column of the results, in any form that a file may have → its typed value, and whether the row is bad.

A column comes as JSON text (`"12"` keeps its quotes, so it differs from a number), with the type that a Parquet file or
a frame declares, or as text that is only assumed to be text (ASSUMED): then a row that may have been anything else is
bad, and the file is read again the slower way. Nothing is coerced: a value of any other form makes the row bad.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from highbar.columns import COLUMNS, Column, Form
from highbar.engine import duplicates
from highbar.engine.marks import read_marks
from highbar.engine.sql import CLEAN_TEXT, CONTROL, NOT_TEXT, SEEN, TEXT_LIST

TEXT_LISTS = ("VARCHAR[]", "ASSUMED[]")
LARGEST = 1e300
"""Larger than any number that makes sense; infinities and NaN are above it too."""
_ODD = r"'(^|[:,\[])\s*-?(N|n[aA]|[Ii])|,\s*[}}\]]'"
NOT_JSON = (
    f"(CASE WHEN regexp_matches({{0}}, {_ODD}) THEN regexp_matches("
    rf"""regexp_replace({{0}}, '"([^"\\]|\\.)*"', '""', 'g'), {_ODD}) ELSE false END)"""
)
"""SQL: whether text has NaN, an infinity or a trailing comma outside of strings; DuckDB's parser accepts these."""
INTEGERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
    "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
}  # fmt: skip


class Raw(Struct, frozen=True):
    """A column of a file: an SQL expression and its type (`JSON`: the text of a JSON value)."""

    sql: str
    type: str
    may_mark: bool = True  # whether JSON may have names with marks, such as {name: bool}
    may_be_blank: bool = True  # whether JSON may have text that is not empty but invisible

    @property
    def is_number(self) -> bool:
        """Whether the declared type is a number."""
        return self.type in INTEGERS or self.type in ("FLOAT", "DOUBLE") or self.type.startswith("DECIMAL")

    def as_json(self) -> str:
        """SQL for the value as JSON text."""
        return self.sql if self.type == "JSON" else f"CAST(to_json({self.sql}) AS VARCHAR)"


class Typed(Struct, frozen=True):
    """The typed columns that one column of the results becomes, and SQL for whether a row is bad."""

    columns: tuple[tuple[str, str], ...]
    bad: str = "false"

    @property
    def sql(self) -> str:
        """SQL for the first of them, which most columns have alone."""
        return self.columns[0][1]


Reader = Callable[[str, Raw], Typed]


def _without_quotes(json: str) -> str:
    bare = f"substring({json}, 2, length({json}) - 2)"
    return f"CASE WHEN contains({json}, '\\') THEN json_extract_string({json}, '$') ELSE {bare} END"


_MAY_BE_WORD = "strlen({0}) < 6 OR strlen({0}) = 8"
"""SQL: whether text is as long as one of the words in `_is_word`."""


def _is_word(text: str) -> str:
    """SQL: whether text is a truth value, NaN or an infinity, in any case; DuckDB's parser reads the latter as numbers.

    CASE instead of AND: otherwise every text would be converted to lower case, whatever its length.
    """
    words = "'true', 'false', 'nan', 'inf', 'infinity'"
    return f"(CASE WHEN {_MAY_BE_WORD.format(text)} THEN lower({text}) IN ({words}) ELSE false END)"


def _is_other_type(text: str) -> str:
    """SQL: whether text that was read without its quotes may have been a number, a truth value, a list or an object.

    All of those except a few words begin with no letter; testing that costs a tenth of the pattern.
    """
    seldom = f"{text} < 'A' OR ({text} >= '[' AND {text} < 'a') OR {text} >= '{{' OR {_is_word(text)}"
    return f"(CASE WHEN {seldom} THEN regexp_matches({text}, {NOT_TEXT}) ELSE false END)"


def typed_text(name: str, raw: Raw) -> Typed:
    """Text, unchanged."""
    if raw.type == "ASSUMED":
        return Typed(((name, raw.sql),), _is_other_type(raw.sql))
    if raw.type == "VARCHAR" or raw.type.startswith("ENUM"):
        return Typed(((name, f"CAST({raw.sql} AS VARCHAR)"),))
    json = raw.as_json()
    return Typed(((name, _without_quotes(json)),), f"NOT starts_with({json}, '\"')")


def or_absent(text: str, *, may_be_blank: bool = True) -> str:
    """SQL for text with a visible character; NULL for any other text, which describes nothing.

    Nearly all text begins with a printable ASCII character, which costs nothing to test.
    """
    if not may_be_blank:
        return f"nullif({text}, '')"
    seldom = f"{text} < '!' OR {text} >= '\x7f'"
    return f"(CASE WHEN {seldom} THEN CASE WHEN regexp_matches({text}, {SEEN}) THEN {text} END ELSE {text} END)"


def typed_description(name: str, raw: Raw) -> Typed:
    """Text that describes a scenario; blank text is absent."""
    read = typed_text(name, raw)
    if raw.type == "JSON" and raw.may_be_blank:
        return Typed(((name, _json_or_absent(raw.as_json())),), read.bad)
    return Typed(((name, or_absent(f"({read.sql})", may_be_blank=raw.may_be_blank)),), read.bad)


def _json_or_absent(json: str) -> str:
    """The same as `or_absent` for text in quotes: empty text has a second quote right after the first."""
    text = f"json_extract_string({json}, '$')"
    seldom = f"contains({json}, '\\') OR {json} < '\"#' OR {json} >= '\"\x7f'"
    bare = f"substring({json}, 2, length({json}) - 2)"
    return f"(CASE WHEN {seldom} THEN CASE WHEN regexp_matches({text}, {SEEN}) THEN {text} END ELSE {bare} END)"


def _has_control(text: str) -> str:
    """SQL: whether text has a control character.

    DuckDB displays printable ASCII bytes as they are and all others longer, so equal lengths mean that all are
    printable. That costs a third of the pattern.
    """
    plain = f"strlen(CAST(encode({text}) AS VARCHAR)) = strlen({text})"
    return f"(CASE WHEN {plain} THEN false ELSE regexp_matches({text}, {CONTROL}) END)"


def typed_id(name: str, raw: Raw) -> Typed:
    """The scenario's id: text, not empty, without control characters; or a whole number, which becomes its digits."""
    if raw.type in INTEGERS:
        return Typed(((name, f"CAST({raw.sql} AS VARCHAR)"),), f"{raw.sql} IS NULL")
    if raw.type in ("VARCHAR", "ASSUMED") or raw.type.startswith("ENUM"):
        value = f"CAST({raw.sql} AS VARCHAR)"
        bad = f"{raw.sql} IS NULL OR {value} = '' OR {_has_control(value)} OR {_has_mark(value)}"
        return Typed(((name, value),), f"{bad} OR {typed_text(name, raw).bad}")
    json = raw.as_json()
    quoted, value = f"starts_with({json}, '\"')", f"json_extract_string({json}, '$')"
    marked = _has_mark(json, quote='"')
    clean = f"regexp_full_match({json}, {CLEAN_TEXT}) AND {json} <> '\"\"' AND NOT {marked}"
    odd = f"{value} <> '' AND NOT regexp_matches({value}, {CONTROL}) AND NOT {_has_mark(value)}"
    sound = f"CASE WHEN {clean} THEN true WHEN {quoted} THEN {odd} ELSE {_is_whole(json)} END"
    unquoted = f"CASE WHEN {quoted} THEN {_without_quotes(json)} ELSE {json} END"
    return Typed(((name, unquoted),), f"{json} IS NULL OR NOT ({sound})")


def _has_mark(text: str, quote: str = "") -> str:
    """SQL: whether text begins with a byte order mark, as after a second file was appended to the first."""
    return f"starts_with({text}, '{quote}\ufeff')"


def _is_whole(json: str) -> str:
    return f"regexp_full_match({json}, '0|-?[1-9][0-9]*')"


def typed_boolean(name: str, raw: Raw) -> Typed:
    """True or false, never a number or a word."""
    if raw.type == "BOOLEAN":
        return Typed(((name, raw.sql),))
    json = raw.as_json()
    return Typed(((name, f"{json} = 'true'"),), f"{json} NOT IN ('true', 'false')")


def typed_number(least: float, most: float = LARGEST) -> Reader:
    """A finite number from `least` to `most`."""

    def read(name: str, raw: Raw) -> Typed:
        value = f"CAST({raw.sql} AS DOUBLE)" if raw.is_number else f"TRY_CAST({raw.as_json()} AS DOUBLE)"
        # NaN is above every number in SQL, so it is above `most`. With an exponent a literal is a double.
        sound = f"{value} BETWEEN {least:e} AND {most:e}"
        if raw.is_number:
            return Typed(((name, value),), f"NOT ({sound})")
        return Typed(((name, value),), f"{raw.sql} IS NOT NULL AND NOT coalesce({sound}, false)")

    return read


def typed_whole(least: int | None) -> Reader:
    """A whole number that fits 64 bits."""
    lower = "true" if least is None else f"{{value}} >= {least}"

    def read(name: str, raw: Raw) -> Typed:
        value = f"TRY_CAST({raw.sql if raw.is_number else raw.as_json()} AS BIGINT)"
        json = raw.as_json()
        # A cast would round 2.5 to 3 and accept 3.0, which is no whole number in a file.
        fraction = f"contains({json}, '.') OR contains({json}, 'e') OR contains({json}, 'E')"
        same = f"{value} = {raw.sql}" if raw.is_number else f"{value} IS NOT NULL AND NOT ({fraction})"
        sound = f"{same} AND {lower.format(value=value)}"
        return Typed(((name, value),), f"{raw.sql} IS NOT NULL AND NOT coalesce({sound}, false)")

    return read


def typed_label(name: str, raw: Raw) -> Typed:
    """Text or true/false. Text gets a quote in front, so that the word `true` differs from the truth value.

    A second column, whose name ends in `_true`, has the truth value itself, and NULL for text.
    """
    if raw.type == "BOOLEAN":
        word = f"CASE WHEN {raw.sql} THEN 'true' WHEN NOT {raw.sql} THEN 'false' END"
        return Typed(((name, word), (f"{name}_true", raw.sql)))
    if raw.type == "VARCHAR" or raw.type.startswith("ENUM"):
        return Typed(((name, f"'\"' || {raw.sql}"),))
    json = raw.as_json()
    quoted, truth = f"starts_with({json}, '\"')", f"{json} IN ('true', 'false')"
    return Typed(
        (
            (name, f"CASE WHEN {quoted} THEN '\"' || {_without_quotes(json)} ELSE {json} END"),
            (f"{name}_true", f"CASE WHEN {truth} THEN {json} = 'true' END"),
        ),
        f"NOT ({quoted} OR {truth})",
    )


def typed_outcome(name: str, raw: Raw) -> Typed:
    """tp, fp, fn or tn."""
    read = typed_text(name, raw)
    value = read.sql
    return Typed(read.columns, f"{read.bad} OR {value} NOT IN ('tp', 'fp', 'fn', 'tn')")


def _text_list(raw: Raw) -> tuple[str, str]:
    """A list of text: SQL for its value, and for whether it is bad."""
    if raw.type == "ASSUMED[]":
        null = f"list_position({raw.sql}, NULL) IS NOT NULL"
        seldom = f"len(list_filter({raw.sql}, lambda x: x < 'a' OR x >= '{{' OR {_MAY_BE_WORD.format('x')})) > 0"
        is_other = f"len(list_filter({raw.sql}, lambda x: {_is_other_type('x')})) > 0"
        return raw.sql, f"{null} OR (CASE WHEN {seldom} THEN {is_other} ELSE false END)"
    if raw.type == "VARCHAR[]":
        return raw.sql, f"list_position({raw.sql}, NULL) IS NOT NULL"
    json = raw.as_json()
    return f"CAST(CAST({json} AS JSON) AS VARCHAR[])", f"NOT regexp_full_match({json}, {TEXT_LIST})"


def typed_names(name: str, raw: Raw) -> Typed:
    """A list of text."""
    value, bad = _text_list(raw)
    return Typed(((name, value),), bad)


def _is_text_list(json: str) -> str:
    return f"(starts_with({json}, '[\"') OR {json} = '[]')"


def typed_behaviors(name: str, raw: Raw) -> Typed:
    """What was observed: a list of text, {name: bool} or [{name, observed}]."""
    value, bad = _text_list(raw)
    given = ("has_behaviors", f"{raw.sql} IS NOT NULL")
    if raw.type in TEXT_LISTS or not raw.may_mark:
        return Typed(((name, value), given), bad)
    json, listed = raw.as_json(), _is_text_list(raw.as_json())
    marks = read_marks(json, "observed")
    return Typed(
        (
            (name, f"CASE WHEN {listed} THEN {value} ELSE {marks.true} END"),
            given,
            ("not_observed", f"CASE WHEN NOT {listed} THEN {marks.false} END"),
            ("unmarked", f"CASE WHEN NOT {listed} THEN {marks.unmarked} END"),
        ),
        f"{json} IS NOT NULL AND CASE WHEN {listed} THEN {bad} ELSE {marks.bad} END",
    )


def typed_must_not(name: str, raw: Raw) -> Typed:
    """What must not happen: a list of text; or {name: bool} or [{name, violated}], which also say what did happen.

    `all_must_nots_marked` is true only if every name has its mark.
    """
    value, bad = _text_list(raw)
    if raw.type in TEXT_LISTS or not raw.may_mark:
        return Typed(((name, value), ("marked_violations", "NULL"), ("all_must_nots_marked", "false")), bad)
    json, listed = raw.as_json(), _is_text_list(raw.as_json())
    marks = read_marks(json, "violated")
    return Typed(
        (
            (name, f"CASE WHEN {listed} THEN {value} ELSE {marks.every} END"),
            ("marked_violations", f"CASE WHEN NOT {listed} THEN {marks.true} END"),
            ("all_must_nots_marked", f"coalesce(NOT {listed} AND len({marks.unmarked}) = 0, false)"),
        ),
        f"{json} IS NOT NULL AND CASE WHEN {listed} THEN {bad} ELSE {marks.bad} END",
    )


def typed_violations(name: str, raw: Raw) -> Typed:
    """What happened that must not: a list of text, or a count."""
    if raw.is_number:
        read = typed_whole(0)(name, raw)
        return Typed((("violation_names", "NULL"), ("violation_count", read.sql)), read.bad)
    value, bad = _text_list(raw)
    if raw.type in TEXT_LISTS:
        return Typed((("violation_names", value), ("violation_count", f"len({value})")), bad)
    json = raw.as_json()
    listed = f"starts_with({json}, '[')"
    # Compared as text again, since a cast also reads 3.0 and 3e0.
    count = f"TRY_CAST({json} AS BIGINT)"
    sound = f"{count} >= 0 AND CAST({count} AS VARCHAR) = {json}"
    return Typed(
        (
            ("violation_names", f"CASE WHEN {listed} THEN {value} END"),
            ("violation_count", f"CASE WHEN {listed} THEN len({value}) ELSE {count} END"),
        ),
        f"{json} IS NOT NULL AND CASE WHEN {listed} THEN {bad} ELSE NOT coalesce({sound}, false) END",
    )


def typed_tags(name: str, raw: Raw) -> Typed:
    """{name: text} as JSON text, from which slices extract single tags. A tag without a name could not be sliced by."""
    json = raw.as_json()
    pairs = f"map_entries(CAST(CAST({json} AS JSON) AS MAP(VARCHAR, JSON)))"
    # A tag without a value is absent, as a column without one is.
    odd = "trim(x.key) = '' OR (x.value IS NOT NULL AND x.value <> 'null' AND NOT starts_with(x.value, '\"'))"
    sound = f"len(list_filter({pairs}, lambda x: {odd})) = 0 AND NOT {duplicates.has_duplicate_key(pairs)}"
    return Typed(
        ((name, json),), f"{json} IS NOT NULL AND NOT (CASE WHEN starts_with({json}, '{{') THEN {sound} ELSE false END)"
    )


def blank_output(name: str, raw: Raw) -> Typed:
    """Only whether the output is blank: the text itself is shown in reports, never judged."""
    read = typed_text(name, raw)
    if not raw.may_be_blank:
        return Typed((("output_blank", f"coalesce({read.sql} = '', true)"),), read.bad)
    return Typed((("output_blank", f"coalesce(NOT regexp_matches({read.sql}, {SEEN}), true)"),), read.bad)


def checked_text(name: str, raw: Raw) -> Typed:
    """Text that is checked, but that no sum needs."""
    return Typed((), typed_text(name, raw).bad)


_OF_FORM: Mapping[Form, Reader] = {
    "id": typed_id,
    "text": typed_text,
    "shown": checked_text,
    "truth": typed_boolean,
    "label": typed_label,
    "outcome": typed_outcome,
    "names": typed_names,
    "observed": typed_behaviors,
    "violated": typed_must_not,
    "count": typed_violations,
    "tags": typed_tags,
    "origin": lambda _name, _raw: Typed(()),  # `row_checks.origins` reads it
}


def _reader(column: Column) -> Reader:
    if column.form == "whole":
        return typed_whole(None if column.least is None else int(column.least))
    if column.form == "number":
        return typed_number(column.least or 0, LARGEST if column.most is None else column.most)
    if column.form == "text" and column.kind in ("describes", "run"):
        return typed_description
    return _OF_FORM[column.form]


# The text of an output is never needed here, only whether there is any.
READERS: Mapping[str, Reader] = {column.name: _reader(column) for column in COLUMNS} | {"output": blank_output}


def _typed_columns(column: Column) -> dict[str, str]:
    """The typed columns that a column becomes, with their types: every column that its reader may give."""
    match column.form:
        case "whole":
            return {column.name: "BIGINT"}
        case "number":
            return {column.name: "DOUBLE"}
        case "truth":
            return {column.name: "BOOLEAN"}
        case "names":
            return {column.name: "VARCHAR[]"}
        case "label":
            return {column.name: "VARCHAR", f"{column.name}_true": "BOOLEAN"}
        case "observed":
            seen = {column.name: "VARCHAR[]", "has_behaviors": "BOOLEAN"}
            return {**seen, "not_observed": "VARCHAR[]", "unmarked": "VARCHAR[]"}
        case "violated":
            return {column.name: "VARCHAR[]", "marked_violations": "VARCHAR[]", "all_must_nots_marked": "BOOLEAN"}
        case "count":
            return {"violation_names": "VARCHAR[]", "violation_count": "BIGINT"}
        case "shown" | "origin":
            return {"output_blank": "BOOLEAN"} if column.name == "output" else {}
        case _:
            return {column.name: "VARCHAR"}


EMPTY: Mapping[str, str] = {name: type_ for column in COLUMNS for name, type_ in _typed_columns(column).items()}
"""The typed columns, in order, with the type of a NULL in each."""
