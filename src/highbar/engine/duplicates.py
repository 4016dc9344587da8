"""Duplicates: a key twice inside a value, a column twice in a file, a tag beside a column of the same name.

They are refused, since which of the two counts would be left to chance. Case makes no difference: `ID` and `id` are the
same name to half of the tools that read these files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from highbar.engine.limits import MOST_JSON_WORK
from highbar.engine.sql import literal, pointer
from highbar.errors import InputError, Problem
from highbar.load.duplicate_names import first_duplicate, refuse_duplicate_fields

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from highbar.engine.column_readers import Raw

UNNAMED = r"'C\d+'"
"""The names that DuckDB gives to columns of Parquet files without a name."""
NUMBERED = r"_\d"
"""How DuckDB names the second of two columns or fields of one name: `passed_1`."""


def has_duplicate(names: str) -> str:
    """SQL: whether a list of names has one twice, ignoring case."""
    return f"list_unique(list_transform({names}, lambda n: lower(n))) < len({names})"


def has_duplicate_key(pairs: str) -> str:
    """SQL: whether two keys of a map's entries are the same, ignoring case; DuckDB itself refuses exact repetition."""
    return f"list_unique(list_transform({pairs}, lambda x: lower(x.key))) < len({pairs})"


def has_duplicate_inside(text: str) -> str:
    """SQL: whether some object inside a JSON text has a key twice; the caller tests the outermost object."""
    keys = f"list_transform(json_extract({text}, '$..*'), lambda x: json_keys(x))"
    return f"len(list_filter({keys}, lambda k: {has_duplicate('k')})) > 0"


def duplicate_in_row(text: str) -> str:
    """SQL: `duplicate` if a row has a key twice below its columns, `large` if Python must look, `flat` otherwise."""
    nested = f"contains(substring({text}, 2), '{{')"
    return (
        f"CASE WHEN NOT {nested} THEN 'flat' WHEN {_is_large(text)} THEN 'large'"
        f" WHEN {has_duplicate_inside(text)} THEN 'duplicate' ELSE 'flat' END"
    )


def _is_large(text: str) -> str:
    brackets = f"2 * strlen({text}) - strlen(replace({text}, '{{', '')) - strlen(replace({text}, '[', ''))"
    return f"strlen({text}) * ({brackets}) > {MOST_JSON_WORK}"


def has_duplicate_in_column(raw: Raw, *, assumed: bool) -> str:
    """SQL: whether a column of the user's own has a key twice at any depth.

    If a text is too large for DuckDB, the answer is true if rows are only `assumed` to be sound: they are read again.
    """
    text = raw.as_json()
    at_top = has_duplicate(f"json_keys({text})")
    large = str(assumed).lower() if raw.type == "JSON" else f"{at_top} OR {has_duplicate_inside(text)}"
    return (
        f"CASE WHEN left({text}, 1) NOT IN ('{{', '[') THEN false WHEN {_is_large(text)} THEN {large}"
        f" ELSE {at_top} OR {has_duplicate_inside(text)} END"
    )


def tags_beside_columns(columns: Mapping[str, Raw]) -> Iterator[str]:
    """SQL, for each flat column `tags.NAME`: whether the row has that tag in `tags` too."""
    if "tags" not in columns:
        return
    tags = f"lower({columns['tags'].as_json()})"
    for name, raw in columns.items():
        if name.startswith("tags."):
            there = f"json_extract({tags}, {pointer(name.removeprefix('tags.').lower())})"
            yield f"{raw.sql} IS NOT NULL AND coalesce({there} <> 'null', false)"


def tags_in_other_case(columns: Mapping[str, Raw], named: Sequence[str]) -> Iterator[str]:
    """SQL, for each tag that rows are sliced or chosen by: whether a row has it in another case, where nobody looks."""
    if "tags" not in columns:
        return
    for column in named:
        name = column.removeprefix("tags.")
        if column.startswith("tags."):
            same = f"lower(k) = {literal(name.lower())} AND k <> {literal(name)}"
            yield f"len(list_filter(json_keys({columns['tags'].as_json()}), lambda k: {same})) > 0"


def folder_problem(column: str, file: str) -> Problem:
    """The problem of a column that both a file and the name of one of its folders give."""
    hint = "rename the folder, or name the files themselves: then folders are not read"
    return Problem(
        "results.folder-column", f"a folder says what {column!r} is, and so does the file", file=file, hint=hint
    )


def refuse_large_rows(rows: Iterator[tuple[str]], file: str) -> None:
    """Refuse a key that occurs twice in rows that are too large for DuckDB."""
    import json  # rows are seldom that large

    def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        duplicate = first_duplicate([name for name, _ in pairs])
        if duplicate is not None:
            raise InputError(Problem("row.duplicate-key", f"duplicate key {duplicate[1]!r} in a result", file=file))
        return dict(pairs)

    for (text,) in rows:
        try:
            json.loads(text, object_pairs_hook=read_object)
        except (ValueError, RecursionError) as error:
            raise InputError(Problem("results.unreadable", "a result that cannot be read", file=file)) from error


def refuse_in_parquet(connection: DuckDBPyConnection, path: str, name: str, described: str) -> None:
    """Refuse a Parquet file in which a column, or a field inside one, occurs twice, or a column has no name.

    DuckDB renames those. So if a name in `described` looks like one that DuckDB made, the file's own schema is read.
    """
    if not re.search(NUMBERED, described) and not re.search(UNNAMED, described):
        return
    rows = connection.execute(f"SELECT name, num_children FROM parquet_schema({literal(path)})").fetchall()
    refuse_duplicate_fields(iter(rows), name)
    if any(not field for field, _ in rows[1:]):
        raise InputError(
            Problem("results.unnamed-column", "a column without a name", file=name, hint="name it, or leave it out")
        )
