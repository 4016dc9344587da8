"""Results files → relations of raw columns that DuckDB can read, with declared types: nothing is guessed."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from highbar.columns import column_names, of_form
from highbar.engine import duplicates
from highbar.engine.column_readers import INTEGERS, NOT_JSON, READERS, Raw
from highbar.engine.limits import FEW_FILES
from highbar.engine.sql import identifier, literal, literals
from highbar.errors import InputError, Problem
from highbar.load.counting import LONGEST_RESULT
from highbar.load.duplicate_names import refuse_duplicate_columns
from highbar.model import ResultsFile

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FILE = "highbar_file"
OF_RUN = "highbar_run"
"""The column that only rows of `highbar run` have; in CSV it may be spread over `highbar_run.id` and so on."""
NUMBER = literal(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
PERHAPS_BLANK = literal(r':\s*"[^!-\[\]-~\x{a1}-\x{ac}\x{ae}-\x{2ff}\x{4e00}-\x{9fff}\x{1f300}-\x{1f64f}]')
"""Text after a key that begins with anything but a character that is certainly visible, for example with an escape.

Few files have any, and each pattern that looks for a visible character of any kind takes a millisecond to compile.
"""


TEXT_IDS, NUMBER_IDS = frozenset({"text"}), frozenset({"number"})


class SourcePart(Struct, frozen=True):
    """Files, or a table, with one format and one set of columns, which one query reads."""

    columns: Mapping[str, Raw]
    files: tuple[ResultsFile, ...]
    table: str | None = None  # SQL for a relation to read as it is; without one the files are read
    alike: bool = False  # whether rows are only assumed to be alike; their text is in `json`
    costly: bool = False  # whether the rows are cheaper to store than to read again
    id_kinds: frozenset[str] = TEXT_IDS  # whether the ids are text, numbers, or may be both
    nested: tuple[str, ...] = ()  # columns of the user's own in which a key may occur twice
    chosen: str = ""  # an SQL condition on a row; without one every row takes part
    chosen_by: tuple[str, ...] = ()  # the columns that the condition needs
    is_missing: bool = False  # whether these are planned trials that no row has

    @property
    def id_sql(self) -> str:
        """SQL for the id of a row, as text."""
        return self.typed_sql("id")

    @property
    def of_run(self) -> list[Raw]:
        """The columns that only rows of `highbar run` have."""
        return [raw for name, raw in self.columns.items() if name.startswith(OF_RUN)]

    def typed_sql(self, column: str) -> str:
        """SQL for the typed value of one of our columns."""
        return READERS[column](column, self.columns[column]).sql

    def duplicate_conditions(self) -> list[str]:
        """SQL conditions, each of which is true for a row with a duplicate."""
        inside = [duplicates.has_duplicate_in_column(self.columns[name], assumed=self.alike) for name in self.nested]
        return [*inside, *duplicates.tags_beside_columns(self.columns)]

    def relation(self, wanted: Iterable[str]) -> str:
        """SQL for a relation with at least the `wanted` columns."""
        # The condition may need more columns than the caller wants: the inner relation reads both.
        if self.chosen:
            rows = replace(self, chosen="").relation(dict.fromkeys((*wanted, *self.chosen_by)))
            return f"(SELECT * FROM {rows} WHERE {self.chosen})"
        if self.table is not None:
            return self.table
        return _RELATIONS[self.files[0].format](self, [name for name in wanted if name in self.columns])


def source_parts(
    connection: DuckDBPyConnection, files: Sequence[ResultsFile], *, alike: bool = False
) -> tuple[SourcePart, ...]:
    """The files, grouped so that each group has one format and one set of columns.

    `alike` assumes that every JSON row has the keys of the first one, and that its lists are plain lists of text. Then
    one pass reads them. If a row differs, reading fails, and the caller tries again without the assumption.
    """
    found: list[SourcePart] = []
    for format_, compression in dict.fromkeys((file.format, file.compression) for file in files):
        same = tuple(file for file in files if (file.format, file.compression) == (format_, compression))
        # Our own writer made these rows from an import: looking for faults in them would cost a pass and find none.
        known = _written_part(same) if all(file.columns for file in same) else None
        if known is None and alike and format_ in ("jsonl", "json"):
            known = _alike_part(connection, same)
        found.extend([known] if known else _PARTS_OF_FORMAT[format_](connection, same))
    return tuple(found)


def file_relation(part: SourcePart, file: ResultsFile) -> str:
    """SQL for the relation of one file of a part."""
    alone = replace(part, files=(file,), table=None)
    return _json_source("read_json_objects", [file]) if part.alike else alone.relation(part.columns)


def table_part(connection: DuckDBPyConnection, name: str, as_json: Collection[str] = ()) -> SourcePart:
    """A table or frame that is registered with the connection; columns in `as_json` hold the text of JSON values."""
    described = connection.execute(f"DESCRIBE SELECT * FROM {identifier(name)}").fetchall()
    columns = {
        row[0]: Raw(identifier(row[0]), "JSON") if row[0] in as_json else _declared_column(row[0], str(row[1]))
        for row in described
    }
    return SourcePart(
        columns, (), table=identifier(name), id_kinds=kinds_of_ids(columns), nested=_nested_columns(columns)
    )


def kinds_of_ids(columns: Mapping[str, Raw]) -> frozenset[str]:
    """Whether ids are text, numbers or either, by their declared type."""
    type_ = columns["id"].type if "id" in columns else "VARCHAR"
    return NUMBER_IDS if type_ in INTEGERS else TEXT_IDS | NUMBER_IDS if type_ == "JSON" else TEXT_IDS


def _nested_columns(columns: Mapping[str, Raw]) -> tuple[str, ...]:
    """The columns of the user's own whose type allows a key twice; the keys of a struct are in the schema."""
    return tuple(name for name, raw in columns.items() if name not in READERS and re.search(r"MAP\(|JSON", raw.type))


