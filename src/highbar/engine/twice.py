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
from highbar.load import hints

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from highbar.engine.typed import Raw

UNNAMED = r"'C\d+'"
"""The names that DuckDB gives to columns of Parquet files without a name."""
NUMBERED = r"_\d"
"""How DuckDB names the second of two columns or fields of one name: `passed_1`."""


def again(names: str) -> str:
    """SQL: whether a list of names has one twice, ignoring case."""
    return f"list_unique(list_transform({names}, lambda n: lower(n))) < len({names})"


def key_again(pairs: str) -> str:
    """SQL: whether two keys of a map's entries are the same, ignoring case; DuckDB itself refuses exact repetition."""
    return f"list_unique(list_transform({pairs}, lambda x: lower(x.key))) < len({pairs})"


def inside(text: str) -> str:
    """SQL: whether some object inside a JSON text has a key twice; the caller tests the outermost object."""
    keys = f"list_transform(json_extract({text}, '$..*'), lambda x: json_keys(x))"
    return f"len(list_filter({keys}, lambda k: {again('k')})) > 0"


def in_row(text: str) -> str:
    """SQL: `twice` if a row has a key twice below its columns, `large` if Python must look, `flat` otherwise."""
    nested = f"contains(substring({text}, 2), '{{')"
    return (
        f"CASE WHEN NOT {nested} THEN 'flat' WHEN {_is_large(text)} THEN 'large'"
        f" WHEN {inside(text)} THEN 'twice' ELSE 'flat' END"
    )


def _is_large(text: str) -> str:
    brackets = f"2 * strlen({text}) - strlen(replace({text}, '{{', '')) - strlen(replace({text}, '[', ''))"
    return f"strlen({text}) * ({brackets}) > {MOST_JSON_WORK}"


def in_column(raw: Raw, *, supposed: bool) -> str:
    """SQL: whether a column of the user's own has a key twice at any depth.

    If a text is too large for DuckDB, the answer is true if rows are only `supposed` to be sound: they are read again.
    """
    text = raw.as_json()
    at_top = again(f"json_keys({text})")
    large = str(supposed).lower() if raw.type == "JSON" else f"{at_top} OR {inside(text)}"
    return (
        f"CASE WHEN left({text}, 1) NOT IN ('{{', '[') THEN false WHEN {_is_large(text)} THEN {large}"
        f" ELSE {at_top} OR {inside(text)} END"
    )


def beside_tags(columns: Mapping[str, Raw]) -> Iterator[str]:
    """SQL, for each flat column `tags.NAME`: whether the row has that tag in `tags` too."""
    if "tags" not in columns:
        return
    tags = f"lower({columns['tags'].as_json()})"
    for name, raw in columns.items():
        if name.startswith("tags."):
            there = f"json_extract({tags}, {pointer(name.removeprefix('tags.').lower())})"
            yield f"{raw.sql} IS NOT NULL AND coalesce({there} <> 'null', false)"


def in_other_case(columns: Mapping[str, Raw], named: Sequence[str]) -> Iterator[str]:
    """SQL, for each tag that rows are sliced or chosen by: whether a row has it in another case, where nobody looks."""
    if "tags" not in columns:
        return
    for column in named:
        name = column.removeprefix("tags.")
        if column.startswith("tags."):
            same = f"lower(k) = {literal(name.lower())} AND k <> {literal(name)}"
            yield f"len(list_filter(json_keys({columns['tags'].as_json()}), lambda k: {same})) > 0"


def refuse_large_rows(rows: Iterator[tuple[str]], file: str) -> None:
    """Refuse a key that occurs twice in rows that are too large for DuckDB."""
    import json  # rows are seldom that large

    for (text,) in rows:
        try:
            json.loads(text, object_pairs_hook=_unique)
        except _KeyTwice as error:
            raise InputError(Problem(f"duplicate key {error.name!r} in a result", file=file)) from error
        except (ValueError, RecursionError) as error:
            raise InputError(Problem("a result that cannot be read", file=file)) from error


class _KeyTwice(ValueError):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    again = first_again([name for name, _ in pairs])
    if again is not None:
        raise _KeyTwice(again)
    return dict(pairs)


def first_again(names: Sequence[str]) -> str | None:
    """The first name that repeats an earlier one, ignoring case; None if all differ."""
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            return name
        seen.add(name.casefold())
    return None


def refuse_duplicate_columns(names: Sequence[str], file: str | None = None, line: int | None = None) -> None:
    """Refuse columns, or fields of one column, that have the same name."""
    again = first_again(names)
    if again is None:
        return
    other = next(name for name in names if name.casefold() == again.casefold())
    what = f"duplicate column {again!r}"
    if other != again:
        what = f"the columns {other!r} and {again!r} differ only in case"
    raise InputError(Problem(what, file=file, line=line, hint=hints.DUPLICATE))


def refuse_in_parquet(connection: DuckDBPyConnection, path: str, name: str, described: str) -> None:
    """Refuse a Parquet file in which a column, or a field inside one, occurs twice, or a column has no name.

    DuckDB renames those. So if a name in `described` looks like one that DuckDB made, the file's own schema is read.
    """
    if not re.search(NUMBERED, described) and not re.search(UNNAMED, described):
        return
    rows = connection.execute(f"SELECT name, num_children FROM parquet_schema({literal(path)})").fetchall()
    _refuse_fields(iter(rows), name)
    if any(not field for field, _ in rows[1:]):
        raise InputError(Problem("a column without a name", file=name, hint="name it, or leave it out"))


def _refuse_fields(rows: Iterator[tuple[str, int | None]], file: str) -> str:
    """Consume one field and everything below it from `rows`, which are in depth-first order; return its name."""
    name, children = next(rows)
    refuse_duplicate_columns([_refuse_fields(rows, file) for _ in range(children or 0)], file)
    return name