def _declared_column(name: str, type_: str) -> Raw:
    """A column of a declared type; JSON stays text, which DuckDB would otherwise parse for every comparison."""
    return Raw(f"CAST({identifier(name)} AS VARCHAR)" if type_ == "JSON" else identifier(name), type_)


def _json_source(function: str, files: Sequence[ResultsFile], more: str = "") -> str:
    # Declared, never detected: detection looks at the first rows, and a later row may differ.
    layout = "array" if files[0].format == "json" else "newline_delimited"
    compression = files[0].compression or "none"
    return (
        f"{function}({literals([file.path for file in files])}, format={literal(layout)},"
        f" compression={literal(compression)}, maximum_object_size={LONGEST_RESULT}, hive_partitioning=false{more})"
    )


def _written_part(files: tuple[ResultsFile, ...]) -> SourcePart:
    """Rows that an importer wrote: their columns are known, and they are not searched for faults."""
    return SourcePart(_as_json({name for file in files for name in file.columns}), files)


def _as_json(names: Collection[str], *, may_mark: bool = True, may_be_blank: bool = True) -> dict[str, Raw]:
    return {name: Raw(identifier(name), "JSON", may_mark, may_be_blank) for name in sorted(names)}


def _json_parts(connection: DuckDBPyConnection, files: tuple[ResultsFile, ...]) -> list[SourcePart]:
    source = _json_source("read_json_objects", files)
    text = "CAST(json AS VARCHAR)"
    # Marks are an object, or objects in a list. Few files have any, and the SQL that reads them takes long to plan.
    marked = [f"/{name}{item}" for name in of_form("observed", "violated") for item in ("", "/0")]
    keys = (
        f"SELECT DISTINCT json_keys(json) AS keys, {NOT_JSON.format('json')} AS odd,"
        f" {duplicates.duplicate_in_row(text)} AS inside,"
        f" json_type(json, {literals(['/id', *marked])}) AS types, regexp_matches(json, {PERHAPS_BLANK}) AS blank"
        f" FROM {source}"
    )
    rows = connection.execute(
        f"SELECT DISTINCT unnest(keys), len(list_distinct(keys)) <> len(keys) OR inside = 'duplicate', odd,"
        f" inside = 'large', coalesce(types[1] <> 'VARCHAR', false), list_contains(types[2:], 'OBJECT'), blank"
        f" FROM ({keys})"
    ).fetchall()
    if any(duplicate for _, duplicate, *_ in rows):
        raise InputError(Problem("row.duplicate-key", "duplicate key in a result", file=files[0].name))
    if any(odd for _, _, odd, *_ in rows):
        raise InputError(
            Problem("file.not-json", "NaN, an infinity or a trailing comma: this is not JSON", file=files[0].name)
        )
    if any(large for _, _, _, large, *_ in rows):
        cursor = connection.execute(f"SELECT {text} FROM {source} WHERE {duplicates.duplicate_in_row(text)} = 'large'")
        duplicates.refuse_large_rows(_one_by_one(cursor), files[0].name)
    # `1` and `"1"` become the same text, so it must be known whether both kinds of ids occur.
    kinds = frozenset("number" if number else "text" for *_, number, _, _ in rows)
    columns = _as_json(
        {str(name) for name, *_ in rows},
        may_mark=any(marks for *_, marks, _ in rows),
        may_be_blank=any(blank for *_, blank in rows),
    )
    return [SourcePart(columns, files, id_kinds=kinds)]


def _one_by_one(cursor: DuckDBPyConnection) -> Iterator[tuple[str]]:
    while row := cursor.fetchone():
        yield row


def _keys_of_first(connection: DuckDBPyConnection, file: ResultsFile) -> list[str]:
    """The keys of the first row. A plain line is read by Python: DuckDB would fill its buffers first."""
    if file.format == "jsonl" and not file.compression:
        import json  # only for large files

        with Path(file.path).open("rb") as stream:
            line = stream.readline(LONGEST_RESULT)
        try:
            return [str(name) for name, _ in json.loads(line, object_pairs_hook=list)]
        except (ValueError, TypeError, RecursionError):
            return []  # a fault, or not an object: the slower reading tells which
    row = connection.execute(
        f"SELECT json_keys(json) FROM {_json_source('read_json_objects', [file])} LIMIT 1"
    ).fetchone()
    return [str(name) for name in row[0]] if row and row[0] else []


def _alike_part(connection: DuckDBPyConnection, files: tuple[ResultsFile, ...]) -> SourcePart | None:
    names = _keys_of_first(connection, files[0])
    if not names or len(set(names)) < len(names):
        return None
    columns: dict[str, Raw] = {}
    types: dict[str, str] = {}
    for name in names:
        field = f"row.{identifier(name)}"
        if name in _TEXT_LISTS:
            columns[name], types[name] = Raw(field, "ASSUMED[]"), "VARCHAR[]"
        elif name in _SHORT_TEXTS:
            columns[name], types[name] = Raw(field, "ASSUMED"), "VARCHAR"
        else:
            columns[name], types[name] = Raw(f"CAST({field} AS VARCHAR)", "JSON"), "JSON"
    # The cast to a struct refuses a key that is missing, new or there twice; TRY_CAST and json_transform do not.
    struct = ", ".join(f"{identifier(name)} {type_}" for name, type_ in types.items())
    table = f"(SELECT CAST(json AS STRUCT({struct})) AS row, json FROM {_json_source('read_json_objects', files)})"
    own = tuple(name for name in names if name not in READERS)
    return SourcePart(columns, files, table=table, alike=True, nested=own)


def _json_relation(part: SourcePart, wanted: list[str]) -> str:
    columns = ", ".join(f"{literal(name)}: 'JSON'" for name in wanted)
    # Without `records`, DuckDB guesses for a single column whether a row is an object with it, or is its value.
    source = _json_source("read_json", part.files, f", columns={{{columns}}}, records='true'")
    # Text at once: DuckDB would parse JSON for every comparison, and a cast in each of them takes time to plan.
    texts = ", ".join(f"CAST({identifier(name)} AS VARCHAR) AS {identifier(name)}" for name in wanted)
    return f"(SELECT {texts} FROM {source})" if wanted else source


def _csv_parts(_connection: DuckDBPyConnection, files: tuple[ResultsFile, ...]) -> list[SourcePart]:
    by_header: dict[tuple[str, ...], list[ResultsFile]] = {}
    for file in files:
        by_header.setdefault(_csv_header(file), []).append(file)
    return [
        SourcePart({name: Raw(csv_cell(name, identifier(name)), "JSON") for name in header}, tuple(same))
        for header, same in by_header.items()
        if header
    ]


def _csv_header(file: ResultsFile) -> tuple[str, ...]:
    """The names in the first line; read by Python, since DuckDB renames the second of two equal names."""
    with Path(file.path).open("rb") as stream:
        start = stream.readline(LONGEST_RESULT).decode("utf-8-sig", errors="replace")
    try:
        header = tuple(next(csv.reader(io.StringIO(start, newline="")), []))
    except csv.Error as error:
        hint = "wanted lines that end in a line feed"
        raise InputError(Problem("file.not-csv", f"this is not CSV: {error}", file.name, 1, hint=hint)) from error
    problem = _header_problem(start, header)
    if problem:
        message, hint = problem
        raise InputError(Problem("file.not-csv", message, file=file.name, line=1, hint=hint))
    refuse_duplicate_columns(header, file.name, line=1)
    return header


def _header_problem(line: str, header: tuple[str, ...]) -> tuple[str, str] | None:
    """What is wrong with the first line of a CSV file, and what to do."""
    if line and not line.strip():
        # DuckDB would take the blank line for the header, and the names for a result.
        return "the first line is blank", "wanted the names of the columns there: remove the blank lines above them"
    if "\r" in line.rstrip("\r\n"):
        return "lines end in a carriage return alone", "wanted lines that end in a line feed"
    if "" in header:
        return "a column without a name in the header", "is there a comma too many?"
    return None


def _csv_relation(part: SourcePart, _wanted: list[str]) -> str:
    # All columns, wanted or not: a CSV file is read by position, and a short or long line must be refused.
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in part.columns)
    return (
        f"read_csv({literals([file.path for file in part.files])}, columns={{{columns}}}, header=true,"
        " auto_detect=false, delim=',', quote='\"', escape='\"', nullstr='', strict_mode=true, null_padding=false,"
        f" ignore_errors=false, hive_partitioning=false, max_line_size={LONGEST_RESULT},"
        " compression='none')"
    )


# Not `unjudged`: a reason that is a number is refused, as in every other format.
_TEXTS = {*of_form("id", "text", "shown", "outcome")} - {"unjudged"}
_SHORT_TEXTS = _TEXTS - {*column_names("shows")}
_TEXT_LISTS = {*of_form("names", "observed", "violated", "count")}
_LISTS = {*_TEXT_LISTS, *of_form("tags", "origin")}
_BOOLEANS = of_form("truth", "label")


def csv_cell(name: str, cell: str) -> str:
    """SQL for a CSV field, the SQL `cell`, as a JSON text in the form that its column has."""
    as_text = f"CAST(to_json({cell}) AS VARCHAR)"
    truth = f"lower({cell}) IN ('true', 'false')"
    if name in _TEXTS or name.startswith("tags."):
        return as_text
    if name in _BOOLEANS:
        return f"CASE WHEN {truth} THEN lower({cell}) ELSE {as_text} END"
    if name in _LISTS:
        # Not `trim`: DuckDB's takes away spaces of every kind, Spark's only those of ASCII.
        trimmed = r"regexp_replace(x, '^\p{Zs}+|\p{Zs}+$', '', 'g')"
        items = f"list_filter(list_transform(string_split({cell}, ';'), lambda x: {trimmed}), lambda x: x <> '')"
        written = f"CASE WHEN json_valid({cell}) THEN CAST(CAST({cell} AS JSON) AS VARCHAR) ELSE {as_text} END"
        count = f"WHEN regexp_full_match({cell}, {NUMBER}) THEN {cell} " if name == "violations" else ""
        return (
            f"CASE {count}WHEN left(ltrim({cell}), 1) IN ('[', '{{') THEN json({written})"
            # A field that names nothing is absent: only `[]` and `0` say that it was checked and nothing happened.
            f" WHEN len({items}) > 0 THEN CAST(to_json({items}) AS VARCHAR) END"
        )
    return f"CASE WHEN regexp_full_match({cell}, {NUMBER}) THEN {cell} ELSE {as_text} END"


def _parquet_parts(connection: DuckDBPyConnection, files: tuple[ResultsFile, ...]) -> list[SourcePart]:
    by_form: dict[tuple[tuple[tuple[str, str], ...], tuple[str, ...]], list[ResultsFile]] = {}
    # DESCRIBE of each of ten thousand files takes seconds: files with the same schema in the footer are described once.
    footers = _parquet_footers(connection, files) if len(files) > FEW_FILES else {}
    schemas: dict[str, tuple[tuple[str, str], ...]] = {}
    for file in files:
        footer = footers.get(file.path, file.path)
        if footer not in schemas:
            described = connection.execute(f"DESCRIBE SELECT * FROM {_parquet_source([file])}").fetchall()
            duplicates.refuse_in_parquet(connection, file.path, file.name, str(described))
            schemas[footer] = tuple((row[0], str(row[1])) for row in described if row[0] != FILE)
        schema = schemas[footer]
        folders = tuple(name for name, _ in file.partitions)
        _refuse_folders(file, {name for name, _ in schema}, folders)
        by_form.setdefault((schema, folders), []).append(file)
    return [_parquet_part(schema, folders, tuple(same)) for (schema, folders), same in by_form.items()]


def _parquet_part(
    schema: tuple[tuple[str, str], ...], folders: tuple[str, ...], files: tuple[ResultsFile, ...]
) -> SourcePart:
    columns = {name: _declared_column(name, type_) for name, type_ in schema}
    of_folders = {name: Raw(csv_cell(name, _of_folder(name, files)), "JSON") for name in folders}
    return SourcePart(columns | of_folders, files, id_kinds=kinds_of_ids(columns), nested=_nested_columns(columns))


def _parquet_footers(connection: DuckDBPyConnection, files: Sequence[ResultsFile]) -> dict[str, str]:
    """The schema in the footer of each file, as text; empty if any of the files is damaged."""
    import duckdb  # loaded already

    schema = "file_name, list(CAST(COLUMNS(* EXCLUDE file_name) AS VARCHAR) ORDER BY column_id)"
    query = f"SELECT {schema} FROM parquet_schema({literals([file.path for file in files])}) GROUP BY file_name"
    try:
        return {path: repr(lists) for path, *lists in connection.execute(query).fetchall()}
    except duckdb.Error:
        return {}  # then each file is read alone, which names the damaged one


def _refuse_folders(file: ResultsFile, columns: set[str], folders: tuple[str, ...]) -> None:
    for name in folders:
        if name.casefold() in {column.casefold() for column in columns} or folders.count(name) > 1:
            raise InputError(duplicates.folder_problem(name, file.name))


def _of_folder(name: str, files: Sequence[ResultsFile]) -> str:
    """SQL for the value that the name of a file's folder gives to a column; the path identifies the file."""
    by_value: dict[str, list[str]] = {}
    for file in files:
        value = dict(file.partitions)[name]
        if value is not None:
            by_value.setdefault(value, []).append(file.path)
    cases = " ".join(
        f"WHEN {FILE} IN ({', '.join(literal(path) for path in paths)}) THEN {literal(value)}"
        for value, paths in by_value.items()
    )
    return f"(CASE {cases} END)" if cases else "CAST(NULL AS VARCHAR)"


def _parquet_source(files: Sequence[ResultsFile]) -> str:
    named = f", filename={literal(FILE)}" if any(file.partitions for file in files) else ""
    return f"read_parquet({literals([file.path for file in files])}, hive_partitioning=false{named})"


def _parquet_relation(part: SourcePart, _wanted: list[str]) -> str:
    return _parquet_source(part.files)


_PARTS_OF_FORMAT = {"jsonl": _json_parts, "json": _json_parts, "csv": _csv_parts, "parquet": _parquet_parts}
_RELATIONS = {"jsonl": _json_relation, "json": _json_relation, "csv": _csv_relation, "parquet": _parquet_relation}
